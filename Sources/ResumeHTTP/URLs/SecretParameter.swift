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
    /// Whether the secret signs the URL, so that times beside it are likely to change with it.
    let isSignature: Bool

    init(_ text: Substring, after separator: UInt8?) {
        self.text = text
        self.separator = separator
        let parts = text.utf8.split(
            separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let rawName = Self.percentDecoded(Self.percentDecoded(Array(parts.first ?? text.utf8)))
        let name = String(decoding: rawName, as: UTF8.self).lowercased()
        hasValue = parts.count > 1
        let value = parts.dropFirst().first.map { Self.percentDecoded(Array($0)) } ?? rawName
        self.value = value
        let words = ParameterWords(of: rawName)
        isSecret =
            Self.exactNames.contains(name) || Self.hasSecretPrefix(name)
            || Self.hasSecretWord(words, value: hasValue ? value : [])
            || Self.isToken(value) || name == "verify" && Self.beginsWithTime(value)
        isSignature =
            isSecret
            && (Self.signatures.contains(name)
                || words.all.contains { Self.signatureEndings.contains(where: $0.hasSuffix) })
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
        // By bytes: a mark that follows on `=` makes one character with it.
        let name = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        guard hasValue, !Self.isRandom(rawName) else { return "\(Self.beginning(of: text.utf8))…" }
        return "\(Substring(name))=\(Self.beginning(of: text.utf8[name.endIndex...].dropFirst()))…"
    }

    private static func beginning(of text: Substring.UTF8View) -> String {
        String(decoding: text.prefix { $0 < 0x80 }.prefix(4), as: UTF8.self)
    }

    /// Whether the value could be a moment in seconds or milliseconds since 1970, between 2014 and 2100.
    var isTime: Bool {
        let text = String(decoding: value, as: UTF8.self)
        let seconds: Int64? =
            switch value.count {
            case 8: Int64(text, radix: 16)
            case 10: Int64(text)
            case 13: Int64(text).map { $0 / 1000 }
            default: nil
            }
        return seconds.map { (1_388_534_400...4_102_444_800).contains($0) } ?? false
    }

    /// The URL that is the value, without its secrets; nil where the value is no URL, or one without secrets.
    var withoutSecretsOfURL: String? {
        guard hasValue, value.count <= 65_536, let text = String(validating: value, as: UTF8.self),
            let url = try? DownloadURL(text), url.userInfo != nil || url.redactedAsValue != url.absoluteString
        else { return nil }
        let encoded = url.redactedAsValue.utf8.map { byte -> String in
            Self.isWordByte(byte) && byte < 0x80 || "-._~".utf8.contains(byte)
                ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        return Substring(self.text.utf8.prefix { $0 != UInt8(ascii: "=") }) + "=" + encoded.joined()
    }

    /// A segment of a path without the token that it is; nil where it is none.
    ///
    /// What takes its place tells one token from another, and no more: it may be what selects the file.
    var withoutTokenOfSegment: String? {
        guard !hasValue, Self.isToken(value) else { return nil }
        return "token-\(HTTPDigest(.sha256, of: value)?.hexadecimal.prefix(16) ?? "")"
    }
}

extension SecretParameter {
    /// Words that make any value a secret.
    private static let secretWords: Set<String> = [
        "auth", "authentication", "authorisation", "authorization", "bearer", "cookie", "credential", "credentials",
        "csrf", "hmac", "jwt", "lsig", "oauth", "otp", "pass", "passcode", "passkey", "passphrase", "passwd",
        "password",
        "psw", "pw", "pwd", "rlkey", "saml", "secret", "sess", "session", "sig", "signature", "token", "userpass",
        "xsrf",
    ]

    /// Those of them that a short number is no secret for: the pass of a satellite, the number of a session.
    private static let numberedWords: Set<String> = ["auth", "otp", "pass", "sess", "session"]

    /// Secrets that sign a URL, among other things.
    private static let signatures: Set<String> = [
        "__gda__", "authorization", "hdnea", "hdntl", "hdnts", "hmac", "lsig", "secure", "sig", "sign",
    ]
    private static let signatureEndings = ["secret", "sig", "sign", "signature", "token", "hmac"]

    /// Endings of names that are written as one word, such as `phpsessid` and `accesstoken`.
    private static let endings = [
        "accesskey", "accesskeyid", "apikey", "authkey", "passwd", "password", "passphrase", "privatekey", "secret",
        "secretkey", "sessid", "sessionid", "signature", "tempauth", "token",
    ]

    /// Words that make a `key` after them a secret; any other `key` selects something.
    private static let keyKinds: Set<String> = [
        "access", "account", "admin", "api", "app", "application", "client", "consumer", "decryption", "developer",
        "encryption", "functions", "licence", "license", "master", "private", "secret", "security", "service", "shared",
        "sign", "signing", "subscription", "user",
    ]
    /// Those after which it may also be a key on a keyboard or a camera: a long value makes a secret.
    private static let weakKeyKinds: Set<String> = ["function", "host", "stream"]

    /// Words that make a long value a secret: a short one is a sign of the zodiac, a code of a country.
    private static let weakWords: Set<String> = ["code", "secure", "sid", "sign", "ticket"]

    static let shortestWeakSecret = 20

    /// Names that belong to one service.
    private static let exactNames: Set<String> = [
        "__gda__", "_sid", "_upt", "client_assertion", "googleaccessid", "hdnea", "hdntl", "hdnts", "key-pair-id",
        "samlrequest", "samlresponse", "x-oss-additional-headers", "x-oss-date", "x-oss-expires",
    ]

    private static let prefixes = ["aspsessionid", "oauth_", "wowzatoken", "x-amz-", "x-goog-", "x-tos-"]

    private static func hasSecretPrefix(_ name: String) -> Bool {
        prefixes.contains(where: name.hasPrefix) && !name.hasPrefix("x-tos-process")
    }

    private static func hasSecretWord(_ words: ParameterWords, value: [UInt8]) -> Bool {
        let isShortNumber = (1...3).contains(value.count) && value.allSatisfy(isDigit)
        let isLong = value.count >= shortestWeakSecret
        return words.all.contains {
            secretWords.contains($0) && !(isShortNumber && numberedWords.contains($0))
                || endings.contains(where: $0.hasSuffix)
        }
            || words.pairs.contains { first, second in
                second == "key" && (keyKinds.contains(first) || isLong && weakKeyKinds.contains(first))
                    || second == "code" && first == "access"
            }
            || isLong
                && words.all.contains {
                    weakWords.contains($0) && ($0 != "code" || value.count >= 40 || isRandom(value))
                }
    }

    private static func beginsWithTime(_ value: [UInt8]) -> Bool {
        value.count > 10 && value.prefix(10).allSatisfy(isDigit) && value[10] == UInt8(ascii: "-")
    }
}
