import Foundation
import OriginServer
import TestSupport
import Testing

/// A session of the media manager: a user at its standard input, an origin whose first answers are slow.
@Suite(
    .timeLimit(.minutes(20)), .serialized, .enabled(if: Example.areBuilt, "make examples builds the programs"))
struct MediaManagerTests {
    /// A file becomes slow after twice the bytes that a killed process may lose.
    private static let length: Int64 = 4_000_000

    private static func content(_ name: String) -> Content {
        Content(length: length, seed: UInt64(name.utf8.first ?? 0))
    }

    /// Each file with a name in capitals is slow after its first half, unless its rest is requested; one named "film"
    /// waits.
    private static func handler(_ film: Gate) -> @Sendable (OriginRequest) -> Response {
        { request in
            let name = String(request.path.dropFirst())
            let resource = Resource(content(name), etag: "\"\(name)\"")
            let isSlow = name == name.uppercased() && request.byteRange == nil
            if isSlow { return .slow(resource, for: request, after: length / 2) }
            return .file(resource, for: request, for: name == "film" ? .gate(film) : nil)
        }
    }

    @Test("Newest first; a tapped file pauses the others, is fetched once, and the others then resume")
    func forced() async throws {
        let film = Gate()
        try await Session.with(Self.handler(film)) { session in
            try session.say("show a B C")
            try await session.reports { $0.share(of: "C") >= 50 && $0.share(of: "B") >= 50 }
            try session.say("open film film")
            // The program has begun both before its third report.
            for _ in 1...3 { try await session.reports { _ in film.arrivals == 1 } }
            film.open()
            try await session.sees("opened: \(session.path("film"))\nopened: \(session.path("film"))\n")
            try await session.finish()
            for name in ["a", "B", "C", "film"] {
                #expect(Self.content(name).matches(try session.file(name)), "\(name)")
            }
            #expect(session.requests(for: "film").count == 1, "asked for twice, fetched once")
            #expect(session.asked.prefix(3).sorted() == ["B", "C", "film"] && session.asked.last == "a")
            for name in ["B", "C"] {
                let starts = session.requests(for: name).map { $0.byteRange?.first ?? 0 }
                #expect(starts.count == 2 && starts[1] > Self.length / 4, "\(name): \(starts)")
            }
        }
    }

    @Test("Left and seen again: it resumes at the same offset")
    func revival() async throws {
        try await Session.with(Self.handler(Gate())) { session in
            try session.say("show A")
            try await session.reports { $0.share(of: "A") >= 50 }
            try session.say("leave A")
            try await session.reports { $0.share(of: "A") >= 50 && $0.line(of: "A").contains("cancelled") }
            try session.say("show A")
            try await session.finish()
            #expect(Self.content("A").matches(try session.file("A")))
            let starts = session.requests(for: "A").map { $0.byteRange?.first ?? 0 }
            #expect(starts.count == 2 && starts[1] > Self.length / 4, "\(starts)")
        }
    }

    @Test("Killed and started again: pending downloads finish without a new request")
    func killed() async throws {
        try await Session.with(Self.handler(Gate())) { session in
            try session.say("show a B C")
            try await session.reports { $0.share(of: "C") >= 50 && $0.share(of: "B") >= 50 }
            try await session.kill()
            try session.start()
            try await session.finish()
            for name in ["a", "B", "C"] { #expect(Self.content(name).matches(try session.file(name))) }
            for name in ["B", "C"] {
                let starts = session.requests(for: name).map { $0.byteRange?.first ?? 0 }
                #expect(starts.count == 2 && starts[1] > 0, "\(name): \(starts)")
            }
            #expect(session.requests(for: "a").count == 1)
        }
    }
}

/// The program with a pipe to its standard input.
private final class Session {
    private let folder: TemporaryFolder
    private let server: OriginServer
    private var process: ChildProcess?
    /// Both ends are open here, so that neither opening nor writing waits for the program.
    private var pipe: FileHandle?

    static func with(
        _ handler: @escaping @Sendable (OriginRequest) -> Response, _ body: (Session) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try await OriginServer.withServer(sendBufferSize: 65_536, handler: handler) { server in
                let session = Session(folder: folder, server: server)
                try await Shell.run("mkdir", folder["media"])
                try await Shell.run("mkfifo", folder["input"])
                try session.start()
                do {
                    try await body(session)
                } catch {
                    try await session.kill()
                    throw error
                }
                try await session.kill()
            }
        }
    }

    private init(folder: TemporaryFolder, server: OriginServer) {
        self.folder = folder
        self.server = server
    }

    /// Starts the program; its earlier output is kept.
    func start() throws {
        let pipe = try #require(FileHandle(forUpdatingAtPath: folder["input"]))
        // Otherwise the program would have the other end as well, and never see the end of its input.
        _ = fcntl(pipe.fileDescriptor, F_SETFD, FD_CLOEXEC)
        self.pipe = pipe
        process = try Example.mediaManager.start(
            [folder["media"], server.baseURL], input: folder["input"], output: folder["output"])
    }

    func say(_ line: String) throws {
        try #require(pipe).write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Waits for a text in the program's output.
    func sees(_ text: String) async throws {
        try await wait(for: "the report", while: process) { try self.output.contains(text) }
    }

    /// Requests reports until one of them meets the condition.
    func reports(_ isRight: (Report) -> Bool) async throws {
        let mark = "-       Download Report       -"
        try await wait(for: "the report", while: process) {
            let before = try output.components(separatedBy: mark).count
            try say("report")
            // A complete report, and not an earlier one.
            var parts: [String] = []
            try await wait(for: "the report", while: process) {
                parts = try output.components(separatedBy: mark)
                return parts.count > before && parts.last?.contains("Items:") == true
            }
            return isRight(Report(text: parts.last ?? ""))
        }
    }

    /// Ends the input, and waits for the program to finish.
    func finish() async throws {
        // Not before the program has opened its end, which it has when it prints something.
        try await reports { $0.text.contains("Items:") }
        try pipe?.close()
        let ending = await process?.wait()
        let said = try output
        #expect(ending == .exited(0), "\(said)")
    }

    func kill() async throws {
        process?.send(SIGKILL)
        await process?.wait()
    }

    func path(_ name: String) -> String { folder["media/\(name)"] }

    func file(_ name: String) throws -> [UInt8] { try Files.bytes(path(name)) }

    func requests(for name: String) -> [OriginRequest] { server.requests.filter { $0.path == "/\(name)" } }

    /// The requested names, in order.
    var asked: [String] { server.requests.map { String($0.path.dropFirst()) } }

    private var output: String { get throws { try text(folder["output"]) } }
}

/// The last report of the program.
private struct Report {
    var text: String

    /// The line of a file.
    func line(of name: String) -> Substring {
        text.split(separator: "\n").first { $0.contains("/\(name) (") } ?? ""
    }

    /// The received part of a file, in percent.
    func share(of name: String) -> Double {
        let share = line(of: name).split(separator: "(").dropFirst().first?.prefix { $0 != "%" }
        return share.flatMap { Double($0) } ?? 0
    }
}
