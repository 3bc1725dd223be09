enum PercentEncoding {
    /// Replaces `%XX` by the bytes they stand for; nil where the result is not UTF-8 or a `%` stands alone.
    static func decoded(_ text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
        var bytes: [UInt8] = []
        var rest = ArraySlice(text.utf8)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count == 2 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: digits[0] * 16 + digits[1]))
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension PercentEncoding {
    /// Encodes the blanks of a field's value, and all bytes outside ASCII if they are not UTF-8.
    static func encodingRaw(_ bytes: [UInt8]) -> String {
        let text = String(validating: bytes, as: UTF8.self)
        guard text == nil || bytes.contains(0x20) else { return text ?? "" }
        return bytes.reduce(into: "") { result, byte in
            let isSent = byte != 0x20 && byte < 0x80
            result += isSent ? String(Unicode.Scalar(byte)) : "%\(String(byte, radix: 16, uppercase: true))"
        }
    }

    /// Encodes what a URL must not contain after its authority, and keeps what is encoded already.
    ///
    /// Foundation encodes such a URL as a whole, so that `%20` becomes `%2520` if another character is not allowed.
    ///
    /// - Parameter text: An absolute URL, or a reference to another one.
    /// - Returns: The text, encoded where necessary.
    static func encodingInvalid(_ text: String) -> String {
        let start = authorityEnd(of: text.utf8)
        guard !isValid(text.utf8[start...]) else { return text }
        var encoded = Array(text.utf8[..<start])
        var rest = text.utf8[start...]
        while let byte = rest.popFirst() {
            // Control characters are refused later.
            if isValid(byte, before: rest) || byte < 0x21 || byte == 0x7F {
                encoded.append(byte)
            } else {
                encoded += Array("%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func authorityEnd(of text: String.UTF8View) -> String.Index {
        let isBorder: (UInt8) -> Bool = {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
        }
        guard let first = text.firstIndex(where: isBorder), text[first...].starts(with: "//".utf8) else {
            return text.startIndex
        }
        return text[first...].dropFirst(2).firstIndex(where: isBorder) ?? text.endIndex
    }

    private static func isValid(_ text: Substring.UTF8View) -> Bool {
        var rest = text
        while let byte = rest.popFirst() { guard isValid(byte, before: rest) else { return false } }
        return true
    }

    private static func isValid(_ byte: UInt8, before rest: Substring.UTF8View) -> Bool {
        isAllowed(byte) || (byte == UInt8(ascii: "%") && rest.prefix(2).count(where: isHexDigit) == 2)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool { Character(Unicode.Scalar(byte)).isHexDigit && byte < 0x80 }

    /// Whether a byte may stand in a path, a query or a fragment (RFC 3986, appendix A).
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "?")...UInt8(ascii: "Z"),
            UInt8(ascii: "&")...UInt8(ascii: ";"), UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"),
            UInt8(ascii: "="), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
