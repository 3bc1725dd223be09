/// The form of an input: text with slots such as `<number>`, which get a new content each time.
struct Shape: Sendable, ExpressibleByStringLiteral {
    /// The content of a slot.
    enum Slot: String, CaseIterable, Sendable {
        /// Digits, usually a number at some boundary.
        case number
        /// An HTTP date in any format.
        case date
        /// An entity tag.
        case tag
        /// A few bytes of any kind.
        case noise
        /// A part of a URL or of its query.
        case urlPart
        /// Up to six field lines of a response.
        case lines
        /// A first response with a tag and a length, and the beginning of a second response with the same tag.
        case held
        /// Byte ranges as a caller requests them, usually in order.
        case ranges
        /// Base64 text with the length of a SHA-256 digest, or almost.
        case base64
    }

    /// A piece of the input.
    enum Part: Sendable {
        case literal([UInt8])
        case slot(Slot)
    }

    /// The pieces, in order.
    let parts: [Part]

    /// Parses text with slots.
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

    /// Field lines that affect decisions.
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
