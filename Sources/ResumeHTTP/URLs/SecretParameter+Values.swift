extension SecretParameter {
    /// Whether a value is a token by its form, also after the name of a scheme, such as `Bearer`.
    static func isToken(_ value: [UInt8]) -> Bool {
        let last = value.lastIndex(of: UInt8(ascii: " ")).map { Array(value[($0 + 1)...]) } ?? value
        return isWebToken(last) || isKnownToken(last) || isBotToken(last)
    }

    /// Whether it is the token of a Telegram bot in a path: `bot`, a number, a colon and the rest.
    static func isBotToken(_ value: [UInt8]) -> Bool {
        guard value.starts(with: "bot".utf8) else { return false }
        let number = value.dropFirst(3).prefix(while: isDigit)
        return number.count >= 6 && value.dropFirst(3 + number.count).first == UInt8(ascii: ":")
    }

    /// Whether a value is a JSON Web Token: base64url parts, the first of which decodes to something that begins with
    /// `{"` (RFC 7515, 3).
    static func isWebToken(_ value: [UInt8]) -> Bool {
        // Those two characters are 12 bits and 4 more: "ey", and one of I to L.
        guard value.starts(with: "ey".utf8), let third = value.dropFirst(2).first,
            (UInt8(ascii: "I")...UInt8(ascii: "L")).contains(third)
        else { return false }
        let parts = value.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        // Signed ones have three, the last empty where there is no signature; encrypted ones five.
        guard parts.count == 3 || parts.count == 5, parts.allSatisfy({ $0.count % 4 != 1 }) else { return false }
        return value.allSatisfy { isWordByte($0) && $0 < 0x80 || "-_.".utf8.contains($0) }
    }

    /// How the tokens of some services begin, which are given under names such as `key`.
    static let knownTokens = [
        "AIza", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "sk_live_", "rk_live_", "xoxa-",
        "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "ya29.",
    ]

    static func isKnownToken(_ value: [UInt8]) -> Bool {
        value.count >= shortestWeakSecret && knownTokens.contains { value.starts(with: $0.utf8) }
    }

    static func isRandom(_ value: [UInt8]) -> Bool {
        value.count >= 20
            && value.split { !(isWordByte($0) && $0 < 0x80 || "-_+=".utf8.contains($0)) }.contains(where: isRandomPiece)
    }

    /// Whether letters and digits alternate as they do in no name: few words, few numbers, few separators.
    static func isRandomPiece(_ piece: ArraySlice<UInt8>) -> Bool {
        guard piece.count >= 20, piece.contains(where: isDigit), piece.contains(where: { isLower($0) || isUpper($0) })
        else { return false }
        let separators = piece.count { !isWordByte($0) }
        // UUIDs and hashes.
        if piece.count - separators >= (separators == 0 ? 20 : 32),
            piece.allSatisfy({ isHexadecimal($0) || $0 == UInt8(ascii: "-") })
        {
            return true
        }
        var (run, kind, inRuns) = (0, -1, 0)
        for byte in piece {
            let next = isLower(byte) ? 0 : isUpper(byte) ? 1 : isDigit(byte) ? 2 : 3
            run = next == kind ? run + 1 : 1
            kind = next
            // A word of four letters, a number of six digits.
            let shortest = kind == 2 ? 6 : 4
            if run == shortest { inRuns += shortest } else if run > shortest { inRuns += 1 }
        }
        return separators * 8 <= piece.count && inRuns * 4 < piece.count
    }

    /// Replaces each percent encoding by its byte.
    ///
    /// A `%` that begins no encoding stays as it is.
    static func percentDecoded(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(UInt8(ascii: "%")) else { return text }
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            let digits = byte == UInt8(ascii: "%") ? rest.prefix(2).compactMap(hexadecimalValue) : []
            if digits.count == 2 { rest = rest.dropFirst(2) }
            bytes.append(digits.count == 2 ? digits[0] << 4 | digits[1] : byte)
        }
        return bytes
    }

    static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init(truncatingIfNeeded:))
    }

    static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    static func isUpper(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
    static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    static func isWordByte(_ byte: UInt8) -> Bool {
        isLower(byte) || isUpper(byte) || isDigit(byte) || byte >= 0x80
    }
    static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
