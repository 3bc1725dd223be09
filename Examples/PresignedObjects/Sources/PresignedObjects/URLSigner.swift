import Crypto
import Foundation
import ResumeHTTP

/// An object of an object store.
struct S3Object: Sendable {
    var bucket: String
    var key: String
}

/// Signs URLs for one method and some time: AWS Signature Version 4 by query parameters, which all object stores know.
struct URLSigner: Sendable {
    private let endpoint: DownloadURL
    private let region: String
    private let accessKey: String
    private let secretKey: String

    /// Makes a signer of what the programs of AWS read as well; nil where something is missing.
    init?(environment: [String: String]) {
        guard let endpoint = environment["AWS_ENDPOINT_URL"].flatMap({ try? DownloadURL($0) }),
            let accessKey = environment["AWS_ACCESS_KEY_ID"], let secretKey = environment["AWS_SECRET_ACCESS_KEY"]
        else { return nil }
        self.endpoint = endpoint
        self.accessKey = accessKey
        self.secretKey = secretKey
        region = environment["AWS_REGION"] ?? "us-east-1"
    }

    /// Signs a URL.
    ///
    /// - Parameters:
    ///   - method: The only one that it is good for.
    ///   - object: What it leads to.
    ///   - lifetime: For how many seconds it may be used, from now on.
    /// - Returns: The URL.
    /// - Throws: Where the object cannot be named by one.
    func url(for method: String, _ object: S3Object, lifetime: Int) throws -> DownloadURL {
        // 20260131T235959Z
        let time = Date.now.formatted(Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted))
        let scope = [String(time.prefix(8)), region, "s3", "aws4_request"]
        let path =
            ([object.bucket] + object.key.split(separator: "/", omittingEmptySubsequences: false).map(String.init))
            .map { "/\(escaped($0))" }.joined()
        let query = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", "\(accessKey)/\(scope.joined(separator: "/"))"),
            ("X-Amz-Date", time),
            ("X-Amz-Expires", "\(lifetime)"),
            ("X-Amz-SignedHeaders", "host"),
        ].map { "\($0)=\(escaped($1))" }.joined(separator: "&")

        let request = [method, path, query, "host:\(endpoint.authority)", "", "host", "UNSIGNED-PAYLOAD"]
        let text = ["AWS4-HMAC-SHA256", time, scope.joined(separator: "/"), hash(request.joined(separator: "\n"))]
        let key = scope.reduce(Data("AWS4\(secretKey)".utf8)) { sign($1, with: $0) }
        let signature = hexadecimal(sign(text.joined(separator: "\n"), with: key))
        return try DownloadURL("\(endpoint.origin)\(path)?\(query)&X-Amz-Signature=\(signature)")
    }

    private func sign(_ text: String, with key: Data) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: SymmetricKey(data: key)))
    }

    private func hash(_ text: String) -> String { hexadecimal(SHA256.hash(data: Data(text.utf8))) }

    private func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    /// Escapes all but what RFC 3986 calls unreserved.
    private func escaped(_ text: String) -> String {
        let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: plain) ?? text
    }
}
