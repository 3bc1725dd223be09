import OriginServer
import ResumeCommands
import ResumeDownload
import ResumeHTTP
import Testing

/// The bar on a terminal, and how much is said.
@Suite(.timeLimit(.minutes(20)))
struct ProgressTests {
    private let home: Home

    init() throws { home = try Home() }

    /// What was drawn: what follows a clearing and has no line end, but for the last.
    private func drawn(_ outcome: Outcome) -> [String] {
        let pieces = outcome.errors.split(separator: Outcome.clearing, omittingEmptySubsequences: false).dropFirst()
        let bars = pieces.dropLast().filter { !$0.contains("\n") } + pieces.suffix(1)
        return bars.map { bar in String(bar.prefix { $0 != "\n" }) }
    }

    @Test func bar() async throws {
        let handler: @Sendable (OriginRequest) -> Response = { request in
            .file(Sample.resource, for: request, cutAfter: request.number == 1 ? 100_000 : nil)
        }
        try await OriginServer.withServer(handler: handler) { server in
            let outcome = await home.run("get", server.url(), "-o", home["out.bin"], "--retries", "0", width: 100)
            #expect(outcome.status == .tryAgain)
            let second = await home.run("get", server.url(), "-o", home["out.bin"], width: 100)
            #expect(second.status == .success)
            #expect(second.output == home["out.bin"] + "\n")
            let lines = drawn(second)
            #expect(lines.allSatisfy { $0.count < 100 && $0.contains("97.7 KiB reused") }, "\(lines)")
            #expect(lines.first?.wholeMatch(of: /\ *33% \[#+-+\] 97\.7 KiB of 293\.0 KiB .*/) != nil, "\(lines)")
            let last = try #require(lines.last)
            #expect(last.firstMatch(of: /^100% \[#+\] 293\.0 KiB of 293\.0 KiB/) != nil, "\(last)")
            // The last thing is a line of its own, so that the prompt is not in it.
            #expect(second.errors.hasSuffix("\n"))
            // The words that come between take the bar's place and leave nothing of it.
            #expect(second.errors.contains("\(home["out.bin"]): done, 293.0 KiB, 97.7 KiB of it reused\n"))
        }
    }

    /// The rate and the time that is left, by a clock that the test sets.
    @Test func rate() {
        let start = ContinuousClock.now
        var bar = ProgressBar()
        var received: Int64 = 102_400
        func line(_ event: DownloadEvent, after milliseconds: Int) -> String? {
            bar.take(event, of: "file", width: 100, now: start + .milliseconds(milliseconds))
        }
        let size: Int64 = 1_024_000
        let first = line(.resumed(offset: received, totalBytes: size), after: 0)
        #expect(first == " 10% [####------------------------------------] 100.0 KiB of 1000.0 KiB  100.0 KiB reused")
        // Drawn ten times a second at most.
        received += 1024
        #expect(line(.progress(receivedBytes: received, totalBytes: size), after: 99) == nil)
        // No rate is told of less than a fifth of a second.
        #expect(line(.progress(receivedBytes: received, totalBytes: size), after: 100)?.contains("/s") == false)
        received = 307_200
        let middle = line(.progress(receivedBytes: received, totalBytes: size), after: 2000)
        #expect(middle?.hasSuffix("300.0 KiB of 1000.0 KiB  100.0 KiB/s  7s left  100.0 KiB reused") == true)
        // What came more than five seconds ago does not count any more.
        received = 409_600
        let late = line(.progress(receivedBytes: received, totalBytes: size), after: 12_000)
        #expect(late?.contains("10.0 KiB/s  1m0s left") == true, "\(late ?? "none")")
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
            let lines = drawn(outcome)
            // No share and no bar before the end is known, which the last line tells.
            #expect(lines.first?.contains("%") == false && lines.first?.contains("[") == false, "\(lines)")
            #expect(lines.last?.contains("100%") == true && lines.last?.contains("293.0 KiB of 293.0 KiB") == true)
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
            for word in ["restarted", "retrying", "resumed at", "done"] {
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
            #expect(outcome.errors.contains("length not verified"))
        }
    }

    /// What begins anew has nothing yet; what only waits changes nothing.
    @Test func barAfterARestart() {
        var bar = ProgressBar()
        let start = ContinuousClock.now
        var lines: [String] = []
        let events: [DownloadEvent] = [
            .resumed(offset: 512, totalBytes: 1024), .restarted(reason: .restartRequested, totalBytes: 2048), .waiting,
            .progress(receivedBytes: 1024, totalBytes: 2048),
        ]
        for (index, event) in events.enumerated() {
            lines.append(bar.take(event, of: "file", width: 100, now: start + .seconds(index)) ?? "none")
        }
        let shares = lines.map { $0.prefix(4) }
        #expect(shares == [" 50%", "  0%", "  0%", " 50%"], "\(lines)")
        #expect(lines[0].contains("reused") && !lines[1].contains("reused"), "\(lines)")
    }

    @Test func verboseWithoutALength() async throws {
        var resource = Sample.resource
        resource.framing = .chunked(size: 30_000)
        let chunked = resource
        try await OriginServer.withServer(handler: { .file(chunked, for: $0) }) { server in
            let outcome = await home.run("get", server.url(), "-o", home["out.bin"], "--verbose")
            #expect(outcome.errors.contains("started, length unknown\n"), "\(outcome.errors)")
        }
    }
}
