import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Servers that break the rules of HTTP when they answer a range request, and only then.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct InvalidRangeAnswerTests {
    /// The answer of civetweb 1.15 to a range past the end of a truncated file, with or without `If-Range`.
    private static func negativeLength(of resource: Resource) -> Response {
        let length = resource.content.length
        let head = [
            "HTTP/1.1 206 Partial Content", "Cache-Control: max-age=3600", "Content-Type: application/octet-stream",
            "Last-Modified: Mon, 02 Jun 2025 11:00:00 GMT", "Etag: \(resource.etag ?? "")",
            "Content-Length: \(length - Scenario.asked)", "Accept-Ranges: bytes",
            "Content-Range: bytes \(Scenario.asked)-\(length - 1)/\(length)", "Connection: close", "", "",
        ].joined(separator: "\r\n")
        return Response([.raw(Array(head.utf8)), .close])
    }

    private static let garbage = Response([.raw(Array("no answer\r\n\r\n".utf8)), .close])

    @Test("F27, F3: a truncated file whose server then announces a negative length restarts")
    func shorter() async throws {
        let short = Resource(Content(length: 20_000, seed: 4), etag: "\"s\"")
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                request.field("Range") == nil ? .file(short, for: request) : Self.negativeLength(of: short)
            }
            try await origin.get(short, reusing: 0) { $0.retryPolicy.retries = 0 }
            #expect(origin.requests(after: 1).map { $0.field("Range") != nil } == [true, false])
            #expect(try await origin.reasons().contains("range-answer-invalid"))
        }
    }

    @Test(
        "F3: closed ranges are requested before an unchanged file is received whole; stored bytes are compared and kept"
    )
    func unchanged() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { $0.field("Range") == nil ? .file(.old, for: $0) : Self.garbage }
            try await origin.get(.old, reusing: 60_000) { $0.retryPolicy.retries = 0 }
            let ranges = origin.requests(after: 1).map { $0.field("Range") }
            #expect(ranges == ["bytes=55904-", nil, "bytes=55904-99999", nil])
        }
    }

    @Test("F3: after a closed range was sent, the next run begins with one")
    func remembered() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                switch request.field("Range") {
                case nil: .file(.old, for: request)
                case "bytes=55904-"?: Self.garbage
                case _?: .file(.old, for: request, cutAfter: 10_000)
                }
            }
            let error = await origin.failure { $0.retryPolicy.retries = 0 }
            #expect(error?.code == .unreachable)
            let count = origin.server.requests.count
            origin.server.setHandler { .file(.old, for: $0) }
            let result = try await origin.get()
            #expect(try origin.hasDelivered(.old) && result.reusedBytes == 65_904)
            #expect(origin.requests(after: count).map { $0.field("Range") } == ["bytes=61808-99999"])
        }
    }

    @Test("F3: an invalid answer to a request without a range is an ordinary error, and stored bytes are kept")
    func always() async throws {
        try await Origin.afterCut { origin async throws in
            origin.server.setHandler { _ in Self.garbage }
            await origin.fails(.unreachable) { $0.retryPolicy.retries = 2 }
            // The range, and then the whole file as often as it may be tried.
            #expect(origin.requests(after: 1).map { $0.field("Range") != nil } == [true, false, false, false])
            #expect(try await origin.store.totals().receivedBytes == 60_000)
        }
    }

    @Test("F3: an invalid answer to HEAD says nothing about ranges")
    func head() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { $0.method == "HEAD" ? Self.garbage : .file(.old, for: $0) }
            let result = try await origin.get { $0.condition = .head }
            #expect(result.reusedBytes == 60_000)
            #expect(origin.server.requests.last?.field("Range") == "bytes=55904-")
            #expect(try await !origin.reasons().contains("range-answer-invalid"))
        }
    }

    @Test("F3: a further connection with such an answer is not retried; one connection fetches all")
    func segments() async throws {
        let handler = together(2) { request in
            request.field("Range") == nil ? .file(SegmentTests.file, for: request) : Self.garbage
        }
        try await Origin.with(handler) { origin in
            _ = try await SegmentTests.get(origin, connections: 4)
            #expect(try origin.hasDelivered(SegmentTests.file))
            #expect((2...4).contains(origin.server.requests.count))
            #expect(origin.server.requests.count { $0.field("Range") == nil } == 1)
        }
    }
}
