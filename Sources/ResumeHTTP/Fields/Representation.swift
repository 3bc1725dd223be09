public import HTTPTypes

/// What is known of the representation that a partial's bytes belong to, as its first response told it.
public struct Representation: Sendable, Hashable {
    /// The entity tag, weak or strong; nil where the response had none that can be used.
    public var entityTag: EntityTag?
    /// `Last-Modified`, byte for byte as received.
    public var lastModified: String?
    /// `Date` of the response that `lastModified` came with: it decides whether that one is strong.
    public var date: String?
    /// The length of the whole representation in bytes; nil until it is known.
    public var completeLength: Int64?
    /// `Content-Type` as received.
    public var contentType: String?
    /// `Repr-Digest` (RFC 9530) as received.
    public var reprDigest: String?
    /// The content codings in lower case, in their order; nil for identity.
    public var contentCoding: String?
    /// Whether the origin may be asked for ranges: false after `Accept-Ranges: none`.
    public var acceptsRanges: Bool
    /// What the server calls the file (`Content-Disposition`, RFC 6266): a name in one folder and nothing more, not hidden;
    /// nil where it does not say, or says nothing that is one.
    public var suggestedFilename: String?
    /// The request fields that the answer depends on (`Vary`, RFC 9110, 12.5.5): their names in lower case and in order,
    /// separated by commas; `*` where more than the request decides, nil where none is named.
    public var vary: String?

    /// Makes a representation from stored columns.
    public init(
        entityTag: EntityTag? = nil, lastModified: String? = nil, date: String? = nil, completeLength: Int64? = nil,
        contentType: String? = nil, reprDigest: String? = nil, contentCoding: String? = nil, acceptsRanges: Bool = true,
        suggestedFilename: String? = nil, vary: String? = nil
    ) {
        self.vary = vary
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.date = date
        self.completeLength = completeLength
        self.contentType = contentType
        self.reprDigest = reprDigest
        self.contentCoding = contentCoding
        self.acceptsRanges = acceptsRanges
        self.suggestedFilename = suggestedFilename.flatMap { SuggestedFilename($0)?.name }
    }

    /// Reads a representation off the fields of a whole (200) response.
    public init(fields: HTTPFields) {
        let text: (HTTPField.Name?) -> String? = { SingletonField($0, in: fields).text }
        if case .value(let bytes) = SingletonField(.eTag, in: fields) { entityTag = EntityTag(bytes) }
        // Beside an entity tag that cannot be kept a date must not be used either (RFC 9110, 13.1.5).
        lastModified = entityTag == nil && fields.contains(.eTag) ? nil : text(.lastModified)
        date = text(.date)
        // Content-Length beside Transfer-Encoding is no length (RFC 9112, 6.3).
        completeLength = fields[.transferEncoding] == nil ? text(.contentLength).flatMap { Decimal64.parse($0) } : nil
        contentType = text(.contentType)
        reprDigest = text(.reprDigest).flatMap { $0.utf8.count <= HTTPDigest.longestField ? $0 : nil }
        contentCoding = Self.contentCoding(fields)
        acceptsRanges = text(.acceptRanges)?.lowercased() != "none"
        suggestedFilename = SuggestedFilename(in: fields)?.name
        vary = Self.vary(fields)
    }

    /// Reads a representation off the response that a download begins with, as far as it may be continued.
    init(startedBy response: HTTPResponse) {
        self.init(fields: response.headerFields)
        // A transforming proxy (203) does not vouch for its bytes (RFC 9110, 15.3.4), and what varies by more
        // than the request cannot be continued: no validator, so that it is never resumed.
        if response.status.code == 203 || vary == "*" {
            entityTag = nil
            lastModified = nil
        }
    }

    private static func vary(_ fields: HTTPFields) -> String? {
        // So many that nobody means them: that is as good as all.
        guard fields[values: .vary].reduce(0, { $0 + $1.utf8.count }) <= 4 * longestVary else { return "*" }
        let names = Set(
            fields[values: .vary].flatMap { $0.split(separator: ",") }
                .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() })
        if names.contains("*") { return "*" }
        let list = names.filter { HTTPField.Name($0) != nil }.sorted().joined(separator: ", ")
        guard list.utf8.count <= longestVary else { return "*" }
        return list.isEmpty ? nil : list
    }

    /// In bytes.
    private static let longestVary = 4096

    /// ``contentCoding`` as the fields tell it.
    static func contentCoding(_ fields: HTTPFields) -> String? {
        // No chain of codings is that long; one that is refused stands for it.
        guard fields[values: .contentEncoding].reduce(0, { $0 + $1.utf8.count }) <= 4096 else { return "unknown" }
        let codings = fields[values: .contentEncoding].flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }

    /// What can prove that bytes fetched later belong to the same representation.
    ///
    /// A strong entity tag; else `Last-Modified` where there is no entity tag at all, and only if it lies at
    /// least a second before the stored `Date` (RFC 9110, 8.8.2.2); else nil.
    public var validator: Validator? {
        if let entityTag { return entityTag.isWeak ? nil : .entityTag(entityTag) }
        guard let lastModified, let modified = HTTPDate(lastModified), let sent = date.flatMap({ HTTPDate($0) }),
            modified.secondsSinceEpoch < sent.secondsSinceEpoch
        else { return nil }
        return .lastModified(lastModified)
    }

    /// Why there is no ``validator``, for a person; nil where there is one.
    public var weakness: Reason? {
        guard validator == nil else { return nil }
        if entityTag != nil { return .weakEntityTag }
        guard let lastModified else { return .noValidator }
        let areDates = HTTPDate(lastModified) != nil && date.flatMap { HTTPDate($0) } != nil
        return areDates ? .dateTooFresh : .dateUnusable
    }

    /// Why an answer belongs to another representation although it carries the same validator; nil where nothing says so.
    ///
    /// Some servers keep an entity tag when the file changes. What only one of the two has is no contradiction: a 206
    /// may leave fields out (RFC 9110, 15.3.7). But for the coding: some servers send ranges of the uncoded file under the
    /// tag of the coded one.
    func contradiction(in answer: Representation) -> Reason? {
        guard answer.contentCoding == contentCoding else {
            return .codingChanged(from: contentCoding, to: answer.contentCoding)
        }
        if HTTPDigest.contradict(reprDigest, answer.reprDigest) { return .digestChanged }
        if let mediaType, let new = answer.mediaType, new != mediaType { return .contentTypeChanged }
        if let lastModified, let new = answer.lastModified, !HTTPDate.isSame(lastModified, new) {
            return .dateContradictsTag
        }
        return nil
    }

    /// The media type without its parameters, in lower case.
    var mediaType: String? {
        contentType?.split(separator: ";").first.map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
    }
}

/// A strong validator: two responses that share it have the same bytes (RFC 9110, 8.8.1).
public enum Validator: Sendable, Hashable {
    /// A strong entity tag.
    case entityTag(EntityTag)
    /// A date that was at least a second old when it was received, byte for byte as received.
    case lastModified(String)

    /// The bytes of an `If-Range` field.
    public var fieldValue: [UInt8] {
        switch self {
        case .entityTag(let tag): tag.bytes
        case .lastModified(let date): Array(date.utf8)
        }
    }
}

extension HTTPField.Name {
    /// `Repr-Digest` (RFC 9530, 3); optional only because a name made from text is.
    static let reprDigest = HTTPField.Name("Repr-Digest")
}
