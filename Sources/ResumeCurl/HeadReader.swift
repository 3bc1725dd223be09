import HTTPTypes
import ResumeDownload
import ResumeHTTP

/// Reads the heads of a response line by line, and judges the framing of the body before its first byte.
///
/// libcurl passes the lines as they arrived: those of a proxy's answer to CONNECT, of interim responses, of the final
/// response and of its trailers.
struct HeadReader {
    /// How the end of a body is known (RFC 9112, 6.3).
    enum Framing: Equatable {
        /// The response has no body.
        case none
        case length(Int64)
        case chunked
        /// By the end of the connection, or of the stream.
        case close
    }

    /// The maximum size of all heads and trailers of an exchange, in bytes; libcurl 7.88 keeps them all.
    private static let mostBytes = 256 << 10
    /// The maximum number of their lines.
    private static let mostLines = 2_000

    /// The final response; a challenge that libcurl answers itself is replaced by what follows.
    private(set) var head: HTTPResponse?
    private(set) var framing = Framing.close
    /// Whether both a length and chunks framed the body; then the connection must be closed (RFC 9112, 6.1).
    private(set) var isAmbiguous = false
    /// Whether the response came over HTTP/2 or HTTP/3.
    private(set) var isMultiplexed = false

    private let isHead: Bool
    private let authority: String
    private var status: (code: Int, phrase: String)?
    private var fields: [(name: ArraySlice<UInt8>, value: [UInt8])] = []
    private var interim = 0
    private var bytes = 0
    private var lines = 0

    init(isHead: Bool, authority: String) {
        self.isHead = isHead
        self.authority = authority
    }

    /// Reads a line of a proxy's head, which only its size can make wrong.
    mutating func skip(_ count: Int) throws(TransportError) {
        bytes += count
        lines += 1
        guard bytes <= Self.mostBytes, lines <= Self.mostLines else {
            throw problem("the header exceeds \(Self.mostBytes >> 10) KiB or \(Self.mostLines) lines")
        }
    }

    /// Reads a line.
    ///
    /// - Returns: Whether it ends an interim response.
    /// - Throws: `TransportError` if the response is not HTTP, or if its body has no unambiguous framing.
    mutating func read(_ line: [UInt8]) throws(TransportError) -> Bool {
        try skip(line.count)
        let isStatus = line.starts(with: "HTTP/".utf8)
        if head != nil {
            // A trailer, or the response after a challenge.
            guard isStatus else { return false }
            head = nil
        }
        let text = line[..<((line.lastIndex { $0 != 0x0A && $0 != 0x0D } ?? -1) + 1)]
        guard status != nil else {
            status = Self.status(text)
            if status == nil { throw problem("the status line is not valid") }
            isMultiplexed = !line.starts(with: "HTTP/1".utf8)
            return false
        }
        guard text.isEmpty else {
            try add(text)
            return false
        }
        return try end()
    }

    private static func status(_ line: ArraySlice<UInt8>) -> (Int, String)? {
        let words = line.split(separator: 0x20, maxSplits: 2)
        guard words.count >= 2, words[0].starts(with: "HTTP/".utf8), words[1].count == 3,
            let code = Int(String(decoding: words[1], as: UTF8.self)), (100..<600).contains(code)
        else { return nil }
        return (code, words.count == 3 ? String(decoding: words[2], as: UTF8.self) : "")
    }

    private mutating func add(_ line: ArraySlice<UInt8>) throws(TransportError) {
        guard !line.contains(where: { $0 == 0 || $0 == 0x0D }) else { throw problem("a field contains NUL or CR") }
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let trimmed = line.drop(while: isSpace)
        // A folded line (RFC 9112, 5.2).
        if line.startIndex != trimmed.startIndex {
            // libcurl frames the body by whole lines.
            let framing = ["transfer-encoding", "content-length"]
            guard let last = fields.indices.last,
                !framing.contains(String(decoding: fields[last].name, as: UTF8.self).lowercased())
            else { throw problem("a misplaced folded line") }
            fields[last].value += [0x20] + trimmed
            return
        }
        guard let colon = trimmed.firstIndex(of: UInt8(ascii: ":")) else { throw problem("a line without a colon") }
        fields.append((trimmed[..<colon], Array(trimmed[(colon + 1)...].trimmed)))
    }

    private mutating func end() throws(TransportError) -> Bool {
        guard let (code, phrase) = status.take() else { return false }
        defer { fields = [] }
        if code < 200 {
            interim += 1
            guard interim <= BodyMailbox.mostInterim else {
                throw problem("more than \(BodyMailbox.mostInterim) interim responses (1xx)")
            }
            guard code != 101 else { throw problem("a change of the protocol (101) that was not requested") }
            return true
        }
        var head = HTTPResponse(status: .init(code: code, reasonPhrase: phrase))
        for (name, value) in fields {
            guard let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) else {
                throw problem("the name of a field is not valid")
            }
            head.headerFields.append(HTTPField(name: name, lenientValue: value))
        }
        framing = try framing(of: head)
        self.head = head
        return false
    }

    private mutating func framing(of head: HTTPResponse) throws(TransportError) -> Framing {
        let codings = items(of: .transferEncoding, in: head).map { $0.lowercased() }
        if let coding = codings.first(where: { $0 != "chunked" && $0 != "identity" }) {
            throw problem("the transfer coding is \(coding.prefix(40))")
        }
        let lengths = Set(items(of: .contentLength, in: head))
        isAmbiguous = codings.contains("chunked") && !lengths.isEmpty
        if isHead || head.status == .noContent || head.status == .notModified { return .none }
        if codings.contains("chunked") { return .chunked }
        guard let text = lengths.first else { return .close }
        guard lengths.count == 1, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int64(text) else {
            throw problem("the length is not valid")
        }
        return .length(length)
    }

    private func items(of name: HTTPField.Name, in head: HTTPResponse) -> [String] {
        guard head.headerFields.contains(name) else { return [] }
        return head.headerFields[values: name].flatMap { value in
            Array(value.utf8).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { item in
                String(decoding: item.trimmed, as: UTF8.self)
            }
        }
    }

    private func problem(_ text: String) -> TransportError { .invalid(text, from: authority) }
}
