package import HTTPTypes
internal import ResumeHTTP
package import ResumeStore

/// The answers of an honest server as values, for tests of the store without a network.
package struct HonestServer: Sendable {
    /// The file.
    package var content: [UInt8]
    /// Its entity tag.
    package var etag: String

    /// Creates a server of one file.
    package init(_ content: [UInt8], etag: String = "\"v1\"") {
        self.content = content
        self.etag = etag
    }

    /// The head of an answer and the range of its body.
    package func answer(_ fields: HTTPFields) -> (head: HTTPResponse, body: Range<Int>) {
        var body = 0..<content.count
        var head = HTTPResponse(status: .ok)
        if let range = fields[.range], fields[.ifRange] == etag {
            let ends = range.dropFirst("bytes=".count).split(separator: "-").map { Int($0) ?? 0 }
            body = ends[0]..<(ends.count > 1 ? min(ends[1] + 1, content.count) : content.count)
            head.status = .partialContent
            head.headerFields[.contentRange] = "bytes \(body.lowerBound)-\(body.upperBound - 1)/\(content.count)"
        }
        head.headerFields[.eTag] = etag
        head.headerFields[.contentLength] = "\(body.count)"
        return (head, body)
    }

    /// Appends the file to a transfer up to `end`, in pieces.
    ///
    /// - Returns: Whether every byte is stored.
    /// - Throws: An error from the transfer.
    @discardableResult
    package func fill(_ transfer: Transfer, upTo end: Int? = nil, piece: Int = 100_000) async throws -> Bool {
        let plan = await transfer.plan()
        if await transfer.isComplete { return true }
        let (head, body) = answer(plan.fields)
        _ = try await transfer.receive(head, to: plan)
        let end = min(end ?? body.upperBound, body.upperBound)
        for position in stride(from: body.lowerBound, to: max(end, body.lowerBound), by: piece) {
            try await transfer.write(Array(content[position..<min(position + piece, end)]))
        }
        return try await transfer.endBody(end == body.upperBound ? .whole : .cut)
    }
}
