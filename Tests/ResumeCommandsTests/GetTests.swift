import Foundation
import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// `get`: a fresh download, one that goes on, and one that starts over.
@Suite(.timeLimit(.minutes(20)))
struct GetTests {
    private let home = Home()

    @Test func fresh() async throws {
        let server = try await home.serve(Sample.whole)
        let outcome = await home.run("get", server.url(), "--output", home["out.bin"]).expect(.success)
        // The path, for another program.
        #expect(outcome.output == home["out.bin"] + "\n")
        #expect(outcome.errors == "\(home["out.bin"]): done, 293.0 KiB\n")
        #expect(Sample.content.matches(try home.bytes("out.bin")))
        #expect(server.requests.count == 1)
        #expect(server.requests.first?.field("Range") == nil)
        // Nothing is left of it but the log, and nothing beside the file.
        #expect(try home.names() == ["out.bin", "store"])
        #expect(try home.names(in: "store/blobs").isEmpty)
        #expect(await home.run("list").output.isEmpty)
    }

    @Test func anEmptyFile() async throws {
        let server = try await home.serve { .file(Resource(Content("")), for: $0) }
        await home.run("get", server.url(), "--output", home["out.bin"]).expect(.success)
        #expect(try home.bytes("out.bin").isEmpty)
    }

    @Test func resumedByTheNextRun() async throws {
        let server = try await home.serve(Sample.cutOnce)
        await home.run("get", server.url(), "--output", home["out.bin"], "--retries", "0")
            .expect(.tryAgain, says: "kept")
        #expect(!home.has("out.bin"))

        await home.run("get", server.url(), "--output", home["out.bin"])
            .expect(.success, says: "resumed at 195.3 KiB of 293.0 KiB", "195.3 KiB of it reused")
        #expect(Sample.content.matches(try home.bytes("out.bin")))
        // A few KiB are asked for again, to be compared.
        let request = try #require(server.requests.last)
        let firstByte = try #require(request.byteRange?.first)
        #expect(firstByte < Sample.cut && firstByte >= Sample.cut - 65536)
        #expect(request.field("If-Range") == "\"v1\"")
    }

    @Test func resumedWithinTheRun() async throws {
        let server = try await home.serve(Sample.cutOnce)
        await home.run("get", server.url(), "--output", home["out.bin"], "--retries", "1")
            .expect(.success, says: "retrying at once", ", after 1 retry\n", hides: "resumed at")
        #expect(Sample.content.matches(try home.bytes("out.bin")))
        #expect(server.requests.count == 2)
    }

    @Test func startedOverAfterAChange() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "--output", home["out.bin"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        // Another file by now, and cut as well: so that there is something to show.
        server.setHandler { .file(Sample.changedResource, for: $0, cutAfter: 100_000) }
        await home.run(get).expect(.tryAgain, says: "restarted", "its ETag was \"v1\" and is now \"v2\"")

        await home.run("show", server.url()).expect(prints: "its ETag was \"v1\" and is now \"v2\"")
        await home.run("log", server.url())
            .expect(prints: "restarted", "its ETag was \"v1\" and is now \"v2\"")
        let events = try await home.run("log", server.url(), "--json").json
        let restart = try #require(events.first { $0["kind"]?.string == "restarted" })
        #expect(restart["reason"]?.string == "entity-tag-changed")
        #expect(restart["bytes"]?.integer == Sample.cut)

        server.setHandler { .file(Sample.changedResource, for: $0) }
        await home.run(get).expect(.success)
        #expect(Sample.changed.matches(try home.bytes("out.bin")))
    }

    @Test func restart() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "--output", home["out.bin"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        let second = await home.run(get + ["--restart", "--json"]).expect(.success)
        #expect(server.requests.last?.field("Range") == nil)
        let first = try #require(try second.json.first)
        #expect(first["event"]?.string == "restarted" && first["reason"]?.string == "restart-requested")
        #expect(try second.json.last?["reusedBytes"]?.integer == 0)
        #expect(Sample.content.matches(try home.bytes("out.bin")))
        let log = try await home.run("log", "--json").json
        #expect(log.contains { $0["reason"]?.string == "restart-requested" && $0["bytes"]?.integer == Sample.cut })
    }

    @Test func anExistingFileIsReplacedOnlyByTheWhole() async throws {
        try home.write("old".utf8, to: "out.bin")
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "--output", home["out.bin"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        #expect(try home.bytes("out.bin") == Array("old".utf8))
        await home.run(get).expect(.success)
        #expect(Sample.content.matches(try home.bytes("out.bin")))
    }

    /// Whether somebody waits for a download, which is a lock of a byte behind the first one.
    private func isAwaited() -> Bool {
        let path = "\(home.store)/waiters"
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_start = 1
        // F_OFD_GETLK, which Swift's module of the C library does not have.
        return fcntl(descriptor, 36, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }

    /// A second download of the same file waits for the first one, and the origin is asked once.
    @Test func oneOriginRequestForTwoRuns() async throws {
        let rest = Gate()
        let server = try await home.serve {
            .file(Sample.resource, for: $0, pausingAt: 100_000, for: .gate(rest))
        }
        // The gate may stay closed for long on a busy machine, which is no stall.
        let get = ["get", server.url(), "--stall-timeout", "1h", "--output"]
        let first = Task { await home.run(get + [home["a.bin"]]) }
        try await wait { server.bodyBytesSent > 0 }
        #expect(!isAwaited())
        let second = Task { await home.run(get + [home["b.bin"]]) }
        // The first one does not end before the second one waits: it says so before it holds the lock that shows it.
        try await wait { home.transcriptSoFar.contains("waiting for another download") }
        try await wait { isAwaited() }
        rest.open()
        #expect(await first.value.status == .success)
        #expect(await second.value.status == .success)
        #expect(await second.value.errors.contains("waiting for another download"))
        #expect(server.requests.count == 1)
        #expect(Sample.content.matches(try home.bytes("a.bin")))
        #expect(Sample.content.matches(try home.bytes("b.bin")))
    }
}
