#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
public import ResumeHTTP

/// Identifies an interrupted download, to be resumed later: small, `Codable` and opaque.
///
/// It does not contain the received bytes, which stay in the store. It is valid after a restart of the program or of
/// the machine, and after the store's folder was moved, since it contains no path. It contains no secrets, since user
/// info and signatures are removed. Its validator and lengths are for display; a download resumes with what the store
/// contains then.
///
/// It also determines where requests are sent, so accept it only from sources whose URLs you would fetch.
public struct ResumeData: Sendable, Hashable {
    /// The requested URL, without user info and signature.
    public let url: DownloadURL
    /// The key of the download in the store; nil for ``url``.
    package let key: String?
    /// The requested ranges of the representation; nil for all of it.
    package let selection: RangeSelection?
    /// The validator of the stored bytes when this was created; nil if there was none.
    let validator: Validator?
    /// The number of stored bytes when this was created.
    public let receivedBytes: Int64
    /// The number of requested bytes; nil if it was unknown.
    public let totalBytes: Int64?

    /// The entity tag as received; nil if there was none.
    var entityTag: String? {
        if case .entityTag(let tag) = validator { tag.rawValue } else { nil }
    }

    /// Creates a value; nil if the parameters are not valid.
    init?(
        url: String, key: String?, selection: RangeSelection?, validator: Validator?, receivedBytes: Int64,
        totalBytes: Int64?
    ) {
        // Removes secrets again, since resume data from other sources may contain some.
        guard let url = (try? DownloadURL(url)).flatMap({ try? DownloadURL($0.redacted) }),
            (0...Self.largest).contains(receivedBytes),
            (receivedBytes...Self.largest).contains(totalBytes ?? receivedBytes),
            key?.isEmpty != true
        else { return nil }
        self.url = url
        let key = key.map(DownloadURL.redactedKey)
        self.key = key == url.redacted ? nil : key
        self.selection = selection
        self.validator = validator
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
    }

    /// The largest accepted length, so that sums cannot overflow.
    private static let largest: Int64 = 1 << 60
    /// The maximum number of bytes that are parsed: the longest entity tag, URL and ranges need less.
    private static let largestSize = 1 << 20
}

extension ResumeData {
    /// Creates a value from its ``bytes``.
    ///
    /// - Parameter bytes: The unchanged ``bytes`` of a value.
    /// - Throws: `InvalidInput` if they are not resume data, or were written by a newer release.
    public init(_ bytes: [UInt8]) throws(InvalidInput) {
        guard bytes.count <= Self.largestSize else { throw .notResumeData }
        do {
            self = try JSONDecoder().decode(ResumeData.self, from: Data(bytes))
        } catch {
            throw error as? InvalidInput ?? .notResumeData
        }
    }

    /// The encoded value, some hundred bytes, to be stored anywhere.
    public var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings and integers never fails.
        return (try? encoder.encode(self)).map { [UInt8]($0) } ?? []
    }
}

extension ResumeData: Codable {
    /// The encoded form; members added later must be optional.
    private struct Form: Codable {
        static let version = 1

        var version = Form.version
        var url: String
        var key: String?
        var ranges: String?
        var entityTag: String?
        var lastModified: String?
        var received: Int64
        var total: Int64?
    }

    private struct Version: Decodable {
        var version: Int
    }

    /// Decodes a value.
    ///
    /// - Throws: `InvalidInput`, or the decoder's error.
    public init(from decoder: any Decoder) throws {
        // The version is decoded first, since a newer form may have other members.
        let version = try Version(from: decoder).version
        guard version <= Form.version else { throw InvalidInput.newerResumeData(version) }
        let form = try Form(from: decoder)
        let selection = form.ranges.flatMap { RangeSelection($0) }
        let tag = form.entityTag.flatMap { EntityTag(rawValue: $0) }.flatMap { $0.isStrong ? $0 : nil }
        guard version == Form.version, (selection == nil) == (form.ranges == nil),
            (tag == nil) == (form.entityTag == nil),
            let value = ResumeData(
                url: form.url, key: form.key, selection: selection,
                validator: tag.map { .entityTag($0) } ?? form.lastModified.map { .lastModified($0) },
                receivedBytes: form.received, totalBytes: form.total)
        else { throw InvalidInput.notResumeData }
        self = value
    }

    /// Encodes the value.
    ///
    /// - Throws: The encoder's error.
    public func encode(to encoder: any Encoder) throws {
        var form = Form(
            url: url.redacted, key: key, ranges: selection?.description, entityTag: entityTag, received: receivedBytes,
            total: totalBytes)
        if case .lastModified(let date) = validator { form.lastModified = date }
        try form.encode(to: encoder)
    }
}

extension ResumeData: CustomStringConvertible {
    /// A description of the URL and the lengths.
    public var description: String {
        "\(receivedBytes) of \(totalBytes.map { "\($0)" } ?? "unknown") bytes of \(url)"
    }
}

extension InvalidInput {
    /// Bytes that were not created by this library, or are incomplete.
    static let notResumeData = InvalidInput(sentence("bad-data"))

    /// Bytes that were created by a newer release.
    static func newerResumeData(_ version: Int) -> InvalidInput {
        InvalidInput(sentence("newer-data", version))
    }
}
