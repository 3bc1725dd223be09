extension SecretParameter {
    /// Whether a value has the form of a token, optionally after a scheme such as `Bearer`.
    static func isToken(_ value: [UInt8]) -> Bool {
        let last = value.lastIndex(of: .space).map { Array(value[($0 + 1)...]) } ?? value
        return isWebToken(last) || isBotToken(last)
            || last.count >= shortestWeakSecret && knownTokens.contains { last.starts(with: $0.utf8) }
    }

    /// Whether a path segment is the token of a Telegram bot: `bot`, a number, a colon and the secret.
    static func isBotToken(_ value: [UInt8]) -> Bool {
        guard value.starts(with: "bot".utf8) else { return false }
        let number = value.dropFirst(3).prefix(while: \.isDigit)
        return number.count >= 6 && value.dropFirst(3 + number.count).first == .colon
    }

    /// Whether a value is a JSON Web Token: base64url parts, the first of which decodes to text that begins with `{"`
    /// (RFC 7515, 3).
    static func isWebToken(_ value: [UInt8]) -> Bool {
        // Those two characters take 16 bits: "ey" is 12 of them, and the other 4 begin one of the letters I to L.
        guard ["eyI", "eyJ", "eyK", "eyL"].contains(where: { value.starts(with: $0.utf8) }) else {
            return false
        }
        let parts = value.parts(at: .dot)
        // Signed tokens have three parts, the last of which is empty without a signature; encrypted tokens have five.
        guard parts.count == 3 || parts.count == 5, parts.allSatisfy({ $0.count % 4 != 1 }) else {
            return false
        }
        return value.allSatisfy { isASCIIWordByte($0) || "-_.".utf8.contains($0) }
    }

    /// Prefixes of the tokens of some services, which are passed in parameters with names such as `key`.
    static let knownTokens = Array(WordTable.words("known-tokens"))

    static func isRandom(_ value: [UInt8]) -> Bool {
        value.count >= 20
            && value.split { !(isASCIIWordByte($0) || "-_+=".utf8.contains($0)) }.contains(where: isRandomPiece)
    }

    /// Whether letters and digits alternate as they don't in names: few words, numbers and separators.
    static func isRandomPiece(_ piece: ArraySlice<UInt8>) -> Bool {
        guard piece.count >= 20, piece.contains(where: \.isDigit), piece.contains(where: { isLower($0) || isUpper($0) })
        else { return false }
        let separators = piece.count { !isWordByte($0) }
        // UUIDs and hashes.
        if piece.count - separators >= (separators == 0 ? 20 : 32),
            piece.allSatisfy({ Hexadecimal.digit($0) != nil || $0 == UInt8(ascii: "-") })
        {
            return true
        }
        var run = 0
        var kind = -1
        var inRuns = 0
        for byte in piece {
            let next = isLower(byte) ? 0 : isUpper(byte) ? 1 : byte.isDigit ? 2 : 3
            run = next == kind ? run + 1 : 1
            kind = next
            // A word has at least four letters, a number at least six digits.
            let shortest = kind == 2 ? 6 : 4
            if run == shortest { inRuns += shortest } else if run > shortest { inRuns += 1 }
        }
        return separators * 8 <= piece.count && inRuns * 4 < piece.count
    }

    static func isLower(_ byte: UInt8) -> Bool { ("a"..."z").contains(Unicode.Scalar(byte)) }
    static func isUpper(_ byte: UInt8) -> Bool { ("A"..."Z").contains(Unicode.Scalar(byte)) }
    static func isWordByte(_ byte: UInt8) -> Bool { isASCIIWordByte(byte) || byte >= 0x80 }
    static func isASCIIWordByte(_ byte: UInt8) -> Bool { isLower(byte) || isUpper(byte) || byte.isDigit }
}
