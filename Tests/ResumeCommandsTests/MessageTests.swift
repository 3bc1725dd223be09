import OriginServer
@testable import ResumeCommands
import ResumeHTTP
import TestSupport
import Testing

/// What messages promise, and the commands that they suggest.
@Suite(.timeLimit(.minutes(20)))
struct MessageTests {
    private let home = Home()

    private static let cut: @Sendable (OriginRequest) -> Response = {
        .file(Sample.resource, for: $0, cutAfter: Sample.cut)
    }
    /// A file without a validator.
    private static let plain = Resource(Sample.content)

    @Test("Commands in messages repeat --store", arguments: [true, false])
    func store(isOneWord: Bool) async throws {
        let server = try await home.serve(Self.cut)
        let (url, path) = (server.url(), home["another store"])
        let option = isOneWord ? ["--store=\(path)"] : ["--store", path]
        await home.run(["get", url, "-o", home["out"], "--retries", "0"] + option).expect(.tryAgain)
        let json = try await home.run(["list", "--json"] + option).object
        #expect(json["key"]?.string == url)
        let cancel = await home.run(["cancel", url] + option)
        #expect(cancel.errors.contains("'resumectl purge --store \(ShellWord.quoted(path)) \(url)' removes"))
        let missing = await home.run(["show", "nothing"] + option)
        #expect(missing.errors.contains("Run 'resumectl list --store \(ShellWord.quoted(path))' to"))
        await home.run("show", "nothing").expect(hides: "--store \(ShellWord.quoted(path))")
    }

    @Test("After --max-time, a file that cannot be resumed is not promised to be")
    func maxTime() async throws {
        let server = try await home.serve {
            .file(Self.plain, for: $0, cutAfter: Sample.cut, stall: true)
        }
        let get = ["get", server.url(), "-o", home["out"], "--stall-timeout", "1h"]
        let (outcome, seconds) = await home.runLimited(get) { !$0.errors.contains("; no data was received") }
        #expect(outcome.status == .tryAgain && !outcome.errors.contains("kept"), "\(outcome.errors)")
        #expect(
            outcome.errors.contains("(--max-time). Running the command again restarts the download: the"),
            "\(outcome.errors)")
        let event = try #require(try await home.run(get + ["--json", "--max-time", "\(seconds)"]).json.last)
        #expect(event["event"]?.string == "failed" && event["reason"]?.string == "time-limit")
        #expect(event["resumable"]?.bool == false)
        let log = try await home.run("log", "--json").json.filter { $0["kind"]?.string == "interrupted" }
        #expect(log.allSatisfy { $0["reason"]?.string == "time-limit" } && !log.isEmpty, "\(log)")
    }

    @Test("resume takes the option that the message about an interruption names")
    func unvalidated() async throws {
        let server = try await home.serve {
            .file(Self.plain, for: $0, cutAfter: Sample.cut, stall: true)
        }
        let get = ["get", server.url(), "-o", home["out"], "--stall-timeout", "1h"]
        let task = Task { await home.run(get) }
        try await wait { try await home.held(server.url()) == Sample.cut }
        task.cancel()
        let message = "With --allow-unvalidated, it compares bytes and resumes."
        #expect(await task.value.errors.contains(message))
        server.setHandler { .file(Self.plain, for: $0) }
        await home.run("resume", "--allow-unvalidated").expect(.success, says: "resumed at")
        #expect(Sample.content.matches(try home.bytes("out")))
    }

    @Test("An interruption is counted once for each file")
    func counted() async throws {
        let server = try await home.serve {
            .file(Sample.resource, for: $0, cutAfter: Sample.cut, stall: true)
        }
        let urls = ["/a", "/b", "/c"].map { server.url($0) }
        let task = Task { await home.run(["get", "-j", "1", "-P", home.path, "--stall-timeout", "1h"] + urls) }
        try await wait { server.requests.count == 1 }
        task.cancel()
        let outcome = await task.value
        #expect(outcome.status == .interrupted && !outcome.errors.contains("4 of 3"), "\(outcome.errors)")
    }

    @Test("--max-time also ends the wait for another process that downloads the same file")
    func busy() async throws {
        let server = try await home.serve {
            .file(Sample.resource, for: $0, cutAfter: Sample.cut, stall: true)
        }
        let get = ["get", server.url(), "-o", home["out"], "--stall-timeout", "1h"]
        let first = Task { await home.run(get) }
        try await wait { server.requests.count == 1 }
        await home.run(get + ["--max-time", "1"])
            .expect(.tryAgain, says: "waiting for files that another process", "not complete after 1s (--max-time)")
        let json = await home.run(get + ["--max-time", "1", "--json"])
        #expect(try json.json.first?["event"]?.string == "waiting", "\(json)")
        #expect(try json.json.first?["reason"]?.string == "another-process")
        first.cancel()
        #expect(await first.value.status == .interrupted && server.requests.count == 1)
    }

    @Test(
        "A file with another digest has been written to standard output in part, and the message says so",
        arguments: [[], ["--keep"]])
    func output(options: [String]) async throws {
        let server = try await home.serve(Sample.whole)
        let digest = String(repeating: "0", count: 64)
        await home.stream([server.url(), "--sha256", digest] + options, to: { _ in 0 })
            .expect(.refused, says: "the output is incomplete, and wrong", hides: "nothing was written")
        let held = await home.stream([server.url("/b"), "--sha256", digest, "--hold"], to: { _ in 0 })
        #expect(held.errors.contains("nothing was written"), "\(held.errors)")
    }

    @Test("What has another digest than expected is not delivered without asking the server", arguments: [false, true])
    func otherDigest(isChanged: Bool) async throws {
        let server = try await home.serve {
            .file(isChanged && $0.number > 1 ? Sample.changedResource : Sample.resource, for: $0)
        }
        let get = ["get", server.url(), "-o", home["out"]]
        await home.run(get + ["--sha256", String(repeating: "0", count: 64)]).expect(.refused)
        let next = await home.run(get)
        #expect(next.status == .success && server.requests.count > 1, "\(next.errors)")
        #expect((isChanged ? Sample.changed : Sample.content).matches(try home.bytes("out")))
    }

    @Test("If resume runs a job that fails for good again, it says how to leave that out")
    func failedForGood() async throws {
        let server = try await home.serve { _ in .status("404 Not Found") }
        await home.run("get", server.url(), "-o", home["out"]).expect(.refused, hides: "forget")
        await home.run("resume", home["out"]).expect(.refused, says: "'resumectl forget NAME'")
    }

    @Test("A refusal for lack of credentials names the options")
    func credentials() async throws {
        let server = try await home.serve { _ in .status("401 Unauthorized") }
        await home.run("get", server.url(), "-o", home["out"])
            .expect(says: "401 Unauthorized. Options for credentials are -u, -n, -H")
    }
}
