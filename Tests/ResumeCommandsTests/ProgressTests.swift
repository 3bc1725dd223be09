import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// The progress in a terminal, and which messages are printed.
@Suite(.timeLimit(.minutes(20)))
struct ProgressTests {
    private let home = Home()

    /// The lines that were drawn and replaced later; the text between two carriage returns is one drawing.
    private func drawn(_ outcome: Outcome) -> [String] {
        outcome.errors.split(separator: "\r").flatMap { drawing in
            drawing.split(separator: "\n").filter { $0.hasSuffix("\u{1B}[K") }
                .map { String($0.replacing(/\e\[\d*[AJK]/, with: "")) }
        }
    }

    @Test("One download shows its name, its share, its bytes and the words that remain")
    func one() async throws {
        let gate = Gate()
        let server = try await home.serve { request in
            request.number == 1
                ? .file(Sample.resource, for: request, cutAfter: 100_000)
                : .file(Sample.resource, for: request, pausingAt: 100_000, for: .gate(gate))
        }
        await home.run("get", server.url(), "-o", home["out.bin"], "--retries", "0").expect(.tryAgain)
        let get = Task { await home.run("get", server.url(), "-o", home["out.bin"], width: 100) }
        try await wait(for: home.transcriptSoFar) { home.transcriptSoFar.contains(" KiB of 293.0 KiB") }
        gate.open()
        let second = await get.value
        #expect(second.status == .success)
        #expect(second.output == home["out.bin"] + "\n")
        let lines = drawn(second)
        let pattern = /out\.bin +(\[#*-+\] +)?\d+% +[0-9.]+ KiB of 293\.0 KiB.*/
        #expect(lines.contains { $0.wholeMatch(of: pattern) != nil }, "\(lines)")
        #expect(lines.allSatisfy { $0.hasPrefix("out.bin ") && $0.count < 100 }, "\(lines)")
        // Nothing of the progress remains.
        let end = try #require(second.errors.split(separator: "\r").last)
        let rest = end.replacing(/\e\[\d*[AJK]/, with: "").replacing("\n", with: " ")
        #expect(rest == "\(home["out.bin"]): done, 293.0 KiB, 97.7 KiB of it reused " || rest.isEmpty, "\(rest)")
        #expect(second.message.contains("\(home["out.bin"]): done, 293.0 KiB, 97.7 KiB of it reused "))
    }

    @Test("No line is wider than the terminal", arguments: [0, 1, 5, 20, 40, 60, 250])
    func fits(width: Int) async throws {
        let gate = Gate()
        let server = try await home.serve {
            .file(Sample.resource, for: $0, pausingAt: 150_000, for: .gate(gate))
        }
        let get = Task { await home.run("get", server.url(), "-o", home["out.bin"], width: width) }
        let isDrawn = width < 2
        try await wait { isDrawn || home.transcriptSoFar.contains("\u{1B}[") }
        gate.open()
        let outcome = await get.value
        #expect(outcome.status == .success)
        let lines = drawn(outcome)
        #expect(lines.isEmpty == (width < 2))
        #expect(lines.allSatisfy { $0.count < max(width, 1) }, "\(lines)")
    }

    @Test("Several downloads have a line each, and a total, which remains")
    func several() async throws {
        let gate = Gate()
        let server = try await home.serve { request in
            guard request.path == "/3.bin" else { return .file(Sample.resource, for: request) }
            let head = Step.head(status: "200 OK", fields: [("Content-Length", "300000"), ("ETag", "\"v1\"")])
            return Response([
                head, .body(Sample.content, 0..<150_000), .gate(gate), .body(Sample.content, 150_000..<300_000),
            ])
        }
        let urls = (1...4).map { server.url("/\($0).bin") }
        let get = Task { await home.run(["get", "-P", home.path, "-j", "1"] + urls, width: 120) }
        let text = "2 of 4 files  732.4 KiB of at least 878.9 KiB"
        try await wait(for: home.transcriptSoFar) { home.transcriptSoFar.contains(text) }
        gate.open()
        let outcome = await get.value
        #expect(outcome.status == .success)
        let lines = drawn(outcome)
        #expect(lines.contains { $0.hasPrefix("3.bin ") && $0.contains("50%  146.5 KiB of 293.0 KiB") }, "\(lines)")
        #expect(lines.contains { $0.hasSuffix("1 waiting for a slot") }, "\(lines)")
        #expect(outcome.errors.contains(/(\n|J)4 of 4 files, 1\.1 MiB received in \S+, [0-9.]+ [KM]?i?B\/s\n\e\[J$/))
        for number in 1...4 { #expect(outcome.message.contains("/\(number).bin: done, 293.0 KiB ")) }
    }

    @Test("D9: a connection that is lost four times takes two lines, and all with --verbose")
    func reconnections() async throws {
        let server = try await home.serve { request in
            .file(Sample.resource, for: request, cutAfter: request.number < 5 ? 60_000 : nil)
        }
        let outcome = await home.run("get", server.url(), "-o", home["a.bin"]).expect(.success)
        let lines = outcome.errors.split(separator: "\n")
        #expect(lines.count == 2 && lines.first?.contains("; retrying ") == true, "\(outcome.errors)")
        #expect(lines.last?.hasSuffix(": done, 293.0 KiB, after 4 retries") == true, "\(outcome.errors)")
        server.setHandler { request in
            .file(Sample.changedResource, for: request, cutAfter: request.number < 10 ? 60_000 : nil)
        }
        let verbose = await home.run("get", server.url("/b"), "-o", home["b.bin"], "--verbose").expect(.success)
        let rows = verbose.errors.split(separator: "\n")
        let retries = rows.count { $0.contains("; retrying ") }
        let resumptions = rows.count { $0.contains(": resumed at ") }
        #expect(retries > 2 && retries == resumptions, "\(verbose.errors)")
    }

    @Test("D9: the summary counts all lines of a list, also those that are skipped, that clash, or have no URL")
    func oneNumber() async throws {
        let server = try await home.serve { request in
            request.path == "/4.bin" ? .status("404 Not Found") : .file(Sample.resource, for: request)
        }
        try home.write([1], to: "1.bin")
        let paths = ["1.bin", "2.bin", "3.bin", "4.bin", "other/2.bin"]
        var lines: [String] = paths.map { server.url("/\($0)") }
        lines.append("ftp://h/x")
        try home.write(lines.joined(separator: "\n").utf8, to: "list")
        let get = ["get", "-i", home["list"], "-P", home.path, "--skip-existing"]
        let outcome = await home.run(get, width: 120).expect(.refused)
        #expect(outcome.errors.contains("3 of 6 files, 585.9 KiB received in"), "\(outcome.errors)")
        #expect(outcome.errors.hasSuffix("resumectl: 3 of 6 downloads did not complete\n"), "\(outcome.errors)")
    }

    @Test("Messages that come at different times are all printed, in a low terminal too")
    func messages() async throws {
        let server = try await home.serve { request in
            request.path == "/7.bin" ? .status("404 Not Found") : .file(Sample.resource, for: request)
        }
        let urls = (1...12).map { server.url("/\($0).bin") }
        let outcome = await home.run(["get", "-P", home.path, "-j", "8"] + urls, width: 60, height: 4).expect(.refused)
        for number in 1...12 {
            let line = number == 7 ? "7.bin: the server" : "/\(number).bin: done"
            #expect(outcome.message.ranges(of: line).count == 1, "\(line): \(outcome.errors)")
        }
        #expect(outcome.errors.contains("11 of 12 files, 3.1 MiB received in"))
        #expect(outcome.errors.hasSuffix("resumectl: 1 of 12 downloads did not complete\n"))
    }

    private static let barless = [["--no-progress"], ["--quiet"], ["--json"]]

    @Test(arguments: barless)
    func noBar(options: [String]) async throws {
        let server = try await home.serve(Sample.whole)
        let outcome = await home.run(["get", server.url(), "-o", home["out.bin"]] + options, width: 80).expect(.success)
        #expect(!outcome.errors.contains("\u{1B}") && !outcome.errors.contains("\r"))
    }

    @Test func quiet() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "-o", home["out.bin"], "--quiet"]
        let outcome = await home.run(get).expect(.success)
        #expect(outcome.output.isEmpty && outcome.errors.isEmpty)
        // Errors are said all the same, and once.
        server.setHandler { _ in .status("404 Not Found") }
        #expect(await home.run(get).expect(.refused).errors.split(separator: "\n").count == 1)
    }

    @Test func verbose() async throws {
        let server = try await home.serve(Sample.cutOnce)
        await home.run("get", server.url(), "-o", home["a.bin"], "--retries", "0").expect(hides: "started")
        server.setHandler { .file(Sample.changedResource, for: $0, cutAfter: $0.number == 2 ? Sample.cut : nil) }
        let verbose = await home.run("get", server.url(), "-o", home["a.bin"], "--verbose").expect(.success)
        for word in ["restarted", "retrying", "resumed at", "done"] {
            #expect(verbose.errors.contains(word), "\(word)")
        }
        await home.run("get", server.url(), "-o", home["b.bin"], "-v").expect(says: "started, 293.0 KiB")
    }

    /// A server that says no length, and ends with its connection: the user is told that nobody knows the end.
    @Test func lengthNeverSaid() async throws {
        var resource = Sample.resource
        resource.framing = .untilClose
        let served = resource
        let server = try await home.serve { .file(served, for: $0) }
        await home.run("get", server.url(), "-o", home["out.bin"]).expect(.success, says: "length not verified")
    }

    @Test("A length that only the response to a range has is a length that the server sent")
    func lengthSaidLater() async throws {
        var first = Sample.resource
        first.framing = .chunked(size: 30_000)
        var rest = Sample.resource
        rest.framing = .untilClose
        let resources = [first, rest]
        let server = try await home.serve { request in
            .file(resources[request.number == 1 ? 0 : 1], for: request, cutAfter: request.number == 1 ? 200_000 : nil)
        }
        let outcome = await home.run("get", server.url(), "-o", home["out.bin"]).expect(.success, says: "after 1 retry")
        #expect(!outcome.errors.contains("not verified"), "\(outcome.errors)")
    }

    @Test func verboseWithoutALength() async throws {
        var resource = Sample.resource
        resource.framing = .chunked(size: 30_000)
        let chunked = resource
        let server = try await home.serve { .file(chunked, for: $0) }
        let outcome = await home.run("get", server.url(), "-o", home["out.bin"], "--verbose")
        #expect(outcome.errors.contains("started, length unknown\n"), "\(outcome.errors)")
    }
}
