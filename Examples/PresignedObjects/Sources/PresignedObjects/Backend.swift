import Foundation
import ResumeHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The server that holds the secret key of the object store and signs URLs for its users.
struct Backend: Sendable {
    /// A response without a URL.
    struct Refusal: Error, CustomStringConvertible {
        var status: Int
        var description: String { "the backend did not sign a URL: status \(status)" }
    }

    private let address: URLComponents

    /// Makes a backend; nil if the address is not a URL.
    init?(_ address: String) {
        guard let address = URLComponents(string: address) else { return nil }
        self.address = address
    }

    /// Requests a presigned URL for an object.
    ///
    /// - Parameters:
    ///   - method: The only method that the URL is valid for.
    ///   - key: The name of the object.
    /// - Returns: The URL.
    /// - Throws: ``Refusal``, and errors of the network.
    func url(for method: String, _ key: String) async throws -> DownloadURL {
        var address = address
        address.queryItems = [URLQueryItem(name: "method", value: method), URLQueryItem(name: "key", value: key)]
        // Servers decode a plus sign as a space.
        address.percentEncodedQuery = address.percentEncodedQuery?.replacing("+", with: "%2B")
        guard let url = address.url else { throw URLError(.badURL) }
        // A real backend must authenticate the user: set the user's token on a URLRequest.
        let (body, response) = try await URLSession.shared.data(from: url)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw Refusal(status: status) }
        return try DownloadURL(String(decoding: body, as: UTF8.self))
    }
}
