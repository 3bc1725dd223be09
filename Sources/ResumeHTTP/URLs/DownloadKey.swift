/// The key of a download in a store or a queue.
///
/// Requests with the same key resume and share one download. By default, it is the URL without user info, fragment and
/// secret parameters.
public struct DownloadKey: RawRepresentable, Sendable, Hashable {
    /// The key as text, which a store reports for its entries and a queue for its downloads.
    public let rawValue: String

    /// Creates the key of a download that the caller has named, or that a store or a queue has reported.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates the key of a URL, a request, an entry, or what else names a download.
    public init(_ download: some DownloadKeyConvertible) { self = download.downloadKey }
}

/// Names a download: a ``DownloadKey``, its text, or the URL that it is requested from.
///
/// A `String` is a key as a store or a queue reports it. That of a URL is the URL without user info, fragment and secret
/// parameters: pass a URL as ``DownloadURL`` or `URL`, which remove them.
public protocol DownloadKeyConvertible {
    var downloadKey: DownloadKey { get }
}

extension DownloadKey: DownloadKeyConvertible {
    /// The key itself.
    public var downloadKey: DownloadKey { self }
}

extension String: DownloadKeyConvertible {
    /// The key with this text, which is not taken for a URL.
    public var downloadKey: DownloadKey { DownloadKey(rawValue: self) }
}

extension DownloadURL: DownloadKeyConvertible {
    /// The key of a download of the whole file.
    public var downloadKey: DownloadKey { DownloadKey(rawValue: redacted) }
}
