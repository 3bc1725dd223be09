import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// How the server is asked to compare, on the wire.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct ConditionTests {
    @Test("I10: If-Match with the range, and no If-Range")
    func ifMatch() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { .file(.old, for: $0) }
            try await origin.get(.old, reusing: 60_000) { $0.condition = .ifMatch }
            let request = try #require(origin.requests(after: 1).first)
            #expect(request.field("If-Match") == "\"a\"")
            #expect(request.field("If-Range") == nil)
            #expect(request.field("Range") == "bytes=55904-")
        }
    }

    @Test("I10: 412 restarts with the new file and the reason")
    func preconditionFailed() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { .file(.new, for: $0) }
            try await origin.get(.new, reusing: 0) { $0.condition = .ifMatch }
            #expect(origin.requests(after: 1).map { $0.field("If-Match") ?? "none" } == ["\"a\"", "none"])
            #expect(try await origin.reasons().contains("entity-tag-changed"))
        }
    }

    @Test("I10: a server that ignores If-Match is detected by its tag")
    func ifMatchIgnored() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                request.field("Range") == nil ? .file(.new, for: request) : .part(of: .new, from: 55_904)
            }
            try await origin.get(.new, reusing: 0) { $0.condition = .ifMatch }
        }
    }

    @Test("HEAD first: unchanged, then the rest without a condition")
    func headUnchanged() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { .file(.old, for: $0) }
            try await origin.get(.old, reusing: 60_000) { $0.condition = .head }
            let requests = origin.requests(after: 1)
            #expect(requests.map(\.method) == ["HEAD", "GET"])
            #expect(requests.allSatisfy { $0.field("If-Range") == nil })
        }
    }

    @Test("HEAD first: changed, then the whole file, with the reason")
    func headChanged() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { .file(.new, for: $0) }
            try await origin.get(.new, reusing: 0) { $0.condition = .head }
            let requests = origin.requests(after: 1)
            #expect(requests.map(\.method) == ["HEAD", "GET"])
            #expect(requests.last?.field("Range") == nil)
            #expect(try await origin.reasons().contains("entity-tag-changed"))
        }
    }

    @Test("HEAD first: unanswered, then If-Range decides; HEAD may use another URL, and no secret crosses origins")
    func headElsewhere() async throws {
        let secret: HTTPFields = [.authorization: "Bearer secret"]
        try await Origin.afterCut(configure: { $0.headerFields = secret }) { origin in
            origin.server.setHandler { request in
                request.method == "HEAD" ? .status("403 Forbidden") : .file(.old, for: request)
            }
            let other = try DownloadURL("http://localhost:\(origin.server.port)/signed-for-head")
            try await origin.get(.old) { request in
                request.condition = .head
                request.headURL = other
                request.headerFields = secret
            }
            let requests = origin.requests(after: 1)
            #expect(requests.map(\.target) == ["/signed-for-head", "/file"])
            #expect(requests.map { $0.field("Authorization") ?? "none" } == ["none", "Bearer secret"])
            #expect(requests.last?.field("If-Range") == "\"a\"")
        }
    }

    @Test("J04: HEAD and GET disagree: GET decides")
    func headLies() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                request.method == "HEAD"
                    ? .status("200 OK", fields: [("ETag", "\"a\""), ("Content-Length", "60000")])
                    : .file(.new, for: request)
            }
            try await origin.get(.new) { $0.condition = .head }
        }
    }

    /// A hundred thousand bytes without a validator.
    private static func plain(_ seed: UInt64) -> Resource { Resource(Content(length: 200_000, seed: seed)) }

    @Test("A08: without a validator: from the start, unless the caller allows more and 64 KiB are the same")
    func unvalidated() async throws {
        for (allows, reused) in [(false, 0), (true, 150_000)] as [(Bool, Int64)] {
            try await Origin.afterCut(of: Self.plain(1), at: 150_000) { origin in
                origin.server.setHandler { .file(Self.plain(1), for: $0) }
                try await origin.get(Self.plain(1), reusing: reused) { $0.allowsUnvalidated = allows }
            }
        }
    }

    @Test("A08: without a validator: the 64 KiB or the digest reveal a changed file")
    func unvalidatedChanged() async throws {
        try await Origin.afterCut(of: Self.plain(1), at: 150_000) { origin in
            origin.server.setHandler { .file(Self.plain(2), for: $0) }
            try await origin.get(Self.plain(2), reusing: 0) { $0.allowsUnvalidated = true }
            #expect(try await origin.reasons().contains("spot-check-differs"))
        }
        // With a digest nothing before the overlap is compared: the digest decides.
        let (old, new) = (Self.plain(1).bytes, Self.plain(2).bytes)
        let mixed = Resource(Content(Array(new[..<100_000] + old[100_000...])))
        let digest = HTTPDigest(.sha256, bytes: Sample.sha256(mixed))
        try await Origin.afterCut(of: Self.plain(1), at: 150_000) { origin in
            origin.server.setHandler { .file(mixed, for: $0) }
            await origin.fails(.digestMismatch) { $0.digest = digest }
            // The next attempt begins a new blob.
            try await origin.get(mixed, reusing: 0) { $0.digest = digest }
            #expect(try await origin.reasons().contains("digest-mismatch"))
        }
    }
}
