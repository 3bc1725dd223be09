#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension DownloadURL {
    /// Checks a URL of Foundation and drops its fragment.
    ///
    /// - Throws: ``InvalidInput`` if it is not an absolute `http` or `https` URL with a valid host and port.
    public init(_ url: URL) throws(InvalidInput) { try self.init(url.absoluteString) }
}

extension URL: DownloadKeyConvertible {
    /// The key of a download of the whole file; no download has that of a URL that cannot be requested.
    public var downloadKey: DownloadKey {
        (try? DownloadURL(self))?.downloadKey ?? DownloadKey(rawValue: DownloadURL.redactedKey(absoluteString))
    }
}
