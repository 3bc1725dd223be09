import Foundation
import OriginServer
@testable import ResumeCommands
import Synchronization
import TestSupport
import Testing

/// A folder for one test, with a store in it, and the test's servers; it is removed when the value is released.
final class Home: Sendable {
    /// The folder.
    let path: String
    private let printed = Mutex("")
    private let live = Mutex("")
    private let servers = Servers()

    /// Makes the folder.
    ///
    /// - Parameter path: Its path; nil for a new one.
    init(at path: String? = nil) {
        // As the program does.
        signal(SIGPIPE, SIG_IGN)
        self.path = path ?? FileManager.default.temporaryDirectory.path + "/resumectl-test-\(UUID().uuidString)"
        do {
            try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        } catch {
            fatalError("The test's folder cannot be created: \(error)")
        }
    }

    deinit {
        // What cannot be removed is left to the system's own cleaning.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Starts a server that runs until the end of the test.
    ///
    /// Its handlers must not capture this value, which would keep both.
    func serve(_ handler: @escaping @Sendable (OriginRequest) -> Response) async throws -> OriginServer {
        try await servers.serve(handler)
    }

    /// The store's folder, which commands make where they may.
    var store: String { self["store"] }

    /// The store's database.
    var database: String { "\(store)/store.sqlite" }

    /// Everything that commands have printed so far, on both streams.
    var transcript: String { printed.withLock { $0 } }

    /// Everything that commands have printed, those that still run included.
    var transcriptSoFar: String { live.withLock { $0 } }

    /// The path of a name in the folder.
    subscript(name: String) -> String { "\(path)/\(name)" }

    /// Runs a command line on the store, and holds its output against what the contract says of each command.
    ///
    /// - Parameters:
    ///   - arguments: Without the program's name.
    ///   - environment: Replaces the one that names the store.
    ///   - width: How wide the terminal on standard error is; nil for none.
    ///   - height: How many rows that terminal has.
    ///   - outputWidth: How wide the terminal on standard output is; nil for none.
    ///   - confirm: Answers questions; nil if there is no terminal to ask in.
    ///   - location: Where issues are reported.
    /// - Returns: The status and what was printed.
    @discardableResult
    func run(
        _ arguments: String..., environment: [String: String]? = nil, width: Int? = nil, height: Int = 24,
        outputWidth: Int? = nil, confirm: (@Sendable (String) -> Bool)? = nil,
        at location: SourceLocation = #_sourceLocation
    ) async -> Outcome {
        await run(
            arguments, environment: environment, width: width, height: height, outputWidth: outputWidth,
            confirm: confirm, at: location)
    }

    @discardableResult
    func run(
        _ arguments: [String], environment: [String: String]? = nil, width: Int? = nil, height: Int = 24,
        outputWidth: Int? = nil, confirm: (@Sendable (String) -> Bool)? = nil,
        at location: SourceLocation = #_sourceLocation
    ) async -> Outcome {
        let output = Recorder()
        let errors = Recorder()
        var context = CommandContext(
            output: { [self] in
                output.append($0)
                note($0)
            },
            errors: { [self] in
                errors.append($0)
                note($0)
            },
            environment: environment ?? ["RESUMECTL_STORE": store])
        context.terminalSize = { width.map { Terminal.Size(width: $0, height: height) } }
        context.outputWidth = outputWidth
        context.confirm = confirm
        let status = await ResumeCtl.run(arguments, in: context)
        let outcome = Outcome(arguments: arguments, status: status, output: output.text, errors: errors.text)
        printed.withLock { $0 += outcome.output + outcome.errors }
        outcome.check(arguments, isTerminal: width != nil, at: location)
        return outcome
    }

    private func note(_ text: String) { live.withLock { $0 += text } }

    /// Runs a command with `--max-time`, which counts from its start, until the time is enough for what must happen
    /// first: on a busy machine, a second may pass before any data.
    ///
    /// - Parameters:
    ///   - arguments: Without the option.
    ///   - isEnough: Whether it has happened.
    /// - Returns: The last outcome, and the limit in seconds.
    func runLimited(
        _ arguments: [String], until isEnough: (Outcome) async throws -> Bool
    ) async rethrows -> (outcome: Outcome, seconds: Int) {
        var seconds = 1
        while true {
            let outcome = await run(arguments + ["--max-time", "\(seconds)"])
            guard try await !isEnough(outcome), seconds < 128 else { return (outcome, seconds) }
            seconds *= 2
        }
    }

    /// Runs `get --output -`, and passes on the bytes of the file.
    ///
    /// - Parameters:
    ///   - arguments: The arguments after that.
    ///   - write: Takes the bytes, and returns the number of an error, or 0.
    /// - Returns: The status, and what was printed on standard error.
    func stream(_ arguments: [String], to write: @escaping @Sendable ([UInt8]) -> Int32) async -> Outcome {
        let errors = Recorder()
        var context = CommandContext(
            output: { errors.append("on standard output: \($0)") }, errors: { errors.append($0) },
            environment: ["RESUMECTL_STORE": store])
        context.bytes = write
        let status = await ResumeCtl.run(["get", "-o", "-"] + arguments, in: context)
        return Outcome(arguments: arguments, status: status, output: "", errors: errors.text)
    }

    /// Whether there is something of that name in the folder.
    func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: self[name]) }

    /// The bytes of a file of the folder.
    func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: self[name])))
    }

    /// Writes a file of the folder.
    func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: self[name]))
    }

    /// Removes something from the folder.
    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: self[name]) }

    /// Makes a symbolic link in the folder.
    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: self[name], withDestinationPath: target)
    }

    /// The permission bits of something in the folder.
    func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: self[name])
        return try #require(attributes[.posixPermissions] as? Int)
    }

    /// Makes a folder in the folder.
    func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: self[name], withIntermediateDirectories: true)
    }

    /// The names in the folder or in one below it, sorted.
    func names(in name: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self[name]).flatMap { entry -> [String] in
            // A folder of blobs: its name is two hexadecimal digits.
            guard name == "store/blobs", entry.count == 2 else { return [entry] }
            let blobs = try FileManager.default.contentsOfDirectory(atPath: self["\(name)/\(entry)"])
            return blobs.map { "\(entry)/\($0)" }
        }.sorted()
    }

    /// Every byte of every file of the store, database and log included.
    ///
    /// Only for when no command runs: closing a database that SQLite has open drops its locks.
    func storedBytes() throws -> [UInt8] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: store).sorted()
        return try names.flatMap { name in
            var isFolder: ObjCBool = false
            let isThere = unsafe FileManager.default.fileExists(atPath: "\(store)/\(name)", isDirectory: &isFolder)
            return isThere && !isFolder.boolValue ? try bytes("store/\(name)") : []
        }
    }

    /// Records copies of the first job with other keys and destinations.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - isDone: Whether they are done.
    /// - Throws: `Shell.Failure` if `sqlite3` fails.
    func plantJobs(_ count: Int, done isDone: Bool = false) async throws {
        try await sql(
            """
            WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(count))
            INSERT INTO queued (queue, key, url, destination, state, ended, priority, forced, position, terms, list)
            SELECT queue, key || n, url, destination || n, \(isDone ? "'failed', 'done'" : "'waiting', NULL"), 0, 0, n,
                terms, list
            FROM number, queued WHERE id = (SELECT min(id) FROM queued)
            """)
    }

    /// Runs SQL on the store's database with the program `sqlite3`, so in another process.
    func sql(_ statement: String) async throws {
        try await Shell.run("sqlite3", database, statement)
    }
}

/// Text that is written from several tasks.
private final class Recorder: Sendable {
    private let state = Mutex("")
    var text: String { state.withLock { $0 } }
    func append(_ text: String) { state.withLock { $0 += text } }
}
