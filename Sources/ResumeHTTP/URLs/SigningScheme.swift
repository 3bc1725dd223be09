/// The parameters with which storage services sign a URL for one path.
///
/// The signature covers the path, so a URL that differs only in these parameters is of the same resource. Other secrets,
/// such as a token, may select the resource.
struct SigningScheme {
    /// The names that are all present in a URL of the scheme.
    let main: Set<String>
    /// Further names that belong to the signature.
    let others: Set<String>

    init(_ main: String, _ others: String) {
        self.main = SecretParameter.words(main)
        self.others = SecretParameter.words(others)
    }

    /// Returns the names that sign a URL with these parameters; none if no known scheme does.
    static func names(signing parameters: [SecretParameter]) -> Set<String> {
        let names = Set(parameters.map(\.name))
        // Of two values, it is unknown which one the server uses.
        guard names.count == parameters.count else { return [] }
        return Set(all.filter { names.isSuperset(of: $0.main) }.flatMap { $0.main.union($0.others) })
    }

    private static let all =
        (["x-amz-", "x-goog-", "x-tos-"].map { prefix in
            let others = ["algorithm", "date", "expires", "signedheaders", "security-token"].map { prefix + $0 }
            return ("\(prefix)credential \(prefix)signature", others.joined(separator: " "))
        } + [
            (
                "x-oss-credential x-oss-signature",
                "x-oss-date x-oss-expires x-oss-signature-version x-oss-security-token"
            ),
            ("awsaccesskeyid signature expires", "x-amz-security-token"),
            ("ossaccesskeyid signature expires", "security-token"), ("googleaccessid signature expires", ""),
            (
                "q-ak q-signature",
                "q-sign-algorithm q-sign-time q-key-time q-header-list q-url-param-list x-cos-security-token"
            ),
            ("key-pair-id signature", "expires policy hash-algorithm"), ("sig sv", Signature.azure),
        ]).map { SigningScheme($0, $1) }
}

extension DownloadURL {
    /// Path and query without the parameters of a scheme that signs the path.
    package var unsignedTarget: String {
        if isPlainPath { return requestTarget }
        let path = requestTarget.prefix { $0 != "?" }
        guard path.endIndex < requestTarget.endIndex else { return requestTarget }
        let parameters = SecretParameter.parameters(
            of: requestTarget[path.endIndex...].dropFirst(), separatedBy: [UInt8(ascii: "&")])
        let signing = SigningScheme.names(signing: parameters)
        guard !signing.isEmpty else { return requestTarget }
        let kept = parameters.filter { !signing.contains($0.name) }.map(\.text).joined(separator: "&")
        return kept.isEmpty ? String(path) : "\(path)?\(kept)"
    }

    /// Whether nothing of the URL is secret but the parameters of a scheme that signs the path.
    package var isOnlySigned: Bool { userInfo == nil && unsignedTarget == redactedTarget }

    /// Origin and path without secrets, as an address of what a response came from.
    package var address: String { isPlainPath ? absoluteString : origin + redactedTarget.prefix { $0 != "?" } }
}
