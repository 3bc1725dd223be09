import OriginServer

/// Answers that do not end, or not soon: far larger than any memory, sent as fast as the client reads.
enum EndlessAnswer {
    /// Enough repetitions of a block for about 8 GiB.
    private static let repetitions = 8192

    /// Repeated text, after a beginning.
    static func text(_ piece: String, after beginning: String) -> Response {
        let count = max(1 << 20 / piece.utf8.count, 1)
        let block = Content(String(repeating: piece, count: count))
        let steps = Array(repeating: Step.body(block, block.all), count: repetitions)
        return Response([.raw(Array(beginning.utf8))] + steps)
    }

    /// A chunked body.
    static func chunks(fields: [(String, String)] = []) -> Response {
        let content = Content(length: 8 << 30, seed: 1)
        let head = Step.head(status: "200 OK", fields: fields + [("Transfer-Encoding", "chunked"), ("ETag", "\"v1\"")])
        return Response([head, .chunked(content, content.all, chunkSize: 65_536)])
    }

    /// A redirect with a body that does not end.
    static func redirect(to location: String) -> Response {
        let content = Content(length: 8 << 30, seed: 1)
        let fields = [("Location", location), ("Content-Length", String(content.length))]
        return Response([.head(status: "302 Found", fields: fields), .body(content, content.all)])
    }

    /// A text byte by byte, with a delay after each.
    static func trickle(_ text: String, milliseconds: Int, after beginning: String = "") -> Response {
        let content = Content(text)
        return Response([
            .raw(Array(beginning.utf8)), .trickle(content, content.all, bytesPerStep: 1, milliseconds: milliseconds),
            .hold,
        ])
    }
}
