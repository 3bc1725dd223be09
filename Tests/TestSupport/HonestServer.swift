package import HTTPTypes
internal import ResumeHTTP
package import ResumeStore

/// What an honest server answers, as values: for tests of the store without a network.
package struct HonestServer: Sendable {
    /// The file.
    package var content: [UInt8]
    /// Its entity tag.
    package var etag: String

    /// Makes a server of one file.
    package init(_ content: [UInt8], etag: String = "\"v1\"") {
        self.content = content
        self.etag = etag
    }

    /// The head of an answer and where its body begins.
    package func answer(_ fields: HTTPFields) -> (head: HTTPResponse, start: Int) {
        var start = 0
        if let range = fields[.range], fields[.ifRange] == etag {
            start = range.dropFirst("bytes=".count).dropLast().reduce(0) { $0 * 10 + ($1.wholeNumberValue ?? 0) }
        }
        var head = HTTPResponse(status: start > 0 ? .partialContent : .ok)
        head.headerFields[.eTag] = etag
        head.headerFields[.contentLength] = "\(content.count - start)"
        if start > 0 { head.headerFields[.contentRange] = "bytes \(start)-\(content.count - 1)/\(content.count)" }
        return (head, start)
    }

    /// Moves the file into a transfer as far as `end`, in pieces.
    ///
    /// - Returns: Whether every byte is there.
    /// - Throws: What the transfer throws.
    @discardableResult
    package func fill(_ transfer: Transfer, upTo end: Int? = nil, piece: Int = 100_000) async throws -> Bool {
        let plan = await transfer.plan()
        if await transfer.isComplete { return true }
        let (head, start) = answer(plan.fields)
        _ = try await transfer.receive(head, to: plan)
        let end = min(end ?? content.count, content.count)
        for position in stride(from: start, to: max(end, start), by: piece) {
            try await transfer.write(Array(content[position..<min(position + piece, end)]))
        }
        return try await transfer.endBody(end == content.count ? .whole : .cut)
    }
}
