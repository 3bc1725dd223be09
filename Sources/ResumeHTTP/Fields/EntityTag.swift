/// An entity tag, with which an origin server identifies one version of a representation.
///
/// Source: [RFC 9110, 8.8.3](https://www.rfc-editor.org/rfc/rfc9110.html#section-8.8.3).
package struct EntityTag: Sendable, Hashable {
    /// The maximum length of a tag, in bytes; longer ones are not used as validators.
    package static let maximumLength = 8192

    /// Whether the tag is weak (begins with `W/`): bodies with the same weak tag may differ.
    package let isWeak: Bool
    /// Whether the tag is in quotation marks, as the grammar requires.
    ///
    /// A condition may contain any tag as it was sent, but others are not validators.
    let isQuoted: Bool

    /// Whether the tag is a strong validator.
    package var isStrong: Bool { isQuoted && !isWeak }

    /// The field value as received, including quotes and `W/`.
    package let bytes: [UInt8]

    /// Parses the bytes of a field value without surrounding white space.
    ///
    /// - Returns: nil if it does not match the grammar of entity tags, or is longer than ``maximumLength``.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count <= Self.maximumLength else { return nil }
        self.bytes = Array(bytes)
        isWeak = bytes.starts(with: "W/".utf8)
        let tag = self.bytes.dropFirst(isWeak ? 2 : 0)
        let quote = UInt8(ascii: "\"")
        isQuoted = tag.count >= 2 && tag.first == quote && tag.last == quote
        if !isQuoted, tag.isEmpty || tag == [0x2A] || tag.contains(UInt8(ascii: ",")) { return nil }
        // etagc: any visible byte except the quote, and obs-text.
        let isTag = opaque.allSatisfy { byte in
            byte == 0x21 || (0x23...0x7E).contains(byte) || byte >= 0x80
        }
        // Transports that use strings replace invalid bytes with U+FFFD, so that the tag cannot be sent back unchanged.
        guard isTag, bytes.allSatisfy({ $0 < 0x80 }) || !opaque.contains([0xEF, 0xBF, 0xBD]) else {
            return nil
        }
    }

    /// Parses a stored ``rawValue``.
    ///
    /// - Returns: nil if it is not an entity tag, for example because the row was damaged or manipulated.
    package init?(rawValue: String) {
        let bytes = rawValue.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
        guard bytes.count == rawValue.unicodeScalars.count else { return nil }
        self.init(bytes)
    }

    /// The text for the store, in which each scalar is one byte (ISO 8859-1).
    package var rawValue: String { String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })) }

    /// Whether it is the same tag in another form: weak, without quotation marks, or with a suffix such as `-gzip`.
    func resembles(_ other: EntityTag) -> Bool {
        let mine = opaque
        let others = other.opaque
        if mine.isEmpty || others.isEmpty { return mine == others }
        return mine.starts(with: others) || others.starts(with: mine)
    }

    private var opaque: ArraySlice<UInt8> {
        let tag = bytes.dropFirst(isWeak ? 2 : 0)
        return isQuoted ? tag.dropFirst().dropLast() : tag
    }
}
