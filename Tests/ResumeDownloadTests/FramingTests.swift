import OriginServer
@testable import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// How a body is framed, and how much of it counts if the framing is wrong.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct FramingTests {
    private static func chunked(_ end: String) -> Response {
        let fields = [("ETag", "\"a\""), ("Transfer-Encoding", "chunked")]
        return Response([
            .head(status: "200 OK", fields: fields), .chunked(Resource.old.content, 0..<60_000, chunkSize: 6000),
            .raw(Array(end.utf8)), .close,
        ])
    }

    /// The first answer is odd, and the next ones are honest.
    private static func odd(_ answer: Response) -> Origin.Handler {
        { $0.number == 1 ? answer : .file(.old, for: $0) }
    }

    @Test(
        "F01, F02, F04: bytes before a cut or garbage are kept, and continued in the same run",
        arguments: [
            ("F01", .file(.old, for: .whole, cutAfter: 60_000)), ("F04: no size", chunked("xyz\r\n")),
            ("F04: overflow", chunked("FFFFFFFFFFFFFFFFFF\r\n")), ("F04: negative", chunked("-5\r\nhello\r\n")),
            ("F03: no last chunk", chunked("")), ("F04: no end of line", chunked("5hello")),
        ] as [(String, Response)])
    func cut(title: String, answer: Response) async throws {
        try await Origin.with(Self.odd(answer)) { origin in
            let result = try await origin.get()
            #expect(try origin.hasDelivered(.old), "\(title)")
            #expect(result.isLengthVerified)
            #expect(origin.server.requests.last?.field("Range") == "bytes=55904-", "\(title)")
        }
    }

    @Test(
        "A folded line that frames the body is refused, since programs read it differently; others are read",
        .curlOnly("the system reads them by its own rules"),
        arguments: [
            ("Transfer-Encoding:\r\n chunked", false), ("Content-Length: 10\r\n 0000", false),
            ("Content-Length: 100000\r\nX-Note: a\r\n\tb", true),
        ])
    func folded(lines: String, isRead: Bool) async throws {
        let head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\n\(lines)\r\n\r\n"
        let answer = Response([.raw(Array(head.utf8)), .body(Resource.old.content, 0..<100_000), .close])
        try await Origin.with({ _ in answer }) { origin in
            if isRead {
                try await origin.get(.old)
            } else {
                let error = await origin.failure { $0.retryPolicy.retries = 0 }
                #expect(error?.reason.text.contains("a misplaced folded line") == true, "\(error?.reason.text ?? "")")
                #expect(try await origin.store.totals().receivedBytes == 0)
            }
        }
    }

    @Test("F05, D08: a body that ends with its connection is complete by the rule, and reported as unverified")
    func closeDelimited() async throws {
        let handler: Origin.Handler = { _ in
            var resource = Resource.old
            resource.framing = .untilClose
            return .file(resource, for: .whole)
        }
        try await Origin.with(handler) { origin async throws in
            #expect(try await !origin.get().isLengthVerified)
            #expect(try origin.hasDelivered(.old))
        }
    }

    @Test(
        "D08: if the length is known, a body that ends early with its connection is cut",
        arguments: [80_000, 40_000])
    func closeDelimitedCut(length: Int64) async throws {
        try await Origin.afterCut { origin async throws in
            origin.server.setHandler { _ in
                Response([
                    .head(status: "200 OK", fields: [("ETag", "\"a\""), ("Connection", "close")]),
                    .body(Resource.old.content, 0..<length), .close,
                ])
            }
            await origin.fails(.unreachable) { $0.retryPolicy.retries = 0 }
            #expect(try await origin.store.totals().receivedBytes == max(length, 60_000))
        }
    }

    @Test("F11: bytes after the announced length belong neither to the file nor to the next answer")
    func surplus() async throws {
        let body = Resource.old.bytes + Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad".utf8)
        let fields = [("ETag", "\"a\""), ("Content-Length", "100000")]
        let answer = Response([.head(status: "200 OK", fields: fields), .raw(body), .close])
        try await Origin.with({ _ in answer }) { origin in
            for _ in 0..<2 {
                try await origin.get(.old)
            }
        }
    }

    @Test(
        "F16, F15, F07 to F10, G09, I16: an invalid message is refused, and nothing of it is stored",
        arguments: [
            "HTTP/1.1 200 OK\r\nETag: \"a\u{0}b\"\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nE Tag: \"a\"\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 2OO OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 099 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello\r\n",
        ])
    func invalid(message: String) async throws {
        try await Origin.with({ _ in Response([.raw(Array(message.utf8)), .close]) }) { origin async throws in
            let error = await origin.failure { $0.retryPolicy.retries = 1 }
            #expect(error?.code == .unreachable || error?.code == .refused, "\(String(describing: error))")
            #expect((1...2).contains(origin.server.requests.count))
            #expect(try await origin.store.totals().receivedBytes == 0)
        }
    }

    @Test(
        "F2: a message that is odd, but has one meaning, is read (RFC 9112, 2.2, 5.2, 6.3)",
        .curlOnly("FoundationNetworking reads them in its own way"),
        arguments: [
            "HTTP/1.1 200 OK\nETag: \"a\"\nContent-Length: 5\n\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\n\n5\nhello\n0\nX-Trailer: 1\n\n",
            "HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\n\tc\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
        ])
    func odd(message: String) async throws {
        try await Origin.with({ _ in Response([.raw(Array(message.utf8)), .close]) }) { origin async throws in
            #expect(try await origin.get().totalBytes == 5 && origin.server.requests.count == 1)
            #expect(try Files.bytes(origin.folder["out"]) == Array("hello".utf8))
        }
    }

    @Test("F18: HTTP/1.0 with Content-Range")
    func http10() async throws {
        try await Origin.afterCut { origin async throws in
            origin.server.setHandler { _ in
                let body = Resource.old.content.bytes(in: 55_904..<100_000)
                let head =
                    "HTTP/1.0 206 Partial Content\r\nETag: \"a\"\r\nContent-Range: bytes 55904-99999/100000\r\n"
                    + "Content-Length: \(body.count)\r\n\r\n"
                return Response([.raw(Array(head.utf8) + body), .close])
            }
            try await origin.get(.old, reusing: 60_000)
        }
    }

    @Test("F21: a trickle does not count as progress for ever")
    func trickle() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { _ in
                var steps = Response.part(from: 55_904).steps
                steps[1] = .trickle(Resource.old.content, 55_904..<100_000, bytesPerStep: 1, milliseconds: 100)
                return Response(steps)
            }
            // A byte every 100 ms: never the 1024 that are required within a timeout.
            await origin.fails(.unreachable, because: "stalled") { request in
                request.retryPolicy.retries = 0
                request.stallTimeout = .milliseconds(700)
            }
        }
    }

    @Test("F20: a stalled body is abandoned at the stall timeout, and not before")
    func stalled() async throws {
        try await Origin.with({ .file(.old, for: $0, cutAfter: 60_000, stall: true) }) { origin in
            let (clock, hasEnded) = (StoppedClock(), Flag())
            let download = Task {
                defer { hasEnded.set() }
                return await origin.failure { request in
                    request.retryPolicy.retries = 0
                    // The head arrives within this time even on a busy machine.
                    request.stallTimeout = .seconds(60)
                    request.clock = { clock.read() }
                }
            }
            try await wait {
                try await origin.store.totals().receivedBytes == 60_000 || hasEnded.isSet
            }
            // While nothing arrives, only the stall watchdog reads the clock.
            for elapsed in [0, 59_999] {
                clock.set(to: .milliseconds(elapsed))
                let reads = clock.reads
                try await wait { clock.reads >= reads + 2 || hasEnded.isSet }
                #expect(!hasEnded.isSet, "after \(elapsed) ms")
            }
            clock.set(to: .milliseconds(60_000))
            let error = await download.value
            #expect(error?.code == .unreachable)
            #expect(error?.reason.code.rawValue == "stalled")
            #expect(try await origin.store.totals().receivedBytes == 60_000)
        }
    }

    @Test("F23: a connection that the server closes instead of answering a second request costs one retry")
    func idleClosed() async throws {
        let handler: Origin.Handler = { request in
            if request.number == 1 { return .status("302 Found", fields: [("Location", "/moved")]) }
            return request.connection == 1 ? Response([.close]) : .file(.old, for: request)
        }
        try await Origin.with(handler) { origin in
            try await origin.get(.old) { $0.retryPolicy.retries = 1 }
            let requests = origin.server.requests
            #expect(requests.prefix(2).map(\.connection) == [1, 1])
            // A transport may retry internally. The engine begins at the URL of the download.
            #expect(
                (3...4).contains(requests.count) && requests.last?.connection == 2,
                "\(requests.map { "\($0.target) on \($0.connection)" })")
        }
    }

    @Test("F24, E05: the body of an unwanted answer is not taken for the next answer")
    func unread() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                guard request.field("Range") != nil else { return .file(.new, for: request) }
                let page = Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad".utf8)
                return .status("416 Range Not Satisfiable", body: page)
            }
            try await origin.get(.new)
        }
    }

    @Test(
        "F25: fields in the trailer change nothing",
        .curlOnly("FoundationNetworking ends the program at a trailer"))
    func trailers() async throws {
        // A Content-Length in a trailer makes the message invalid for NIO's parser: see below.
        let trailer = "0\r\nETag: \"z\"\r\nLast-Modified: x\r\nContent-Range: bytes 0-4/5\r\n\r\n"
        let answer = Response([
            .head(status: "200 OK", fields: [("ETag", "\"a\""), ("Transfer-Encoding", "chunked")]),
            .chunked(Resource.old.content, Resource.old.content.all, chunkSize: 9000), .raw(Array(trailer.utf8)),
        ])
        try await Origin.with({ _ in answer }) { origin async throws in
            #expect(try await origin.get().isLengthVerified && origin.server.requests.count == 1)
            #expect(try origin.hasDelivered(.old))
        }
    }

    @Test(
        "J02: lengths around those of chunks and buffers", arguments: [1, 2, 4095, 4096, 4097, 65_535, 65_536, 262_145])
    func lengths(length: Int64) async throws {
        var resource = Resource(Content(length: length, seed: 3), etag: "\"a\"")
        resource.framing = .chunked(size: 4096)
        let served = resource
        try await Origin.with({ .file(served, for: $0) }) { origin async throws in
            #expect(try await origin.get().totalBytes == length)
            #expect(try origin.hasDelivered(served))
        }
    }

    @Test(
        "F25: fields in the trailer are ignored",
        .curlOnly("FoundationNetworking ends the program at a trailer"))
    func trailer() async throws {
        let fields = [("ETag", "\"a\""), ("Transfer-Encoding", "chunked")]
        let end = "0\r\nContent-Length: 5\r\nETag: \"b\"\r\nContent-Range: bytes 1-2/3\r\n\r\n"
        let answer = Response([
            .head(status: "200 OK", fields: fields),
            .chunked(Resource.old.content, Resource.old.content.all, chunkSize: 6000), .raw(Array(end.utf8)),
        ])
        try await Origin.with({ _ in answer }) { origin async throws in
            #expect(try await origin.get().isLengthVerified && origin.server.requests.count == 1)
            #expect(try origin.hasDelivered(.old))
        }
    }

    @Test("J03: a length that is unknown until the end is learned, even across a cut")
    func learned() async throws {
        let handler: Origin.Handler = { request in
            var resource = Resource.old
            resource.framing = .chunked(size: 5000)
            return .file(resource, for: request, cutAfter: request.number == 1 ? 60_000 : nil)
        }
        try await Origin.with(handler) { origin in
            let result = try await origin.get(.old)
            #expect(result.totalBytes == 100_000)
            #expect(result.isLengthVerified)
        }
    }

    @Test("J05: a length beyond the limit, or beyond the disk, is refused before the first byte is written")
    func tooLong() async throws {
        try await Origin.with({ .file(.old, for: $0) }) { origin async throws in
            await origin.fails(.tooLarge) { $0.maximumLength = 99_999 }
            #expect(try await origin.store.entries().isEmpty)
        }
        let huge = Response([.head(status: "200 OK", fields: [("Content-Length", "\(1 << 60)")]), .hold])
        try await Origin.with({ _ in huge }) { origin in
            do {
                _ = try await origin.get()
                Issue.record("An exabyte was taken.")
            } catch let error as StoreError {
                #expect(error.code == .noSpace)
            }
            #expect(try await origin.store.totals().receivedBytes == 0)
        }
    }
}
