package import HTTPTypes
package import ResumeHTTP
package import ResumeStore

// What tests do with transfers. A change of the types behind them is followed here.

extension DownloadStore {
    /// The resource of tests that need only one.
    package static let testURL = "http://127.0.0.1/file.bin"

    /// Opens the transfer of a whole resource.
    package func begin(_ url: String = testURL) async throws -> Transfer {
        try await open(try DownloadURL(url), headerFields: [:])
    }

    /// Leaves the first bytes of a resource in the store, as a stopped download does.
    package func leave(_ count: Int, of server: HonestServer, url: String = testURL) async throws {
        let transfer = try await begin(url)
        try await server.fill(transfer, upTo: count)
        try await transfer.close()
    }
}

extension Transfer {
    /// Reaches a verdict on a response to a plan and prepares for its body, as a request loop does.
    package func receive(_ response: HTTPResponse, to plan: Plan) async throws -> Verdict {
        let verdict = try judge(response, to: plan)
        try await prepare(for: verdict, of: response)
        return verdict
    }

    /// Receives the head of the answer to the next request.
    @discardableResult
    package func receive(head: HTTPResponse) async throws -> Verdict { try await receive(head, to: plan()) }

    /// Receives the head of such an answer to the next request.
    @discardableResult
    package func receive(status: HTTPResponse.Status = .ok, _ fields: HTTPFields) async throws -> Verdict {
        try await receive(head: HTTPResponse(status: status, headerFields: fields))
    }
}

extension HonestServer {
    /// Receives the rest of the file and delivers it.
    ///
    /// - Returns: Whether the delivered file is the server's.
    /// - Throws: An error from the transfer, or if the file cannot be read.
    package func deliver(_ transfer: Transfer, to path: String) async throws -> Bool {
        guard try await fill(transfer) else { return false }
        try await transfer.deliver(to: path)
        return try Files.matches(path, content)
    }
}
