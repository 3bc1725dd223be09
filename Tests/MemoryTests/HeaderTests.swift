import OriginServer
import TestSupport
import Testing

/// Heads that are too long, never end, or never arrive.
@Suite(.serialized, .timeLimit(.minutes(20)), .enabled(if: Bound.isMeasured, "needs /proc and Python"))
struct HeaderTests {
    private let servers = Servers()

    /// A head, as text.
    struct Head: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var text: String
        /// Whether it is within the limits: 2,000 lines, 256 KiB in all.
        var isTaken = false
    }

    private static let start = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
    private static let longHeads: [Head] = [
        Head(
            testDescription: "200 kB in fields of 8 kB",
            text: (1...25).map { "X-\($0): \(String(repeating: "a", count: 8000))\r\n" }.joined(), isTaken: true),
        Head(testDescription: "a field of 2 MB", text: "X: \(String(repeating: "a", count: 2_000_000))\r\n"),
        Head(testDescription: "10 000 fields", text: (1...10_000).map { "X-\($0): a\r\n" }.joined()),
    ]

    @Test("F14: a long head is accepted, or refused with the reason", arguments: longHeads)
    func long(head: Head) async throws {
        let idle = try await MeasuredGet.idlePeak()
        let server = try await servers.serve { _ in Response([.raw(Array("\(Self.start)\(head.text)\r\nbody".utf8))]) }
        let get = try await MeasuredGet.run("\(server.baseURL)/file")
        expectBounded(get, over: idle)
        #expect(get.status == (head.isTaken ? 0 : 75), "\(get.text)")
        #expect(get.delivered == (head.isTaken ? 4 : nil))
        #expect(get.text.contains("header") == !head.isTaken, "\(get.text)")
    }

    private static let endlessHeads: [(head: Head, piece: String)] = [
        (Head(testDescription: "fields", text: start), "X-Field: value\r\n"),
        (Head(testDescription: "the same field", text: start), "Set-Cookie: a=b\r\n"),
        (Head(testDescription: "a value", text: start + "X: "), "aaaaaaaaaaaaaaaa"),
        (Head(testDescription: "a name", text: start), "aaaaaaaaaaaaaaaa"),
        (Head(testDescription: "space before a value", text: start + "X:"), "                "),
        (Head(testDescription: "a reason phrase", text: "HTTP/1.1 200 "), "aaaaaaaaaaaaaaaa"),
        (Head(testDescription: "empty lines before the head", text: ""), "\r\n\r\n\r\n\r\n"),
        (Head(testDescription: "interim heads of many fields", text: "HTTP/1.1 103 A\r\n"), "X: a\r\n"),
        (Head(testDescription: "folded lines", text: start + "X: a\r\n"), " a\r\n"),
    ]

    @Test("F14: a head that never ends is refused with the reason", arguments: endlessHeads.indices)
    func endless(index: Int) async throws {
        let (head, piece) = Self.endlessHeads[index]
        let idle = try await MeasuredGet.idlePeak()
        let server = try await servers.serve { _ in EndlessAnswer.text(piece, after: head.text) }
        print("an endless head: \(head.testDescription)")
        let get = try await MeasuredGet.run("\(server.baseURL)/file", ["--stall-timeout", "120"])
        expectBounded(get, over: idle)
        #expect(get.status == 75, "\(get.text)")
        #expect(get.delivered == nil)
        #expect(get.text.contains("header") || get.text.contains("invalid HTTP"), "\(get.text)")
    }

    @Test("A proxy's answer to CONNECT that never ends is refused with the reason", arguments: endlessHeads.indices)
    func tunnel(index: Int) async throws {
        let (head, piece) = Self.endlessHeads[index]
        let idle = try await MeasuredGet.idlePeak()
        let proxy = try await servers.serve { _ in EndlessAnswer.text(piece, after: head.text) }
        print("a proxy's endless head: \(head.testDescription)")
        let get = try await MeasuredGet.run(
            "https://origin.invalid/file", wrapper: ["env", "https_proxy=\(proxy.baseURL)"])
        expectBounded(get, over: idle)
        #expect(get.status == 75, "\(get.text)")
        #expect(get.text.contains("header") || get.text.contains("invalid HTTP"), "\(get.text)")
        #expect(proxy.requests.map(\.target) == ["origin.invalid:443"])
    }

    @Test("F21, F22: a head that arrives byte by byte, or never, times out", arguments: [true, false])
    func slow(isTrickle: Bool) async throws {
        let idle = try await MeasuredGet.idlePeak()
        let server = try await servers.serve { _ in
            isTrickle ? EndlessAnswer.trickle(Self.start, milliseconds: 1000) : Response([.hold])
        }
        let get = try await MeasuredGet.run("\(server.baseURL)/file", ["--stall-timeout", "2"])
        expectBounded(get, over: idle)
        #expect(get.status == 75)
        #expect(get.seconds >= 2)
        #expect(get.text.contains("did not respond within 2"), "\(get.text)")
    }

    @Test("F13: endless interim answers are refused", arguments: [true, false])
    func endlessHints(isFast: Bool) async throws {
        let idle = try await MeasuredGet.idlePeak()
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
        let server = try await servers.serve { _ in
            guard !isFast else { return EndlessAnswer.text(hint, after: "") }
            let steps = [Step.raw(Array(hint.utf8)), .pause(milliseconds: 50)]
            return Response((0..<2000).flatMap { _ in steps } + [.hold])
        }
        let get = try await MeasuredGet.run("\(server.baseURL)/file", ["--stall-timeout", isFast ? "120" : "2"])
        expectBounded(get, over: idle)
        #expect(get.status == 75)
        #expect(get.delivered == nil)
        // Each is a sign of life.
        #expect(get.text.contains("more than 100 interim responses"), "\(get.text)")
    }

    @Test("F13: some interim answers before the answer are ignored")
    func someHints() async throws {
        let idle = try await MeasuredGet.idlePeak()
        let hint = Step.head(status: "103 Early Hints", fields: [("Link", "</style.css>; rel=preload")])
        let resource = Resource(Content(length: 100_000, seed: 1), etag: "\"v1\"")
        let server = try await servers.serve { request in
            let steps = [.head(status: "100 Continue", fields: [])] + Array(repeating: hint, count: 10)
            return Response(steps + Response.file(resource, for: request).steps)
        }
        let get = try await MeasuredGet.run("\(server.baseURL)/file")
        expectBounded(get, over: idle)
        #expect(get.status == 0, "\(get.text)")
        #expect(get.delivered == 100_000)
    }
}
