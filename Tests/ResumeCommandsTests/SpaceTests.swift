import Foundation
import OriginServer
@testable import ResumeCommands
import Synchronization
import TestSupport
import Testing

/// What `get` and `gc` remove to make room, what they refuse, and what they say about it.
@Suite(.timeLimit(.minutes(5)))
struct SpaceTests {
    private let home = Home()

    /// Makes all entries and their jobs unused for some days.
    private func age(_ days: Int) async throws {
        try await home.sql("UPDATE download SET used_at = used_at - \(days) * 86400000 - 1000")
    }

    @Test("B2: an unfinished job stays; an explicit limit refuses what does not fit, and names the ways on")
    func unfinishedJobStays() async throws {
        let url = try await home.leavePartial("model.bin")
        let server = try await home.serve(Sample.whole)
        let get = ["get", server.url(), "-o", home["out.bin"], "--store-max-size"]
        let refused = await home.run(get + ["400k"]).expect(.tryAgain)
        for way in ["'resumectl purge KEY'", "'resumectl gc --max-size SIZE'", "--store-max-size", home.store] {
            #expect(refused.errors.contains(way), "\(refused.errors)")
        }
        let use = "may hold only 409600 bytes, and 200000 bytes of other downloads are in it."
        #expect(refused.errors.contains(use), "\(refused.errors)")
        // More than all of the limit never fits.
        await home.run(get + ["200k"]).expect(.io, hides: "other downloads")
        #expect(try await home.held(url) == Sample.cut && !home.has("out.bin"))
        await home.run(get + ["500k"]).expect(.success)
        #expect(try await home.held(url) == Sample.cut)
    }

    @Test("Under an explicit limit, a job that does not fit yet waits until others have been delivered")
    func turns() async throws {
        let files: [String: (held: Int64, resource: Resource)] = [
            "/a": (1000, Resource(Content(length: 900_000, seed: 1), etag: "\"a\"")),
            "/b": (600_000, Resource(Content(length: 800_000, seed: 2), etag: "\"b\"")),
            "/c": (200_000, Resource(Content(length: 300_000, seed: 3), etag: "\"c\"")),
        ]
        func handler(cuts: Bool) -> @Sendable (OriginRequest) -> Response {
            { request in
                guard let file = files[request.path] else { return .status("404 Not Found") }
                return .file(file.resource, for: request, cutAfter: cuts ? file.held : nil)
            }
        }
        for count in ["1", "3"] {
            let server = try await home.serve(handler(cuts: true))
            for path in files.keys.sorted() {
                await home.run("get", server.url(path), "-P", home[count], "--retries", "0").expect(.tryAgain)
            }
            server.setHandler(handler(cuts: false))
            // Each makes the room that the one before it in the list needs.
            await home.run("resume", "-j", count, "--store-max-size", "911000").expect(.success)
            #expect(try home.names(in: count) == ["a", "b", "c"])
        }
    }

    @Test("B2: what is stale makes room, and each loss is a line on standard error, in jobs and in the log")
    func staleIsRemoved() async throws {
        let url = try await home.leavePartial("model.bin")
        try await age(7)
        let server = try await home.serve(Sample.whole)
        let got = await home.run("get", "-q", server.url(), "-o", home["out.bin"], "--store-max-size", "400k")
        #expect(got.status == .success, "\(got.errors)")
        let line = "removed \(url), 195.3 KiB: room was needed and no others were left; a job that is not done was "
        #expect(got.errors.hasPrefix(line), "\(got.errors)")
        #expect(got.errors.contains("; its download to \(home["model.bin"]) starts over"))
        #expect(try await home.held(url) == nil)
        let jobs = await home.run("jobs").output
        #expect(jobs.contains("its 200000 bytes were removed") && !jobs.contains("kept"), "\(jobs)")
        await home.run("log", url).expect(prints: "evicted")
    }

    @Test("gc --stale removes what get would, and gc the rest; both name what they set back")
    func gcStale() async throws {
        let url = try await home.leavePartial("model.bin")
        let gc = ["gc", "--max-size", "0"]
        #expect(await home.run(gc + ["--stale"]).output.hasPrefix("freed 0 B\n"))
        try await home.sql("UPDATE download SET used_at = used_at - 3600000")
        #expect(await home.run("gc", "--stale", "--max-age", "30m").output.hasPrefix("freed 0 B\n"))
        try await age(7)
        await home.run(gc + ["--stale", "--dry-run"]).expect(prints: "would remove \(url)", "would start over")
        try await age(-7)
        await home.run(gc).expect(prints: "removed \(url)", "starts over with 'resumectl resume'")
        #expect(try await home.held(url) == nil)
    }

    @Test("B1: a restart that has stored its first byte is not requested again by resume")
    func restartIsSpent() async throws {
        try await home.leavePartial()
        let server = try await home.serve { .file(Sample.resource, for: $0, cutAfter: 250_000) }
        await home.run("get", server.url(), "-o", home["out.bin"], "--restart", "--retries", "0").expect(.tryAgain)
        server.setHandler(Sample.whole)
        let count = server.requests.count
        await home.run("resume", server.url()).expect(.success, says: "resumed at 244.1 KiB")
        #expect(server.requests.count == count + 1)
        #expect(Sample.content.matches(try home.bytes("out.bin")))
    }

    @Test("E18: -H @FILE reads no endless file")
    func endlessFields() async throws {
        await home.run("get", "http://127.0.0.1:9/f", "-H", "@/dev/zero").expect(.usage)
        try home.write([UInt8](repeating: 0x0A, count: 17 << 20), to: "fields")
        let long = await home.run("get", "http://127.0.0.1:9/f", "-H", "@\(home["fields"])")
        #expect(long.status == .usage && long.errors.contains("is too long, or not a text file"), "\(long.errors)")
    }

    @Test("E18: get -o - --max-size passes on no byte beyond the limit, also without a length")
    func outputLimit() async throws {
        let endless: @Sendable (OriginRequest) -> Response = { request in
            var resource = Sample.resource
            resource.framing = .chunked(size: 10_000)
            return .file(resource, for: request)
        }
        let server = try await home.serve(endless)
        for options in [[], ["--keep"]] {
            let received = ByteCounter()
            let outcome = await home.stream([server.url(), "--max-size", "100000"] + options) { bytes in
                received.add(bytes.count)
                return 0
            }
            #expect(outcome.status == .refused, "\(outcome.errors)")
            #expect(received.count <= 100_000)
        }
    }
}

/// Counts bytes that several threads pass on.
private final class ByteCounter: Sendable {
    private let bytes = Mutex(0)
    var count: Int { bytes.withLock { $0 } }
    func add(_ count: Int) { bytes.withLock { $0 += count } }
}
