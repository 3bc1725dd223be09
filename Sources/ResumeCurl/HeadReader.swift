import HTTPTypes
import ResumeDownload
import ResumeFiles
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
    /// The maximum number of their lines, and of those of a head that is remembered.
    private static let (mostLines, mostKnown) = (2_000, 64)

    /// The final response, and the framing of its body.
    ///
    /// A challenge that libcurl answers itself is replaced by what follows.
    private(set) var response: (head: HTTPResponse, framing: Framing)?
    /// Whether both a length and chunks framed the body; then the connection must be closed (RFC 9112, 6.1).
    private(set) var isAmbiguous = false
    /// Whether the response came over HTTP/2 or HTTP/3.
    private(set) var isMultiplexed = false

    private let isHead: Bool
    private let authority: String
    private let known: KnownHead
    private var status: (code: Int, phrase: String)?
    /// The lines of this head as far as it was read, and behind them those of the known head.
    private var lines = KnownHead.Lines()
    /// How many lines of this head were read.
    private var place = 0
    private var interim = 0
    private var bytes = 0
    private var lineCount = 0

    init(isHead: Bool, authority: String, _ known: KnownHead) {
        self.isHead = isHead
        self.authority = authority
        self.known = known
    }

    /// Reads a line of a proxy's head, which only its size can make wrong.
    mutating func skip(_ count: Int) throws(TransportError) {
        bytes += count
        lineCount += 1
        guard bytes <= Self.mostBytes, lineCount <= Self.mostLines else {
            throw problem(sentence("long-head", Self.mostBytes >> 10, Self.mostLines))
        }
    }

    /// Reads a line.
    ///
    /// - Returns: Whether it ends an interim response.
    /// - Throws: `TransportError` if the response is not HTTP, or if its body has no unambiguous framing.
    mutating func read(_ line: UnsafeRawBufferPointer) throws(TransportError) -> Bool {
        try skip(line.count)
        if response != nil {
            // A trailer, or the response after a challenge.
            guard unsafe line.starts(with: "HTTP/".utf8) else { return false }
            response = nil
        }
        guard status != nil else {
            try unsafe begin(line)
            return false
        }
        if place < lines.all.count, unsafe Self.isSame(line, as: lines.all[place].bytes) {
            place += 1
            return false
        }
        // Without its end, the line that ends the head is empty.
        guard unsafe line.contains(where: { $0 != 0x0A && $0 != 0x0D }) else { return try end() }
        try add(unsafe Array(line))
        return false
    }

    private static func isSame(_ line: UnsafeRawBufferPointer, as known: [UInt8]) -> Bool {
        guard let start = line.baseAddress, line.count == known.count, !known.isEmpty else { return false }
        return unsafe memcmp(start, known, known.count) == 0
    }

    /// Returns a line without its end.
    private static func text(of line: [UInt8]) -> ArraySlice<UInt8> {
        line[..<((line.lastIndex { $0 != 0x0A && $0 != 0x0D } ?? -1) + 1)]
    }

    private mutating func begin(_ line: UnsafeRawBufferPointer) throws(TransportError) {
        lines = known.lines
        place = 0
        if unsafe !Self.isSame(line, as: lines.status?.bytes ?? []) {
            guard let (code, phrase) = Self.status(unsafe Array(line)) else {
                throw problem("the status line is not valid")
            }
            lines.status = (unsafe Array(line), code, phrase)
        }
        status = lines.status.map { ($0.code, $0.phrase) }
        isMultiplexed = unsafe !line.starts(with: "HTTP/1".utf8)
    }

    private static func status(_ line: [UInt8]) -> (Int, String)? {
        let words = text(of: line).split(separator: 0x20, maxSplits: 2)
        guard words.count >= 2, words[0].starts(with: "HTTP/".utf8), words[1].count == 3,
            let code = Int(String(decoding: words[1], as: UTF8.self)), (100..<600).contains(code)
        else { return nil }
        return (code, words.count == 3 ? String(decoding: words[2], as: UTF8.self) : "")
    }

    private mutating func add(_ line: [UInt8]) throws(TransportError) {
        let text = Self.text(of: line)
        guard !text.contains(where: { $0 == 0 || $0 == 0x0D }) else { throw problem("a field contains NUL or CR") }
        let trimmed = text.drop { $0 == 0x20 || $0 == 0x09 }
        // A folded line (RFC 9112, 5.2).
        if text.startIndex != trimmed.startIndex {
            // libcurl frames the body by whole lines.
            guard place > 0, !lines.all[place - 1].framesBody else { throw problem("a misplaced folded line") }
            place -= 1
            let start = lines.fields[place]
            let value = unsafe start.withUnsafeBytesOfValue { unsafe Array($0) } + [0x20] + trimmed
            put(HTTPField(name: start.name, lenientValue: value), ([], false))
            return
        }
        guard let colon = trimmed.firstIndex(of: .colon) else { throw problem("a line without a colon") }
        guard let name = HTTPField.Name(String(decoding: trimmed[..<colon], as: UTF8.self)) else {
            throw problem("the name of a field is not valid")
        }
        let field = HTTPField(name: name, lenientValue: trimmed[(colon + 1)...].trimmed)
        put(field, (line, name == .contentLength || name == .transferEncoding))
    }

    private mutating func put(_ field: HTTPField, _ line: (bytes: [UInt8], framesBody: Bool)) {
        if place < lines.all.count {
            lines.all[place] = line
            // A field that only looks the same would not replace the known one.
            lines.fields[place] = HTTPField(name: field.name, value: "")
            lines.fields[place] = field
        } else {
            lines.all.append(line)
            lines.fields.append(field)
        }
        place += 1
    }

    private mutating func end() throws(TransportError) -> Bool {
        guard let (code, phrase) = status.take() else { return false }
        if code < 200 {
            interim += 1
            guard interim <= BodyMailbox.mostInterim else {
                throw problem("more than \(BodyMailbox.mostInterim) interim responses (1xx)")
            }
            guard code != 101 else { throw problem("a change of the protocol (101) that was not requested") }
            return true
        }
        if place < lines.all.count {
            lines.fields.removeLast(lines.all.count - place)
            lines.all.removeLast(lines.all.count - place)
        }
        if place <= Self.mostKnown { known.lines = lines }
        let framing = try framing(after: code)
        var head = HTTPResponse(status: .init(code: code, reasonPhrase: phrase))
        head.headerFields = lines.fields
        response = (head, framing)
        return false
    }

    private mutating func framing(after code: Int) throws(TransportError) -> Framing {
        let codings = items(of: .transferEncoding).map { $0.lowercased() }
        if let coding = codings.first(where: { $0 != "chunked" && $0 != "identity" }) {
            throw problem("the transfer coding is \(coding.prefix(40))")
        }
        let lengths = items(of: .contentLength)
        isAmbiguous = codings.contains("chunked") && !lengths.isEmpty
        if isHead || code == 204 || code == 304 { return .none }
        if codings.contains("chunked") { return .chunked }
        guard let text = lengths.first else { return .close }
        guard lengths.allSatisfy({ $0 == text }), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let length = Int64(text)
        else { throw problem("the length is not valid") }
        return .length(length)
    }

    private func items(of name: HTTPField.Name) -> [String] {
        var items: [String] = []
        for place in lines.all.indices where lines.all[place].framesBody && lines.fields[place].name == name {
            let bytes = Array(lines.fields[place].value.utf8)
            items += bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { item in
                String(decoding: item.trimmed, as: UTF8.self)
            }
        }
        return items
    }

    private func problem(_ text: String) -> TransportError { .invalid(text, from: authority) }

    /// The lines of the head that a thread has read last: a server repeats most of them byte for byte.
    final class KnownHead {
        fileprivate struct Lines {
            var status: (bytes: [UInt8], code: Int, phrase: String)?
            /// The lines of ``fields``, without bytes where one was folded, and whether they frame the body.
            var all: [(bytes: [UInt8], framesBody: Bool)] = []
            var fields = HTTPFields()
        }

        fileprivate var lines = Lines()
    }
}
