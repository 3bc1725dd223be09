package import HTTPTypes

/// The metadata of the representation that partial data belongs to, as sent in the first response.
package struct Representation: Sendable, Hashable {
    /// The entity tag, weak or strong; nil if the response had no usable one.
    package var entityTag: EntityTag?
    /// `Last-Modified`, byte for byte as received.
    package var lastModified: String?
    /// `Date` of the response that had `lastModified`; it determines whether that is a strong validator.
    package var date: String?
    /// The length of the whole representation in bytes; nil until it is known.
    package var completeLength: Int64?
    /// `Content-Type` as received.
    package var contentType: String?
    /// `Repr-Digest` (RFC 9530) as received.
    package var reprDigest: String?
    /// The content codings in lower case, in the order in which they were applied; nil for identity.
    package var contentCoding: String?
    /// Whether the server may be asked for ranges: false after `Accept-Ranges: none`.
    package var acceptsRanges: Bool
    /// The filename that the server suggests (`Content-Disposition`, RFC 6266): a single path component that is not
    /// hidden; nil if the server suggests none, or an unsuitable one.
    package var suggestedFilename: String?
    /// The request fields that the response depends on (`Vary`, RFC 9110, 12.5.5), separated by commas.
    ///
    /// Their names are in lower case and sorted. `*` if the response depends on more than the request, nil if there are
    /// no names.
    package var vary: String?

    /// Creates a representation from stored columns.
    package init(
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
        self.suggestedFilename = suggestedFilename.flatMap(SuggestedFilename.usable)
    }

    /// Reads a representation from the fields of a complete (200) response.
    package init(fields: HTTPFields) {
        entityTag = fields.single(.eTag).flatMap { EntityTag($0) }
        // If the entity tag is not usable, the date must not be used either (RFC 9110, 13.1.5).
        let modified = entityTag == nil && fields.contains(.eTag) ? nil : fields.text(.lastModified)
        lastModified = modified?.isEmpty == true ? nil : modified
        date = fields.text(.date)
        completeLength = Self.length(fields)
        contentType = fields.text(.contentType)
        reprDigest = Self.digests(fields)
        contentCoding = Self.contentCoding(fields)
        acceptsRanges = fields.text(.acceptRanges)?.lowercased() != "none"
        suggestedFilename = SuggestedFilename.name(in: fields)
        vary = Self.vary(fields)
    }

    /// Reads a representation from the first response of a download; it has a validator only if it may be resumed.
    init(startedBy response: HTTPResponse) {
        self.init(fields: response.headerFields)
        // A transforming proxy (203) does not guarantee the bytes of the origin (RFC 9110, 15.3.4). A response that
        // depends on more than the request is identified by an entity tag, but not by a date.
        if response.status.code == 203 { entityTag = nil }
        if response.status.code == 203 || vary == "*" { lastModified = nil }
    }

    /// Reads `Repr-Digest`, whose members may be on several lines.
    private static func digests(_ fields: HTTPFields) -> String? {
        guard let name = HTTPField.Name.reprDigest, fields.contains(name) else { return nil }
        let text = fields.text(name) ?? fields[values: name].joined(separator: ", ")
        return text.utf8.count <= HTTPDigest.longestField && !hasConflictingDigests(fields) ? text : nil
    }

    /// Whether lines of `Repr-Digest` have different digests of the same algorithm.
    static func hasConflictingDigests(_ fields: HTTPFields) -> Bool {
        guard let name = HTTPField.Name.reprDigest, fields.contains(name) else { return false }
        let lines = fields[values: name]
        return lines.dropFirst().contains { HTTPDigest.contradict(lines[0], $0) }
            || lines.dropFirst(2).contains { HTTPDigest.contradict(lines[1], $0) }
    }

    /// Reads the length of the body of a complete (200) response; nil if it is not announced.
    package static func length(_ fields: HTTPFields) -> Int64? {
        // With Transfer-Encoding, Content-Length is not the length (RFC 9112, 6.3).
        if fields.contains(.transferEncoding) { return nil }
        return fields.text(.contentLength).flatMap { Decimal64.parse($0) }
    }

    private static func vary(_ fields: HTTPFields) -> String? {
        guard fields.contains(.vary) else { return nil }
        guard let names = fields.list(.vary, longest: 4 * longestVary), !names.contains("*") else {
            return "*"
        }
        let text = Set(names).filter { HTTPField.Name($0) != nil }.sorted().joined(separator: ", ")
        return text.utf8.count > longestVary ? "*" : text.isEmpty ? nil : text
    }

    /// The maximum length of ``vary``, in bytes.
    private static let longestVary = 4096

    /// The content codings that change the bytes, with the endings of the names of files that are stored that way.
    ///
    /// Servers send other words too, such as a character set or `aws-chunked`, which mean nothing for the bytes.
    static let knownCodings = WordTable(PackageResources.codings_txt)

    /// Reads ``contentCoding`` from fields.
    package static func contentCoding(_ fields: HTTPFields) -> String? {
        guard fields.contains(.contentEncoding) else { return nil }
        // No real chain of codings is this long; "unknown" stands for one that is refused.
        guard let list = fields.list(.contentEncoding, longest: 4096) else { return "unknown" }
        let codings = list.filter { knownCodings[$0] != nil }
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }

    /// The strong validator that proves that bytes fetched later belong to the same representation.
    ///
    /// A strong entity tag, or `Last-Modified` if there is no entity tag at all and the date is at least a second
    /// before the stored `Date` (RFC 9110, 8.8.2.2); otherwise nil.
    package var validator: Validator? {
        if let entityTag { return entityTag.isStrong ? .entityTag(entityTag) : nil }
        guard let lastModified, let modified = HTTPDate(lastModified), let sent = date.flatMap({ HTTPDate($0) }),
            modified < sent
        else { return nil }
        return .lastModified(lastModified)
    }

    /// The date for a later conditional request; nil if the file may have changed in the same second.
    package var comparableDate: String? { validator == nil && date != nil ? nil : lastModified }

    /// Whether the entity tag contains a digest, as at servers that identify files by it.
    package func isTagged(with digest: HTTPDigest?) -> Bool {
        guard let digest, let entityTag else { return false }
        return entityTag.rawValue.lowercased().contains(digest.hexadecimal)
    }

    /// The media type without parameters, in lower case.
    var mediaType: String? {
        let type = contentType?.utf8.split(separator: .semicolon, maxSplits: 1).first
        return type.map { Substring($0).withoutSpaces.lowercased() }
    }
}

/// A strong validator: responses with the same one have the same bytes (RFC 9110, 8.8.1).
package enum Validator: Sendable, Hashable {
    /// A strong entity tag.
    case entityTag(EntityTag)
    /// A date that was at least a second old when it was received, byte for byte as received.
    case lastModified(String)

    var isDate: Bool { if case .lastModified = self { true } else { false } }

    /// The bytes of an `If-Range` field.
    package var fieldValue: [UInt8] {
        switch self {
        case .entityTag(let tag): tag.bytes
        case .lastModified(let date): Array(date.utf8)
        }
    }
}

extension HTTPField.Name {
    /// `Repr-Digest` (RFC 9530, 3); optional only because names created from text are.
    static let reprDigest = HTTPField.Name("Repr-Digest")
}

extension EntityTag: CustomStringConvertible {
    /// The tag as received; bytes outside ASCII are escaped if they are control characters.
    package var description: String { Printable.escaped(rawValue) }
}

extension Validator: CustomStringConvertible {
    /// The entity tag or the date.
    package var description: String {
        switch self {
        case .entityTag(let tag): tag.description
        case .lastModified(let date): Printable.escaped(date)
        }
    }
}
