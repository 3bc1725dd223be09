/// A parameter of a query, or of a path after `;`, and what its name and value give away.
struct SecretParameter {
    /// The parameter as it was given.
    let text: Substring
    /// The character before it; nil for the first one.
    let separator: UInt8?
    /// Its name in lower case, percent-decoded as often as a URL that is not well-formed was encoded.
    let name: String
    /// Its value, percent-decoded; the whole text where it has no `=`.
    private let value: [UInt8]
    private let rawName: [UInt8]
    /// Whether it has a value.
    let hasValue: Bool
    /// Whether the value is a secret, whatever stands beside it.
    let isSecret: Bool

    init(_ text: Substring, after separator: UInt8?) {
        self.text = text
        self.separator = separator
        let parts = text.utf8.split(
            separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let rawName = Self.percentDecoded(Self.percentDecoded(Array(parts.first ?? text.utf8)))
        let name = String(decoding: rawName, as: UTF8.self).lowercased()
        hasValue = parts.count > 1
        value = parts.dropFirst().first.map { Self.percentDecoded(Array($0)) } ?? rawName
        isSecret =
            Self.exactNames.contains(name) || Self.hasSecretPrefix(name)
            || Self.hasSecretWord(Self.words(of: rawName), length: hasValue ? value.count : 0)
            || Self.isWebToken(value) || Self.isKnownToken(value)
        self.rawName = rawName
        self.name = name
    }

    /// The parameters of a text, in order.
    static func parameters(of text: Substring, separatedBy separators: [UInt8]) -> [SecretParameter] {
        var separator: UInt8?
        return text.utf8.split(omittingEmptySubsequences: false, whereSeparator: separators.contains).map { part in
            defer { separator = part.endIndex < text.endIndex ? text.utf8[part.endIndex] : nil }
            return SecretParameter(Substring(part), after: separator)
        }
    }

    /// Whether name or value is so long and so random that it may be a secret, or as well name a file.
    var isRandom: Bool { Self.isRandom(value) || hasValue && Self.isRandom(rawName) }

    /// The parameter with only the beginning of its value.
    var abbreviated: String {
        let name = text.prefix { $0 != "=" }
        guard hasValue, !Self.isRandom(rawName) else { return "\(text.prefix(4))…" }
        return "\(name)=\(text[name.endIndex...].dropFirst().prefix(4))…"
    }

    /// Whether the value could be a time in seconds or milliseconds.
    var isTime: Bool { [8, 10, 13].contains(value.count) && value.allSatisfy(Self.isHexadecimal) }
}

// MARK: - Vocabulary

extension SecretParameter {
    /// Words that make any value a secret.
    private static let secretWords: Set<String> = [
        "auth", "authentication", "authorization", "bearer", "cookie", "credential", "credentials", "csrf", "hmac",
        "jwt", "oauth", "otp", "pass", "passcode", "passphrase", "passwd", "password", "psw", "pwd", "saml", "secret",
        "session", "sig", "signature", "token", "xsrf",
    ]

    /// What the words of names end in that are written as one, such as `phpsessid` and `accesstoken`.
    private static let endings = [
        "accesskey", "accesskeyid", "apikey", "authkey", "passwd", "password", "passphrase", "privatekey", "secret",
        "secretkey", "sessid", "sessionid", "signature", "tempauth", "token",
    ]

    /// Words that make a `key` after them a secret; any other `key` selects something.
    private static let keyKinds: Set<String> = [
        "access", "account", "admin", "api", "app", "application", "client", "consumer", "decryption", "developer",
        "encryption", "function", "functions", "host", "licence", "license", "master", "private", "secret", "security",
        "service", "shared", "sign", "signing", "stream", "subscription", "user",
    ]

    /// Words that make a long value a secret: a short one is a sign of the zodiac, a code of a country.
    private static let weakWords: Set<String> = ["code", "secure", "sid", "sign", "ticket"]

    private static let shortestWeakSecret = 20

    /// Names that belong to one service.
    private static let exactNames: Set<String> = [
        "__gda__", "_sid", "_upt", "client_assertion", "googleaccessid", "hdnea", "hdntl", "hdnts", "key-pair-id",
        "samlrequest", "samlresponse", "x-oss-additional-headers", "x-oss-date", "x-oss-expires",
    ]

    private static let prefixes = ["aspsessionid", "oauth_", "wowzatoken", "x-amz-", "x-goog-", "x-tos-"]

    private static func hasSecretPrefix(_ name: String) -> Bool {
        prefixes.contains(where: name.hasPrefix) && !name.hasPrefix("x-tos-process")
    }

    private static func hasSecretWord(_ words: [String], length: Int) -> Bool {
        words.contains { secretWords.contains($0) || endings.contains(where: $0.hasSuffix) }
            || zip(words, words.dropFirst()).contains { $1 == "key" && keyKinds.contains($0) }
            || length >= shortestWeakSecret && !weakWords.isDisjoint(with: words)
    }

    /// The words of a name in lower case, without the digits at their ends: `X-Amz-AccessKeyId2` has x, amz, access,
    /// key, id, and as a whole accesskeyid.
    private static func words(of name: [UInt8]) -> [String] {
        var words: [String] = []
        for whole in name.split(whereSeparator: { !isWordByte($0) }) {
            var start = whole.startIndex
            for index in whole.indices.dropFirst() {
                let (before, byte) = (whole[index - 1], whole[index])
                let next = index + 1 < whole.endIndex ? whole[index + 1] : 0
                // accessToken, and APIKey.
                guard isUpper(byte), !isUpper(before) || isLower(next) else { continue }
                words.append(word(whole[start..<index]))
                start = index
            }
            words.append(word(whole[start...]))
            if start > whole.startIndex { words.append(word(whole)) }
        }
        return words
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.reversed().drop(while: isDigit).reversed(), as: UTF8.self).lowercased()
    }
}

// MARK: - Values

extension SecretParameter {
    /// Whether a value is a JSON Web Token: base64url parts, the first of which decodes to something that begins with
    /// `{"` (RFC 7515, 3).
    private static func isWebToken(_ value: [UInt8]) -> Bool {
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
    private static let knownTokens = [
        "AIza", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "sk_live_", "rk_live_", "xoxb-", "xoxp-",
        "ya29.",
    ]

    private static func isKnownToken(_ value: [UInt8]) -> Bool {
        value.count >= shortestWeakSecret && knownTokens.contains { value.starts(with: $0.utf8) }
    }

    private static func isRandom(_ value: [UInt8]) -> Bool {
        value.count >= 20
            && value.split { !(isWordByte($0) && $0 < 0x80 || "-_+=".utf8.contains($0)) }.contains(where: isRandomPiece)
    }

    /// Whether letters and digits alternate as they do in no name: few words, few numbers, few separators.
    private static func isRandomPiece(_ piece: ArraySlice<UInt8>) -> Bool {
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
    /// What is none stays: the rest of the name counts all the same.
    private static func percentDecoded(_ text: [UInt8]) -> [UInt8] {
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

    private static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init(truncatingIfNeeded:))
    }

    private static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isUpper(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isWordByte(_ byte: UInt8) -> Bool {
        isLower(byte) || isUpper(byte) || isDigit(byte) || byte >= 0x80
    }
    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
