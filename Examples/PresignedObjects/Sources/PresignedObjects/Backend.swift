import Foundation
import ResumeHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The server that knows the secret of the object store, and signs URLs for the users it knows.
struct Backend: Sendable {
    /// An answer that is not a URL.
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

    /// Asks for a presigned URL of an object.
    ///
    /// - Parameters:
    ///   - method: The only method that the URL is good for.
    ///   - key: The name of the object.
    /// - Returns: The URL.
    /// - Throws: ``Refusal``, and what the network throws.
    func url(for method: String, _ key: String) async throws -> DownloadURL {
        var address = address
        address.queryItems = [URLQueryItem(name: "method", value: method), URLQueryItem(name: "key", value: key)]
        // A server would read a plus sign as a space.
        address.percentEncodedQuery = address.percentEncodedQuery?.replacing("+", with: "%2B")
        guard let url = address.url else { throw URLError(.badURL) }
        // A real backend wants to know who asks: set the user's token on a URLRequest.
        let (body, response) = try await URLSession.shared.data(from: url)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw Refusal(status: status) }
        return try DownloadURL(String(decoding: body, as: UTF8.self))
    }
}
