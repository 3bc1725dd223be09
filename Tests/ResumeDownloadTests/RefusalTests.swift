import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import Synchronization
import TestSupport
import Testing

/// Temporary and permanent refusals, on the wire.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct RefusalTests {
    @Test("I01, I02, I13, T32: a new URL continues the download of an expired one", arguments: [401, 403, 407, 451])
    func renewed(status: Int) async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                request.target == "/file?X-Amz-Signature=new" && request.field("X-Token") == "2"
                    ? .file(.old, for: request)
                    : .status("\(status) No", fields: [("WWW-Authenticate", "Bearer")])
            }
            let fresh = try DownloadURL(origin.url + "?X-Amz-Signature=new")
            let asked = Mutex<[Int]>([])
            let name = try #require(HTTPField.Name("X-Token"))
            try await origin.get(.old, reusing: 60_000) { request in
                request.refresh = { refusal in
                    asked.withLock { $0.append(refusal.status) }
                    return RefreshedRequest(url: fresh, headerFields: [name: "2"])
                }
            }
            #expect(asked.withLock { $0 } == [status])
        }
    }

    @Test(
        "The server's own words are reported", .curlOnly("URLSession does not pass them on"),
        arguments: ["508 Resource Limit Is Reached", "503 Down until 14:00", "404 G\u{F6}ne fishing"])
    func ownWords(status: String) async throws {
        try await Origin.with({ _ in .status(status) }) { origin in
            let error = await origin.failure { $0.retryPolicy.retries = 0 }
            #expect(error?.reason.text.contains(status) == true, "\(error?.reason.text ?? "")")
        }
    }

    @Test("Each refusal is recorded once: if bytes are stored, that of the range and that of the whole file")
    func recordedOnce() async throws {
        try await Origin.with({ _ in .status("404 Not Found") }) { origin async throws in
            _ = await origin.failure()
            #expect(try await origin.store.events().map(\.kind) == [.refused])
        }
        try await Origin.afterCut { origin async throws in
            origin.server.setHandler { _ in .status("404 Not Found") }
            _ = await origin.failure()
            #expect(try await origin.store.events().map(\.kind).suffix(3) == [.interrupted, .refused, .refused])
            #expect(origin.requests(after: 1).map { $0.field("Range") != nil } == [true, false])
        }
    }

    @Test("I02: renewal is tried a few times only; a missing renewal is an error, and stored bytes stay")
    func notRenewed() async throws {
        try await Origin.afterCut { origin async throws in
            origin.server.setHandler { _ in .status("403 Forbidden", body: Array("<Error>".utf8)) }
            let asked = Mutex(0)
            let error = await origin.failure { request in
                request.refresh = { _ in
                    asked.withLock { $0 += 1 }
                    return RefreshedRequest()
                }
            }
            #expect(error?.status == 403)
            #expect(asked.withLock { $0 } == 3)
            let none = await origin.failure { $0.refresh = { _ in nil } }
            #expect(none?.status == 403)
            #expect(try await origin.store.totals().receivedBytes == 60_000)
        }
    }

    @Test(
        "I03: 404 and 410 keep stored bytes for a grace period, which ends when the file is back",
        arguments: [404, 410])
    func gone(status: Int) async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { _ in .status("\(status) Gone") }
            #expect(await origin.failure()?.status == status)
            let entry = try #require(try await origin.store.entries().first)
            #expect(entry.receivedBytes == 60_000)
            #expect(entry.objections.goneAt != nil)
            // Within the period nothing is removed.
            #expect(try await origin.store.collect().removed.isEmpty)
            origin.server.setHandler { .file(.old, for: $0, cutAfter: 10_000) }
            _ = await origin.failure { $0.retryPolicy.retries = 0 }
            #expect(try await origin.store.entries().first?.objections.goneAt == nil)
        }
    }

    @Test("I03: after the grace period the entry is removed, with the reason")
    func graceOver() async throws {
        try await TemporaryFolder.with { folder in
            try await OriginServer.withServer(handler: { .file(.old, for: $0, cutAfter: 60_000) }) { server in
                let store = try await DownloadStore.open(
                    at: folder["store"], configuration: .init(gracePeriod: .seconds(-1)))
                let url = server.baseURL + "/file"
                for _ in 0..<2 {
                    await #expect(throws: DownloadError.self) {
                        try await Engine.get(url, to: folder["out"], store: store) { $0.retryPolicy.retries = 0 }
                    }
                    server.setHandler { _ in .status("404 Not Found") }
                }
                #expect(try await store.collect().removed.map(\.reason.code.rawValue) == ["gone"])
                await store.close()
            }
        }
    }

    @Test("I04: 429 with Retry-After is waited for")
    func retryAfter() async throws {
        try await Origin.afterCut { origin in
            let started = ContinuousClock.now
            origin.server.setHandler { request in
                request.number == 2
                    ? .status("429 Too Many Requests", fields: [("Retry-After", "1")]) : .file(.old, for: request)
            }
            let result = try await origin.get { $0.retryPolicy.time = .seconds(60) }
            #expect(result.reusedBytes == 60_000)
            #expect(ContinuousClock.now - started >= .seconds(1))
        }
    }

    @Test("I08: progress renews the retry budget, and lack of progress uses it up")
    func budget() async throws {
        // Each answer brings a little, then the next one nothing.
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                request.number.isMultiple(of: 2)
                    ? .status("503 Service Unavailable") : .file(.old, for: request, cutAfter: 12_000)
            }
            let result = try await origin.get { $0.retryPolicy.retries = 2 }
            #expect(result.totalBytes == 100_000)
            #expect(origin.requests(after: 1).count > 6)
        }
        try await Origin.afterCut { origin in
            origin.server.setHandler { _ in .status("503 Service Unavailable") }
            let error = await origin.fails(.unreachable) { $0.retryPolicy.retries = 2 }
            #expect(error?.status == 503)
            #expect(origin.requests(after: 1).count == 3)
        }
    }

    @Test("B14, T11: replicas that disagree end in a specific error, after a few restarts")
    func unstable() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                .file(request.number.isMultiple(of: 2) ? .new : .old, for: request, cutAfter: 20_000)
            }
            await origin.fails(.unstable) { $0.retryPolicy.retries = 20 }
            #expect(origin.requests(after: 1).count <= 12)
        }
    }

    @Test("B20: two generations, one after the other, are never in one blob")
    func generations() async throws {
        try await Origin.afterCut { origin in
            let first = try await origin.store.entries().first?.chunks.first?.path
            origin.server.setHandler { .file(.new, for: $0, cutAfter: 70_000) }
            _ = await origin.failure { $0.retryPolicy.retries = 0 }
            // The old one stays until the new one is delivered.
            let entries = try await origin.store.entries()
            #expect(Set(entries.map { $0.representation?.entityTag?.rawValue }) == ["\"a\"", "\"b\""])
            let old = try #require(entries.first { $0.representation?.entityTag?.rawValue == "\"a\"" })
            let new = try #require(entries.first { $0.representation?.entityTag?.rawValue == "\"b\"" })
            #expect(old.chunks.first?.path == first && old.receivedBytes == 60_000)
            #expect(new.chunks.first?.path != first && new.receivedBytes == 70_000)
            origin.server.setHandler { .file(.old, for: $0) }
            try await origin.get(.old)
            #expect(origin.server.requests.last?.field("Range") == "bytes=55904-")
        }
    }

    @Test("I15: a refused connection and an unknown host are distinguished, and stored bytes stay")
    func noConnection() async throws {
        try await Origin.afterCut(configure: { $0.key = "file" }) { origin in
            for (url, code) in [
                ("http://127.0.0.1:1/file", "not-connected"), ("http://no-such-host.invalid/file", "name-not-resolved"),
            ] {
                do {
                    _ = try await Engine.get(url, to: origin.folder["out"], store: origin.store) { $0.key = "file" }
                    Issue.record("\(url) was delivered.")
                } catch let error as DownloadError {
                    #expect(error.code == .unreachable)
                    #expect(error.reason.code.rawValue == code)
                }
            }
            #expect(try await origin.store.totals().receivedBytes == 60_000)
        }
    }

    @Test(
        "M01, M02, D13: hints without effect: immutable, no-store, and a false Accept-Ranges",
        arguments: [("Cache-Control", "immutable"), ("Cache-Control", "no-store"), ("Accept-Ranges", "bytes")])
    func hints(name: String, value: String) async throws {
        let hinted: Origin.Handler = { request in
            var resource = Resource.old
            resource.extraFields = [(name, value)]
            return .file(resource, for: request, cutAfter: request.number == 1 ? 60_000 : nil)
        }
        // no-store is addressed to caches (RFC 9111, 5.2.2.5). This partial is part of a file that the user requested,
        // in the user's folder, and fetching it twice would help no one. So the partial is kept.
        try await Origin.with(hinted) { origin in
            try await origin.get(.old)
            let last = try #require(origin.server.requests.last)
            #expect(last.field("Range") == "bytes=55904-")
            #expect(last.field("If-Range") == "\"a\"")
        }
        try await Origin.with({ request in
            var resource = Resource.old
            resource.ignoresRange = true
            return .file(resource, for: request, cutAfter: request.number == 1 ? 60_000 : nil)
        }) { origin in
            try await origin.get(.old)
        }
    }

    @Test(
        "G03, G08: coded answers are refused; on request, stored as sent, resumed, and limited in wire bytes",
        .curlOnly("URLSession decodes what it gets"))
    func coded() async throws {
        let handler: Origin.Handler = { request in
            var resource = Resource.old
            resource.extraFields = [("Content-Encoding", "gzip")]
            return .file(resource, for: request, cutAfter: request.number == 2 ? 60_000 : nil)
        }
        try await Origin.with(handler) { origin in
            #expect(await origin.failure()?.reason.code.rawValue == "content-coded")
            let result = try await origin.get(.old) { request in
                request.acceptEncoding = "gzip"
                request.maximumLength = 100_000
            }
            #expect(result.contentCoding == "gzip")
            #expect(origin.requests(after: 1).map { $0.field("Accept-Encoding") } == ["gzip", "gzip"])
            #expect(origin.server.requests.last?.field("Range") == "bytes=55904-")
        }
    }

    @Test("A server that fails at ranges with no restart left is unstable; stored bytes stay")
    func failedRangesWithoutStarts() async throws {
        try await Origin.afterCut { origin async throws in
            origin.server.setHandler { _ in .status("500 Internal Server Error") }
            let errors = [
                await origin.failure { $0.retryPolicy.restarts = 0 },
                await origin.failure { $0.retryPolicy.restarts = 0 },
                await origin.failure { $0.retryPolicy.retries = 0 },
            ]
            #expect(errors[0]?.code == .unstable && errors[0]?.isResumable == true)
            #expect(errors[0] == errors[1] && errors[0] != errors[2], "errors are equal by code and status")
            #expect(try await origin.store.entries().map(\.receivedBytes) == [60_000])
        }
    }

    @Test("A refused range is reported as such, even if the length is limited and unknown")
    func refusedRange() async throws {
        try await Origin.with({ _ in .status("404 Not Found") }) { origin in
            let error = await origin.failure { request in
                request.selection = RangeSelection("5-")
                request.maximumLength = 10
            }
            #expect(error?.code == .refused && error?.status == 404)
        }
    }
}
