import OriginServer
@testable import ResumeCommands
import Testing

/// `show` and `log` say in words why a download started over.
@Suite(.timeLimit(.minutes(20)))
struct RestartWordsTests {
    private let home = Home()

    struct Case: Sendable, CustomStringConvertible {
        let description: String
        /// Fields of the first answer, beside or in place of the honest ones; an empty value leaves one out.
        var first: [(String, String)] = []
        /// The answer to a range; nil for an honest one.
        var answer: (@Sendable (OriginRequest) -> Response)?
        /// Fields of the whole that comes at last.
        var last: [(String, String)] = []
        let words: String
    }

    private static let length: Int64 = 300_000
    private static let old = Resource(Content(length: length, seed: 1), etag: "\"v1\"")
    private static let new = Resource(Content(length: length, seed: 2), etag: "\"v2\"")
    private static let day = "Mon, 04 Mar 2024 05:06:07 GMT"
    private static let dated = [("ETag", ""), ("Last-Modified", day), ("Date", "Mon, 04 Mar 2024 05:06:09 GMT")]

    private static func part(_ fields: [(String, String)], seed: UInt64 = 2) -> Response {
        let bytes = Content(length: length, seed: seed).bytes(in: 195_904..<length)
        let range = fields.contains { $0.0 == "Content-Range" } ? [] : [("Content-Range", "bytes 195904-299999/300000")]
        return .status("206 Partial Content", fields: fields + range, body: bytes)
    }

    private static let cases = [
        Case(description: "another tag", words: "its ETag was \"v1\" and is now \"v2\""),
        Case(
            description: "another date", first: dated,
            last: [("ETag", ""), ("Last-Modified", "Tue, 05 Mar 2024 05:06:07 GMT")],
            words: "date was Mon, 04 Mar 2024 05:06:07 GMT and is now Tue, 05 Mar 2024"),
        Case(
            description: "tag gone", answer: { _ in part([]) }, last: [("ETag", "")],
            words: "lacks the validator of the partial data (\"v1\")"),
        Case(
            description: "another length", first: dated,
            answer: { _ in part(dated + [("Content-Range", "bytes 195904-299999/300001")]) },
            last: dated, words: "its length was 300000 bytes and is now 300001 bytes"),
        Case(
            description: "same tag, other bytes", answer: { _ in part([("ETag", "\"v1\"")]) },
            words: "differ from the stored ones at byte 195904"),
        Case(
            description: "416", answer: { _ in .status("416 Range Not Satisfiable") },
            words: "the server does not have the requested bytes (416)"),
        Case(description: "400", answer: { _ in .status("400 Bad Request") }, words: "rejects range requests"),
        Case(
            description: "no validator", first: [("ETag", "")],
            words: "neither a valid ETag nor a Last-Modified date"),
        Case(description: "weak tag", first: [("ETag", "W/\"v1\"")], words: "ETag is weak"),
        Case(
            description: "fresh date", first: [("ETag", ""), ("Last-Modified", day), ("Date", day)],
            words: "less than a second older"),
        Case(
            description: "coded part", answer: { _ in part([("ETag", "\"v1\""), ("Content-Encoding", "gzip")]) },
            words: "compressed the file"),
        Case(
            description: "page", answer: { _ in part([("ETag", "\"v1\""), ("Content-Type", "text/html")]) },
            words: "a different content type"),
    ]

    private static func decorated(_ response: Response, _ fields: [(String, String)]) -> Response {
        fields.reduce(response) { $0.settingField($1.0, to: $1.1.isEmpty ? nil : $1.1) }
    }

    @Test("Less than half of a file without a validator is a failure for now if the stored bytes have none either")
    func shortWithoutValidator() async throws {
        let plain = Resource(Content(length: Self.length, seed: 1))
        let short = Resource(Content(length: 90_000, seed: 2))
        let server = try await home.serve { .file(plain, for: $0, cutAfter: 200_000) }
        let get = ["get", server.url("/a.bin"), "-o", home["out.bin"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        server.setHandler { .file(short, for: $0) }
        await home.run(get).expect(.tryAgain, says: "sent 90000 bytes")
        #expect(try await home.held(server.url("/a.bin")) == 200_000 && !home.has("out.bin"))
        await home.run(get + ["--restart"]).expect(.success)
        #expect(short.content.matches(try home.bytes("out.bin")))
    }

    @Test("An address of another file does not mean that the file changed, and its bytes are kept for the right one")
    func otherFile() async throws {
        let first: @Sendable (OriginRequest) -> Response = { .file(Self.old, for: $0, cutAfter: 200_000) }
        let server = try await home.serve(first)
        let get = ["get", server.url("/a.bin"), "-o", home["out.bin"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        server.setHandler { .file($0.path == "/a.bin" ? Self.old : Self.new, for: $0) }
        let other = await home.run("resume", home["out.bin"], "--url", server.url("/b.bin"))
        #expect(other.status == .success && !other.errors.contains("changed on the server"), "\(other)")
        #expect(other.errors.contains("restarted: this URL has another file than the stored bytes are of"))
        await home.run(get.dropLast(2)).expect(.success, says: "resumed at")
    }

    @Test("Each restart is explained", arguments: cases)
    func explained(_ row: Case) async throws {
        let first: @Sendable (OriginRequest) -> Response = {
            Self.decorated(.file(Self.old, for: $0, cutAfter: 200_000), row.first)
        }
        let server = try await home.serve(first)
        let get = ["get", server.url(), "-o", home["out.bin"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        server.setHandler { request in
            if request.field("Range") != nil, let answer = row.answer { return answer(request) }
            let isPlain = request.field("Range") == nil || request.field("If-Range") != nil
            guard isPlain else { return .status("500 Internal Server Error") }
            var whole = Self.new
            whole.ignoresRange = true
            return Self.decorated(.file(whole, for: request, cutAfter: 100_000), row.last)
        }
        await home.run(get).expect(.tryAgain)
        await home.run("show", server.url()).expect(prints: row.words)
        await home.run("log", server.url()).expect(prints: row.words, "restarted")
    }
}
