import OriginServer
import ResumeCommands
import Testing

/// The bar on a terminal, and how much is said.
@Suite(.timeLimit(.minutes(10)))
struct ProgressTests {
    private let home: Home

    init() throws { home = try Home() }

    /// A slow origin, so that the bar is drawn several times.
    private static let slow: @Sendable (OriginRequest) -> Response = { request in
        let cut = request.number == 1 ? Int64(100_000) : nil
        return .file(Sample.resource, for: request, cutAfter: cut, bytesPerSecond: 40_000)
    }

    /// What was drawn: what follows a clearing and has no line end, but for the last.
    private func drawn(_ outcome: Outcome) -> [String] {
        let pieces = outcome.errors.split(separator: Outcome.clearing, omittingEmptySubsequences: false).dropFirst()
        let bars = pieces.dropLast().filter { !$0.contains("\n") } + pieces.suffix(1)
        return bars.map { bar in String(bar.prefix { $0 != "\n" }) }
    }

    @Test func bar() async throws {
        try await OriginServer.withServer(handler: Self.slow) { server in
            let outcome = await home.run("get", server.url(), "-o", home["out.bin"], "--retries", "0", width: 100)
            #expect(outcome.status == .tryAgain)
            let second = await home.run("get", server.url(), "-o", home["out.bin"], width: 100)
            #expect(second.status == .success)
            #expect(second.output.isEmpty)
            let lines = drawn(second)
            #expect(lines.count > 3)
            #expect(lines.allSatisfy { $0.count < 100 })
            #expect(lines.contains { $0.contains("97.7 KiB reused") })
            #expect(lines.contains { $0.contains("/s") })
            #expect(lines.contains { $0.contains(" left") })
            #expect(lines.contains { $0.wholeMatch(of: /\ *[0-9]+% \[#+-+\] .*/) != nil })
            let last = try #require(lines.last)
            #expect(last.firstMatch(of: /^100% \[#+\] 293\.0 KiB of 293\.0 KiB/) != nil, "\(last)")
            // The last thing is a line of its own, so that the prompt is not in it.
            #expect(second.errors.hasSuffix("\n"))
            // The words that come between take the bar's place and leave nothing of it.
            #expect(second.errors.contains("\(home["out.bin"]): done, 293.0 KiB, 97.7 KiB of it held before\n"))
        }
    }

    @Test(arguments: [0, 1, 5, 20, 40, 60, 250])
    func fits(width: Int) async throws {
        let handler: @Sendable (OriginRequest) -> Response = {
            .file(Sample.resource, for: $0, bytesPerSecond: 600_000)
        }
        try await OriginServer.withServer(handler: handler) { server in
            let outcome = await home.run("get", server.url(), "-o", home["out.bin"], width: width)
            #expect(outcome.status == .success)
            let lines = drawn(outcome)
            #expect(!lines.isEmpty)
            #expect(lines.allSatisfy { $0.count < max(width, 1) }, "\(lines)")
        }
    }

    @Test func barOfSeveral() async throws {
        try await OriginServer.withServer(handler: Sample.whole) { server in
            let urls = (1...3).map { server.url("/\($0).bin") }
            let outcome = await home.run(["get", "--directory", home.path] + urls, width: 80)
            #expect(outcome.status == .success)
            let last = try #require(drawn(outcome).last)
            #expect(last.contains("3/3 files"))
            #expect(last.contains("878.9 KiB of 878.9 KiB"))
        }
    }

    @Test func lengthNotKnown() async throws {
        var resource = Sample.resource
        resource.framing = .chunked(size: 30_000)
        let chunked = resource
        try await OriginServer.withServer(handler: { .file(chunked, for: $0) }) { server in
            let outcome = await home.run("get", server.url(), "-o", home["out.bin"], width: 80)
            #expect(outcome.status == .success)
            #expect(!drawn(outcome).isEmpty)
        }
    }

    private static let barless = [["--no-progress"], ["--quiet"], ["--json"]]

    @Test(arguments: barless)
    func noBar(options: [String]) async throws {
        try await OriginServer.withServer(handler: Sample.whole) { server in
            let outcome = await home.run(["get", server.url(), "-o", home["out.bin"]] + options, width: 80)
            #expect(outcome.status == .success)
            #expect(!outcome.errors.contains("\u{1B}") && !outcome.errors.contains("\r"))
        }
    }

    @Test func quiet() async throws {
        try await OriginServer.withServer(handler: Sample.cutOnce) { server in
            let get = ["get", server.url(), "-o", home["out.bin"], "--quiet"]
            let outcome = await home.run(get)
            #expect(outcome.status == .success)
            #expect(outcome.output.isEmpty && outcome.errors.isEmpty)
            // Errors are said all the same, and once.
            server.setHandler { _ in .status("404 Not Found") }
            let failed = await home.run(get)
            #expect(failed.status == .refused)
            #expect(failed.errors.split(separator: "\n").count == 1)
        }
    }

    @Test func verbose() async throws {
        try await OriginServer.withServer(handler: Sample.cutOnce) { server in
            let plain = await home.run("get", server.url(), "-o", home["a.bin"], "--retries", "0")
            #expect(!plain.errors.contains("started"))
            server.setHandler { .file(Sample.changedResource, for: $0, cutAfter: $0.number == 2 ? Sample.cut : nil) }
            let verbose = await home.run("get", server.url(), "-o", home["a.bin"], "--verbose")
            #expect(verbose.status == .success)
            for word in ["started over", "Trying again", "resumed at", "done"] {
                #expect(verbose.errors.contains(word), "\(word)")
            }
            let fresh = await home.run("get", server.url(), "-o", home["b.bin"], "-v")
            #expect(fresh.errors.contains("started, 293.0 KiB"))
        }
    }

    /// A server that says no length, and ends with its connection: the user is told that nobody knows the end.
    @Test func lengthNeverSaid() async throws {
        var resource = Sample.resource
        resource.framing = .untilClose
        let served = resource
        try await OriginServer.withServer(handler: { .file(served, for: $0) }) { server in
            let outcome = await home.run("get", server.url(), "-o", home["out.bin"])
            #expect(outcome.status == .success)
            #expect(outcome.errors.contains("never said how long"))
        }
    }
}
