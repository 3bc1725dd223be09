import Foundation
import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// Lists of URLs that are read and recorded while their first downloads run.
@Suite(.timeLimit(.minutes(20)))
struct StreamedListTests {
    private let home = Home()

    private static let handler: @Sendable (OriginRequest) -> Response = { request in
        .file(Resource(Content("the bytes of \(request.path)"), etag: "\"\(request.path)\""), for: request)
    }

    /// Serves like ``handler``, and nothing before a gate is open.
    private static func gated(_ gate: Gate) -> @Sendable (OriginRequest) -> Response {
        { request in
            var response = handler(request)
            response.steps.insert(.gate(gate), at: 0)
            return response
        }
    }

    private func jobs(_ options: String...) async throws -> Int {
        try await home.run(["jobs", "--json"] + options).json.count
    }

    @Test("A URL is downloaded as soon as its line has been written to a pipe; an interruption does not wait for more")
    func pipe() async throws {
        let server = try await home.serve(Self.handler)
        #expect(mkfifo(home["list"], 0o600) == 0)
        let arguments = ["get", "-i", home["list"], "-P", home.path]
        let get = Task { [home] in await home.run(arguments) }
        // Opens without a reader, and keeps the pipe open.
        let pipe = open(home["list"], O_RDWR)
        defer { close(pipe) }
        for name in ["a", "b"] {
            let line = "\(server.url("/\(name)"))\n"
            #expect(write(pipe, line, line.utf8.count) == line.utf8.count)
            try await wait { home.has(name) }
        }
        get.cancel()
        #expect(await get.value.status == .interrupted)
    }

    @Test("The whole list is in the store while its first downloads run, each job once")
    func ahead() async throws {
        let gate = Gate()
        let server = try await home.serve(Self.gated(gate))
        // More than a read, more than a transaction, and lines that are repeated in other ones.
        let paths = (0..<1200).map { "/\($0)-\(String(repeating: "x", count: 100))" }
        let lines = (paths + paths.reversed()).map { server.url($0) }
        try home.write(lines.joined(separator: "\n").utf8, to: "list.txt")
        let get = ["get", "-i", home["list.txt"], "-P", home["files"], "-j", "8", "--stall-timeout", "900"]
        let first = Task { [home] in await home.run(get) }
        try await wait { try await jobs() == paths.count }
        first.cancel()
        #expect(await first.value.status == .interrupted)
        #expect(server.requests.count == 8)
        gate.open()
        await home.run("resume", "-j", "8", "--json").expect(.success)
        #expect(try home.names(in: "files").count == paths.count)
        // In another order: the jobs have their IDs no longer in the order of the list.
        try home.write(lines.reversed().joined(separator: "\n").utf8, to: "list.txt")
        let count = server.requests.count
        let again = await home.run(get)
        #expect(again.status == .success, "\(again.errors.suffix(300))")
        #expect(server.requests.dropFirst(count).count { $0.field("If-None-Match") != nil } == paths.count)
        #expect(try await jobs("--all") == paths.count)
    }

    @Test("A job that is cancelled or forgotten before its turn is a failure of the run that chose it")
    func cancelledMeanwhile() async throws {
        let gate = Gate()
        let server = try await home.serve(Self.gated(gate))
        try home.write((0..<6).map { server.url("/\($0)") }.joined(separator: "\n").utf8, to: "list.txt")
        let get = Task { [home] in await home.run("get", "-i", home["list.txt"], "-P", home.path, "-j", "1") }
        try await wait { server.requests.count == 1 }
        await home.run("cancel", server.url("/3")).expect(.success)
        await home.run("forget", server.url("/4")).expect(.success)
        gate.open()
        let outcome = await get.value
        #expect(outcome.status == .tryAgain)
        #expect(outcome.errors.contains("\(server.url("/3")): another process has cancelled"), "\(outcome.errors)")
        #expect(outcome.errors.hasSuffix("resumectl: 2 of 6 downloads did not complete\n"), "\(outcome.errors)")
        #expect(["0", "1", "2", "5"].allSatisfy { home.has($0) } && !home.has("3") && !home.has("4"))
    }

    @Test("A list that cannot be read to its end is an error; what was read is downloaded")
    func unreadable() async throws {
        let server = try await home.serve(Self.handler)
        let lines = (0..<600).map { server.url("/\($0)") } + [String(repeating: "x", count: 2 << 20)]
        try home.write(lines.joined(separator: "\n").utf8, to: "list.txt")
        let outcome = await home.run("get", "-i", home["list.txt"], "-P", home["files"], "-j", "8").expect(.refused)
        #expect(outcome.errors.contains("line 601: too long for a URL"), "\(outcome.errors.suffix(300))")
        #expect(try home.names(in: "files").count == 500)
    }

    @Test("Files of the same name are numbered without gaps, however many there are")
    func numbered() async throws {
        let server = try await home.serve(Self.handler)
        let paths = (0..<700).map { "/\($0)/x.bin" }
        try home.write(paths.map { server.url($0) }.joined(separator: "\n").utf8, to: "list.txt")
        let get = ["get", "-i", home["list.txt"], "-P", home["files"], "-j", "8", "--auto-rename"]
        for _ in 1...2 {
            let outcome = await home.run(get)
            #expect(outcome.status == .success, "\(outcome.errors.suffix(300))")
            #expect(try home.names(in: "files").count == 700)
            for number in [1, 2, 499, 500, 699] {
                let bytes = try home.bytes("files/x.\(number).bin")
                #expect(Content("the bytes of \(paths[number])").matches(bytes), "\(number)")
            }
        }
    }
}
