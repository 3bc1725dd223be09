/// What an input looks like: text with slots such as `<number>`, each filled anew every time.
struct Shape: Sendable, ExpressibleByStringLiteral {
    /// What a slot is filled with.
    enum Slot: String, CaseIterable, Sendable {
        /// Digits, most of the time a number at the edge of something.
        case number
        /// A date of HTTP in any form.
        case date
        /// An entity tag.
        case tag
        /// A few bytes of any kind.
        case noise
        /// A part of a URL or of its query.
        case urlPart
        /// Field lines of a response, up to six.
        case lines
        /// A first response with a tag and a length, and the beginning of an answer under the same tag.
        case held
        /// Ranges of bytes as a caller asks for them, in order most of the time.
        case ranges
        /// Base64 of the length that a SHA-256 has, or nearly.
        case base64
    }

    /// A piece of the input.
    enum Part: Sendable {
        case literal([UInt8])
        case slot(Slot)
    }

    /// The pieces, in order.
    let parts: [Part]

    /// Reads text with slots.
    init(_ text: String) {
        var parts: [Part] = []
        for (index, piece) in text.split(separator: "<", omittingEmptySubsequences: false).enumerated() {
            let halves = piece.split(separator: ">", maxSplits: 1, omittingEmptySubsequences: false)
            if index > 0, halves.count == 2, let slot = Slot(rawValue: String(halves[0])) {
                parts.append(.slot(slot))
                parts.append(.literal(Array(halves[1].utf8)))
            } else {
                parts.append(.literal(Array((index > 0 ? "<" + piece : piece).utf8)))
            }
        }
        self.parts = parts
    }

    init(stringLiteral text: String) {
        self.init(text)
    }

    /// Field lines that decisions look at.
    static let lines: [Shape] = [
        "ETag: \"a\"", "ETag: \"b\"", "ETag: W/\"a\"", "ETag: <tag>", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
        "Last-Modified: <date>", "Date: Sun, 06 Nov 1994 08:49:38 GMT", "Date: <date>", "Content-Type: text/html",
        "Content-Type: application/zip; a=<noise>", "Content-Type: multipart/byteranges; boundary=<noise>",
        "Content-Encoding: gzip", "Content-Encoding: identity", "Vary: *", "Vary: Accept, <noise>",
        "Transfer-Encoding: chunked", "Content-Length: 250000", "Content-Length: <number>", "Retry-After: <number>",
        "Retry-After: <date>", "Repr-Digest: sha-256=:<base64>:", "Content-Digest: sha-512=:<base64>:",
        "Accept-Ranges: none",
        "Content-Range: bytes 95904-249999/250000", "Content-Range: bytes <number>-<number>/<number>",
        "Content-Range: bytes */<number>", "Content-Range: bytes <number>-<number>/*", "Location: <urlPart><urlPart>",
    ]
}
