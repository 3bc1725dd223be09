#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
public import ResumeHTTP

/// What names a download that was interrupted, to go on with it later: small, `Codable`, and opaque.
///
/// The bytes that came stay in the store; this says which ones they are. It is good after a restart of the program or
/// of the machine, and after the store's folder was moved, since it has no path; it has no secret either, since user info
/// and signatures are left out. What it says of validator and lengths is a claim, to be shown: what a download goes on
/// with is what the store holds by then.
///
/// It also says where requests go. Take it from nobody whose URLs you would not fetch.
public struct ResumeData: Sendable, Hashable {
    /// What was asked for, without user info and signature.
    public let url: DownloadURL
    /// What names the download in the store; nil for ``url``.
    public let key: String?
    /// What of the representation is wanted; nil for all of it.
    public let selection: RangeSelection?
    /// What proved, when this was made, that bytes belong together; nil where nothing did.
    public let validator: Validator?
    /// How many bytes were held when this was made.
    public let receivedBytes: Int64
    /// How many bytes are wanted; nil where that was not known.
    public let totalBytes: Int64?

    /// The entity tag as it came; nil where there was none.
    public var entityTag: String? {
        if case .entityTag(let tag) = validator { tag.rawValue } else { nil }
    }

    /// Why bytes are no resume data.
    public enum Problem: Error, Sendable, Hashable, CustomStringConvertible {
        /// They were not made by this library, or not all of them are there.
        case malformed
        /// They were made by a newer release.
        case newerVersion(Int)

        /// What is wrong, and what to do.
        public var description: String {
            switch self {
            case .malformed: "not resume data, or damaged; start the download again from its URL"
            case .newerVersion(let version):
                "resume data of the newer version \(version); start the download again from its URL"
            }
        }
    }

    /// Makes a value; nil where it says what cannot be.
    init?(
        url: String, key: String?, selection: RangeSelection?, validator: Validator?, receivedBytes: Int64,
        totalBytes: Int64?
    ) {
        // Once more without secrets: what comes from elsewhere may have some.
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

    /// No length is believed beyond this, so that sums of them cannot overflow.
    private static let largest: Int64 = 1 << 60
    /// More is not even read: the longest entity tag, URL and ranges take less.
    private static let largestSize = 1 << 20
}

extension ResumeData {
    /// Reads what ``bytes`` gave.
    ///
    /// - Parameter bytes: All of them.
    /// - Throws: ``Problem``
    public init(_ bytes: [UInt8]) throws(Problem) {
        guard bytes.count <= Self.largestSize else { throw .malformed }
        do {
            self = try JSONDecoder().decode(ResumeData.self, from: Data(bytes))
        } catch let problem as Problem {
            throw problem
        } catch {
            throw .malformed
        }
    }

    /// The value as bytes, some hundred of them, to be kept wherever it suits.
    public var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts and integers can always be encoded.
        return (try? encoder.encode(self)).map { [UInt8]($0) } ?? []
    }
}

extension ResumeData: Codable {
    /// The form in which it is kept; a member that is added must be optional.
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

    /// Reads a value.
    ///
    /// - Throws: ``Problem``, or what the decoder throws.
    public init(from decoder: any Decoder) throws {
        // Alone at first, since a newer form may have other members.
        let version = try Version(from: decoder).version
        guard version <= Form.version else { throw Problem.newerVersion(version) }
        let form = try Form(from: decoder)
        let selection = form.ranges.flatMap { RangeSelection($0) }
        let tag = form.entityTag.flatMap { EntityTag(rawValue: $0) }
        guard version == Form.version, (selection == nil) == (form.ranges == nil),
            (tag == nil) == (form.entityTag == nil),
            let value = ResumeData(
                url: form.url, key: form.key, selection: selection,
                validator: tag.map { .entityTag($0) } ?? form.lastModified.map { .lastModified($0) },
                receivedBytes: form.received, totalBytes: form.total)
        else { throw Problem.malformed }
        self = value
    }

    /// Writes the value.
    ///
    /// - Throws: What the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var form = Form(
            url: url.redacted, key: key, ranges: selection?.description, received: receivedBytes, total: totalBytes)
        switch validator {
        case .entityTag(let tag): form.entityTag = tag.rawValue
        case .lastModified(let date): form.lastModified = date
        case nil: break
        }
        try form.encode(to: encoder)
    }
}

extension ResumeData: CustomStringConvertible {
    /// What it claims, for people.
    public var description: String {
        "\(receivedBytes) of \(totalBytes.map { "\($0)" } ?? "unknown") bytes of \(url)"
    }
}
