/// The parameters with which storage services sign a URL for one path.
///
/// The signature covers the path, so a URL that differs only in these parameters is of the same resource. Other secrets,
/// such as a token, may select the resource.
struct SigningScheme {
    /// The names that are all present in a URL of the scheme.
    let main: Set<String>
    /// Further names that belong to the signature.
    let others: Set<String>

    /// Reads a file with lines such as `main names: other names`.
    static func read(_ file: [UInt8]) -> [SigningScheme] {
        String(decoding: file, as: UTF8.self).pieces(at: "\n").map { line in
            let names = line.pieces(at: ":").map { Set($0.pieces(at: " ")) }
            return SigningScheme(main: names[0], others: names.count > 1 ? names[1] : [])
        }
    }

    /// The parameters of an Azure shared access signature.
    static let azure = WordTable.words("azure")

    /// Returns the names that sign a URL with these parameters; none if no known scheme does.
    static func names(signing parameters: [SecretParameter]) -> Set<String> {
        let names = Set(parameters.map(\.name))
        // Of two values, it is unknown which one the server uses.
        guard names.count == parameters.count else { return [] }
        return Set(all.filter { names.isSuperset(of: $0.main) }.flatMap { $0.main.union($0.others) })
    }

    private static let all =
        read(PackageResources.signing_schemes_txt) + [SigningScheme(main: ["sig", "sv"], others: azure)]
}

extension DownloadURL {
    /// Path and query without the parameters of a scheme that signs the path.
    var unsignedTarget: String {
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
