extension DownloadURL {
    /// The URL as it may be stored: without user info, fragment, and the parameters that sign or authorize it.
    ///
    /// It is also the default key of a download, so that a URL with a new signature identifies the same download. A
    /// parameter is a secret if a word of its name says so (`api_key`, `X-Plex-Token`), if it belongs to a known kind
    /// of signature, or if its value is a JSON Web Token. If a parameter is mistaken for a secret, a download may start
    /// over, but never gets wrong bytes, since the validator decides whether stored bytes are used.
    package var redacted: String { isPlainPath ? absoluteString : origin + redactedTarget }

    /// Whether something of the URL must not be stored: user info, or parameters that sign or authorize it.
    package var hasSecrets: Bool { userInfo != nil || !isPlainPath && redacted != absoluteString }

    /// Path and query of ``redacted``.
    var redactedTarget: String { redacted() }

    /// The same for a URL that is a parameter of another one; URLs in its own parameters are not searched.
    var redactedAsValue: String { origin + redacted(isValue: true) }

    /// A caller's key as it may be stored: if it is a URL with secrets, they are removed.
    package static func redactedKey(_ key: String) -> String { redacted(key: key, abbreviates: false) ?? key }

    /// A key as it may be displayed: long random strings in a URL, which may be secrets, are abbreviated.
    package static func shownKey(_ key: String) -> String {
        redacted(key: key, abbreviates: true)
            ?? (holdsSecret(key) ? "(not shown: the key contains a secret)" : key)
    }

    /// Returns a key without secrets, whose fragment is the selection or the caller's text; nil if it is not a URL.
    private static func redacted(key: String, abbreviates: Bool) -> String? {
        let target = String(key.unicodeScalars.prefix { $0 != "#" })
        guard let url = try? DownloadURL(target) else { return nil }
        let text = abbreviates ? url.description : url.redacted
        let fragment = Substring(key.unicodeScalars.dropFirst(target.unicodeScalars.count))
        let body = Substring(fragment.unicodeScalars.dropFirst())
        let kept = ParameterList(body, separatedBy: "#&;").text(abbreviates: abbreviates)
        return (url.userInfo == nil && text == url.absoluteString ? target : text)
            + (kept == body ? fragment : kept.isEmpty ? "" : "#\(kept)")
    }

    /// Whether a text that is not a URL contains what would be a secret in one: a password, or a parameter.
    package static func holdsSecret(_ text: String) -> Bool {
        let parts = text.parts(at: "@", most: 1)
        // Not passwords: image `repository:tag@sha256:…`, package `pkg:npm/name@1.0`, file `s3://bucket/icon@2x.png`.
        let user = parts[0].firstRange(of: "://").map { parts[0][$0.upperBound...] } ?? parts[0]
        let hasPassword =
            parts.count == 2 && user.contains(":")
            && !text.hasPrefix("pkg:") && !parts[1].hasPrefix("sha256:")
        return hasPassword || ParameterList(text[...], separatedBy: "?&;#").holdsSecret
    }

    /// Whether a text has the form of a token, or is random enough to be one.
    package static func isSecretValue(_ text: String) -> Bool {
        let value = SecretParameter("=" + Substring(text), after: nil)
        return value.isSecret || value.isRandom
    }

    /// Whether a target is only a path without parameters, percent encodings and tokens.
    static func isPlainPath(_ target: String) -> Bool {
        !target.utf8.contains { "?;=%:".utf8.contains($0) } && hasNoToken(Array(target.utf8)[...])
    }

    /// Whether no segment of a path is a token.
    static func hasNoToken(_ path: ArraySlice<UInt8>) -> Bool {
        !path.split(separator: .slash).contains { SecretParameter.isToken(Array($0)) }
    }

    private func redacted(abbreviates: Bool = false, isValue: Bool = false) -> String {
        if isPlainPath { return requestTarget }
        let path = requestTarget.prefix { $0 != "?" }
        let inPath = ParameterList(path, separatedBy: "/;", isPath: true)
        let query = requestTarget[path.endIndex...].dropFirst()
        let inQuery = ParameterList(query, separatedBy: "&;")
        let signature = Signature(of: inPath.parameters + inQuery.parameters)
        let left = inPath.text(without: signature, abbreviates: abbreviates, isValue: isValue)
        // Empty if all of it was secret.
        let text = left.isEmpty ? "/" : left
        guard path.endIndex < requestTarget.endIndex else { return text }
        let kept = inQuery.text(without: signature, abbreviates: abbreviates, isValue: isValue)
        return kept.isEmpty && !query.isEmpty ? text : "\(text)?\(kept)"
    }

    /// The parameters of a query or path, with their separators.
    private struct ParameterList {
        /// The parameters that can be removed.
        var parameters: [SecretParameter] { all.filter(isParameter) }
        private let all: [SecretParameter]
        private let isPath: Bool

        init(_ text: Substring, separatedBy separators: String, isPath: Bool = false) {
            all = SecretParameter.parameters(of: text, separatedBy: Array(separators.utf8))
            self.isPath = isPath
        }

        var holdsSecret: Bool { all.contains { $0.hasValue && $0.isSecret } }

        /// Whether a part of a path can be removed: it follows `;`, or has a name and a value.
        private func isParameter(_ part: SecretParameter) -> Bool {
            !isPath || part.separator == .semicolon || part.hasValue
        }

        /// Returns the text without secrets and without parameters of a signature.
        ///
        /// - Parameters:
        ///   - signature: The signature whose parameters are removed.
        ///   - abbreviates: Whether long random strings are shortened.
        ///   - isValue: Whether the URL is itself a parameter of another one, so that its values are not searched for URLs.
        /// - Returns: The remaining text.
        func text(without signature: Signature? = nil, abbreviates: Bool = false, isValue: Bool = false) -> String {
            var text = ""
            var isFirst = true
            var followsSecret = false
            for part in all {
                // A secret value may contain `;`.
                let continues = followsSecret && part.separator == .semicolon && !part.hasValue
                followsSecret = isParameter(part) && (continues || part.isSecret || signature?.includes(part) == true)
                guard !followsSecret else { continue }
                if !isFirst, let separator = part.separator {
                    text.unicodeScalars.append(Unicode.Scalar(separator))
                }
                if let known = isPath ? part.withoutTokenOfSegment : isValue ? nil : part.withoutSecretsOfURL {
                    text += known
                } else {
                    text += abbreviates && isParameter(part) && part.isRandom ? part.abbreviated : String(part.text)
                }
                isFirst = false
            }
            return text
        }
    }

    /// The parameters that belong to a URL's signature and change with it, but are not secret themselves.
    struct Signature {
        private let companions: Set<String>
        /// Whether all parameters with the prefix of that service belong to the signature.
        private let isTencent: Bool
        /// Whether there is a secret that times next to it are likely to belong to.
        private let isSigned: Bool

        init(of parameters: [SecretParameter]) {
            let names = Set(parameters.map(\.name))
            isSigned = parameters.contains { $0.isSignature }
            companions = Set(Self.known.filter { names.isSuperset(of: $0.main) }.flatMap(\.others))
            isTencent = names.contains("q-signature")
        }

        func includes(_ parameter: SecretParameter) -> Bool {
            companions.contains(parameter.name) || isTencent && parameter.name.hasPrefix("q-")
                || isSigned
                    && (Self.expiries.contains(parameter.name)
                        || Self.times.contains(parameter.name) && parameter.isTime)
        }

        /// Names of expiry times of signatures.
        private static let expiries = WordTable.words("expiries")
        /// Names that may be expiry times, or otherwise an episode or a seek position.
        private static let times = WordTable.words("times")

        /// Names that belong to a signature if all of its main names are present; also the login of Subsonic, which is a token
        /// and its salt, or a password.
        private static let known =
            SigningScheme.read(PackageResources.signatures_txt)
            + ["sv", "skv", "skn"].map { SigningScheme(main: ["sig", $0], others: SigningScheme.azure) }
    }
}

extension DownloadURL: CustomStringConvertible, CustomDebugStringConvertible {
    /// The URL as it may be displayed: without user info and secrets, with long random strings abbreviated, since they may be secrets.
    public var description: String { origin + redacted(abbreviates: true) }

    /// The same as `description`.
    public var debugDescription: String { description }
}
