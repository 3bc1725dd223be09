import Foundation
import OriginServer
@testable import ResumeCommands
import Synchronization
import TestSupport
import Testing

/// `docs/kept.md`: each line of its tables is run, and what happens is compared with the line.
@Suite(.timeLimit(.minutes(20)))
struct KeptPageTests {
    /// A line of a table.
    private struct Line: Sendable, CustomTestStringConvertible {
        let situation: String
        /// What happens to the bytes; it begins with a word of ``Fate``.
        let fate: String
        /// What is said: the parts between backticks.
        let said: [String]

        var testDescription: String { situation }
    }

    private static let lines: [Line] = {
        let text = (try? ReadmeTests.text("docs/kept.md")) ?? ""
        return text.split(separator: "\n").compactMap { row in
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard row.hasPrefix("|"), cells.count == 3, cells[0] != "Situation", !cells[0].hasPrefix("---") else {
                return nil
            }
            let said = cells[2].split(separator: "`", omittingEmptySubsequences: false).enumerated()
            return Line(
                situation: cells[0], fate: cells[1],
                said: said.filter { $0.offset % 2 == 1 }.map { String($0.element) })
        }
    }()

    @Test("Each line of the page has a test, and each test a line")
    func complete() {
        #expect(Set(Self.lines.map(\.situation)) == Set(KeptStage.situations.keys))
        #expect(Self.lines.count == KeptStage.situations.count)
    }

    @Test("What happens to the bytes, and what is said, is as on the page", arguments: lines)
    private func line(_ line: Line) async throws {
        let situation = try #require(KeptStage.situations[line.situation])
        let (fate, transcript) = try await TemporaryFolder.with { folder in
            try await KeptStage.with(folder) { stage in (try await situation(stage), stage.transcript) }
        }
        #expect(line.fate.hasPrefix(fate.rawValue), "\(fate.rawValue): \(transcript)")
        for text in line.said { #expect(transcript.contains(text), "\(text) is not in: \(transcript)") }
    }
}

/// What became of the bytes that were stored before.
enum KeptFate: String {
    /// They are there, and the next run requests only the others.
    case kept
    /// They were there until the new version was delivered.
    case replaced
    /// They are gone.
    case removed
    /// The file at the destination is as before.
    case unchanged
}

/// A store with two thirds of a file, and the server of the file.
final class KeptStage: Sendable {
    static let old = Content(length: 300_000, seed: 7)
    static let new = Content(length: 310_000, seed: 8)
    static let cut: Int64 = 200_000
    static let resource = file(old, "\"v1\"")
    static let changed = file(new, "\"v2\"")

    let server: OriginServer
    private let folder: TemporaryFolder
    private let printed = Mutex("")

    private init(_ server: OriginServer, _ folder: TemporaryFolder) { (self.server, self.folder) = (server, folder) }

    var transcript: String { printed.withLock { $0 } }
    var url: String { server.baseURL + "/file.zip" }
    var output: String { folder["file.zip"] }

    static func file(_ content: Content, _ tag: String?) -> Resource {
        var resource = Resource(content, etag: tag)
        resource.contentType = "application/zip"
        return resource
    }

    /// Runs a body with a stage on which two thirds of the file are stored.
    static func with<Result>(
        _ folder: TemporaryFolder, _ body: (KeptStage) async throws -> Result
    ) async throws -> Result {
        try await OriginServer.withServer(handler: { .file(resource, for: $0, cutAfter: cut) }) { server in
            let stage = KeptStage(server, folder)
            #expect(await stage.run("get", stage.url, "-o", stage.output, "--retries", "0") == .tryAgain)
            #expect(try await stage.held() == cut)
            stage.printed.withLock { $0 = "" }
            return try await body(stage)
        }
    }

    @discardableResult
    func run(_ arguments: String...) async -> ResumeCommands.ExitStatus { await run(arguments) }

    @discardableResult
    func run(_ arguments: [String]) async -> ResumeCommands.ExitStatus {
        let context = CommandContext(
            output: { [self] text in printed.withLock { $0 += text } },
            errors: { [self] text in printed.withLock { $0 += text } },
            environment: ["RESUMECTL_STORE": folder["store"], "no_proxy": "127.0.0.1"])
        return await ResumeCtl.run(arguments, in: context)
    }

    /// Downloads the file with the usual options.
    @discardableResult
    func get(_ options: String...) async -> ResumeCommands.ExitStatus {
        await run(["get", url, "-o", output, "--retries", "0"] + options)
    }

    /// How many bytes the store holds of all variants of the file.
    func held() async throws -> Int64 {
        let text = Mutex("")
        let context = CommandContext(
            output: { line in text.withLock { $0 += line } }, errors: { _ in },
            environment: ["RESUMECTL_STORE": folder["store"]])
        _ = await ResumeCtl.run(["list", "--json"], in: context)
        return text.withLock { $0 }.split(separator: "\n").reduce(0) { sum, line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return sum + ((object?["receivedBytes"] as? NSNumber)?.int64Value ?? 0)
        }
    }

    /// Downloads to a folder, in which a file has the name that the URL chooses.
    ///
    /// - Parameters:
    ///   - file: The bytes of that file; nil for the one that is there.
    ///   - status: How the command ends.
    ///   - options: Its options; a folder if there are none that begin with `-o`.
    ///   - resource: What the server sends.
    /// - Returns: What became of the file.
    /// - Throws: The error of a file that cannot be read or written.
    func over(
        _ file: [UInt8]?, _ status: ResumeCommands.ExitStatus, _ options: [String] = [], serving resource: Resource
    ) async throws -> KeptFate {
        server.setHandler { .file(resource, for: $0) }
        if let file { try Files.write(file, to: output) }
        let before = try? Files.bytes(output)
        let place = options.contains("-o") ? [] : ["-P", folder.path]
        #expect(await run(["get", url, "--retries", "0"] + place + options) == status, "\(transcript)")
        let bytes = try Files.bytes(output)
        if bytes == before { return .unchanged }
        #expect(resource.content.matches(bytes))
        return .replaced
    }

    /// Lets the server answer honestly again, and finds out whether only the missing bytes are requested.
    func fate() async throws -> KeptFate {
        server.setHandler { .file(Self.resource, for: $0) }
        let before = server.bodyBytesSent
        #expect(await get() == .success, "\(transcript)")
        #expect(Self.old.matches(try Files.bytes(output)))
        // Most of a whole body may be on its way before the client closes it.
        let isContinued = server.requests.last?.field("Range")?.hasPrefix("bytes=195904-") == true
        return isContinued || server.bodyBytesSent - before < 200_000 ? .kept : .removed
    }

    /// Answers each request in the same way, and then finds out what is left.
    func after(
        _ status: ResumeCommands.ExitStatus, _ options: [String] = [],
        _ handler: @escaping @Sendable (OriginRequest) -> Response
    ) async throws -> KeptFate {
        server.setHandler(handler)
        let found = await run(["get", url, "-o", output, "--retries", "0"] + options)
        #expect(found == status, "\(transcript)")
        return try await fate()
    }
}
