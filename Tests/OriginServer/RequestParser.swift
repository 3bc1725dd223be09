/// Finds the heads of requests in the bytes of a connection.
///
/// The body of a request is skipped according to its `Content-Length`.
struct RequestParser {
    /// The result of parsing the available bytes.
    enum Outcome {
        case incomplete
        case request(OriginRequest)
        case tooLarge
        case malformed
    }

    /// The greatest size of a head, with its empty line.
    static let headLimit = 64 * 1024

    private var buffer: [UInt8] = []
    private var bodyLeft: Int64 = 0

    /// Adds bytes of the connection.
    ///
    /// - Parameter bytes: The bytes.
    mutating func append(_ bytes: [UInt8]) {
        buffer += bytes
    }

    /// Extracts the next request from the bytes.
    ///
    /// - Returns: The request, not yet numbered, or why there is none.
    mutating func next() -> Outcome {
        let skipped = Int(min(bodyLeft, Int64(buffer.count)))
        buffer.removeFirst(skipped)
        bodyLeft -= Int64(skipped)
        guard bodyLeft == 0 else { return .incomplete }
        // Some clients end a body with an extra empty line (RFC 9112, 2.2).
        while buffer.starts(with: [0x0D, 0x0A]) { buffer.removeFirst(2) }
        let view = buffer.prefix(Self.headLimit)
        guard let end = view.firstRange(of: Array("\r\n\r\n".utf8)) else {
            return view.count == Self.headLimit ? .tooLarge : .incomplete
        }
        let lines = view[..<end.lowerBound].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { line in
                String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
            }
        buffer.removeFirst(end.upperBound)
        guard let request = Self.request(lines), let length = Self.bodyLength(request) else { return .malformed }
        bodyLeft = length
        return .request(request)
    }

    /// Reads the lines of a head.
    ///
    /// - Parameter lines: The request line and the field lines.
    /// - Returns: The request, `nil` if the lines are not a head.
    private static func request(_ lines: [String]) -> OriginRequest? {
        let parts = lines[0].split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty, parts[2].hasPrefix("HTTP/1.") else { return nil }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, !halves[0].isEmpty, !halves[0].contains(where: \.isWhitespace) else { return nil }
            fields.append((String(halves[0]), String(halves[1].trimmingBlanks())))
        }
        let (method, target, version) = (parts[0], parts[1], parts[2])
        return OriginRequest(
            number: 0, connection: 0, method: method, target: target, version: version, fields: fields)
    }

    /// Returns the length of the body of a request.
    ///
    /// - Parameter request: The request.
    /// - Returns: The length, `nil` if it is invalid. A chunked body has none; its connection ends.
    private static func bodyLength(_ request: OriginRequest) -> Int64? {
        let lengths = request.fields("Content-Length")
        guard let first = lengths.first else { return 0 }
        guard lengths.count == 1, let length = Int64(first), length >= 0 else { return nil }
        return length
    }
}
