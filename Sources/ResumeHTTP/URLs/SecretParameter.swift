/// A parameter of a query, or of a path after `;`, with the clues that its name and value give.
struct SecretParameter {
    /// The parameter as given.
    let text: Substring
    /// The separator before it; nil for the first one.
    let separator: UInt8?
    /// The name in lower case, percent-decoded twice, since some URLs are encoded twice.
    let name: String
    /// The value, percent-decoded; the whole text if there is no `=`.
    private let value: [UInt8]
    private let rawName: [UInt8]
    private let words: Words
    /// Whether the parameter has a `=`.
    let hasValue: Bool

    init(_ text: Substring, after separator: UInt8?) {
        self.text = text
        self.separator = separator
        let parts = text.utf8.parts(at: UInt8(ascii: "="), most: 1)
        rawName = PercentEncoding.decoded(PercentEncoding.decoded(Array(parts.first ?? text.utf8)))
        words = Words(of: rawName)
        name = String(decoding: rawName, as: UTF8.self).lowercased()
        hasValue = parts.count > 1
        value = hasValue ? PercentEncoding.decoded(Array(parts[1])) : rawName
    }

    /// Whether the value is a secret, regardless of the other parameters.
    var isSecret: Bool {
        Self.exactNames.contains(name)
            || Self.prefixes.contains(where: name.hasPrefix) && !name.hasPrefix("x-tos-process")
            || hasSecretWord || Self.isToken(value) || name == "verify" && Self.beginsWithTime(value)
    }

    /// Whether the secret is a signature of the URL, so that times next to it are likely to change with it.
    var isSignature: Bool {
        (Self.signatures.contains(name)
            || words.all.contains { Self.signatureEndings.contains(where: $0.hasSuffix) })
            && isSecret
    }

    /// Splits a text into its parameters, in order.
    static func parameters(of text: Substring, separatedBy separators: [UInt8]) -> [SecretParameter] {
        var separator: UInt8?
        return text.utf8.split(omittingEmptySubsequences: false, whereSeparator: separators.contains).map { part in
            defer { separator = part.endIndex < text.endIndex ? text.utf8[part.endIndex] : nil }
            return SecretParameter(Substring(part), after: separator)
        }
    }

    /// Whether the name or the value is long and random enough to be a secret, although it may also identify a file.
    var isRandom: Bool { Self.isRandom(value) || hasValue && Self.isRandom(rawName) }

    /// The parameter with its value shortened to the first characters.
    var abbreviated: String {
        guard hasValue, !Self.isRandom(rawName) else { return "\(Self.beginning(of: text.unicodeScalars))…" }
        return "\(givenName)=\(Self.beginning(of: text.unicodeScalars[givenName.endIndex...].dropFirst()))…"
    }

    /// The name as given; compares scalars, since a combining mark after `=` forms one character with it.
    private var givenName: Substring { Substring(text.unicodeScalars.prefix { $0 != "=" }) }

    private static func beginning(of text: Substring.UnicodeScalarView) -> Substring {
        Substring(text.prefix(while: \.isASCII).prefix(4))
    }

    /// Whether the value could be a time from 2014 to 2100, in seconds or milliseconds since 1970.
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

    /// The parameter without the secrets of the URL that is its value; nil if its value is not a URL with secrets.
    var withoutSecretsOfURL: String? {
        guard hasValue, value.count <= 65_536, let text = String(validating: value, as: UTF8.self),
            let url = try? DownloadURL(text), url.userInfo != nil || url.redactedAsValue != url.absoluteString
        else { return nil }
        return givenName + "="
            + PercentEncoding.encoded(url.redactedAsValue.utf8) {
                !Self.isASCIIWordByte($0) && !"-._~".utf8.contains($0)
            }
    }

    /// A replacement for a path segment that is a token; nil if it is not a token.
    ///
    /// The replacement is different for each token, since the token may select the file, and reveals nothing else.
    var withoutTokenOfSegment: String? {
        guard !hasValue, Self.isToken(value) else { return nil }
        return "token-\(HTTPDigest(.sha256, of: value)?.hexadecimal.prefix(16) ?? "")"
    }

    /// Words that make any value a secret.
    private static let secretWords = WordTable.words("secret")

    /// Secret words that often have a harmless short number, such as the pass of a satellite or the number of a
    /// session.
    private static let numberedWords = WordTable.words("numbered")

    /// Names of secrets that sign a URL; see also `signatureEndings`.
    private static let signatures = WordTable.words("signatures")
    private static let signatureEndings = WordTable.words("signature-endings")

    /// Endings of compound names, such as `phpsessid` and `accesstoken`.
    private static let endings = WordTable.words("endings")

    /// Words that make a following `key` a secret; any other `key` selects something.
    private static let keyKinds = WordTable.words("key-kinds")
    /// Words before a `key` that may also be on a keyboard or a camera; only a long value is a secret.
    private static let weakKeyKinds = WordTable.words("weak-key-kinds")

    /// Words that make only long values secret; a short one may be a sign of the zodiac or a country code.
    private static let weakWords = WordTable.words("weak")

    static let shortestWeakSecret = 20

    /// Names that are specific to one service.
    private static let exactNames = WordTable.words("exact-names")

    private static let prefixes = WordTable.words("prefixes")

    private var hasSecretWord: Bool {
        let isShortNumber = hasValue && (1...3).contains(value.count) && value.allSatisfy(\.isDigit)
        let isLong = hasValue && value.count >= Self.shortestWeakSecret
        return words.all.contains {
            Self.secretWords.contains($0) && !(isShortNumber && Self.numberedWords.contains($0))
                || Self.endings.contains(where: $0.hasSuffix)
        }
            || words.pairs.contains { first, second in
                second == "key" && (Self.keyKinds.contains(first) || isLong && Self.weakKeyKinds.contains(first))
                    || second == "code" && first == "access"
            }
            || isLong
                && words.all.contains {
                    Self.weakWords.contains($0) && ($0 != "code" || value.count >= 40 || Self.isRandom(value))
                }
    }

    private static func beginsWithTime(_ value: [UInt8]) -> Bool {
        value.count > 10 && value.prefix(10).allSatisfy(\.isDigit) && value[10] == UInt8(ascii: "-")
    }
}
