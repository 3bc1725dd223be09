internal import Foundation
internal import TestSupport

/// A case on a copy of the store: plants, runs the commands, rebuilds, and checks everything.
struct CaseRun {
    let example: FuzzCase
    let folder: TemporaryFolder
    let origin: String
    let programs: Programs
    private(set) var violations: [String] = []
    /// The exit statuses, counted.
    private(set) var statuses: [Int32: Int] = [:]
    private(set) var runs = 0

    /// The programs that are run.
    struct Programs: Sendable {
        var resumectl: String
        /// The fuzzer itself, which runs the library in a separate process.
        var library: String
    }

    /// The time limit of one command, in seconds; a busy machine must not count as a hang.
    static let patience = 300
    /// The valid exit statuses of `resumectl`.
    private static let known: Set<Int32> = [0, 1, 65, 66, 73, 74, 75]

    init(_ example: FuzzCase, in folder: TemporaryFolder, origin: String, programs: Programs) {
        (self.example, self.folder, self.origin, self.programs) = (example, folder, origin, programs)
    }

    private var store: String { folder["store"] }

    /// Paths beside the store that must not be touched.
    static func forbidden(in folder: TemporaryFolder) -> [String] {
        ["outside", "elsewhere", "elsewhere/file"].map { folder[$0] }
    }

    mutating func run(on pristine: PristineStore) async throws {
        try await Shell.run("cp", "-a", example.isHot ? pristine.hot : pristine.closed, store)
        try Files.write(Array("outside".utf8), to: folder["outside"])
        try FileManager.default.createDirectory(atPath: folder["elsewhere"], withIntermediateDirectories: false)
        try Files.write(Array("elsewhere".utf8), to: folder["elsewhere/file"])
        for step in example.steps { try await plant(step, on: pristine) }
        let before = try snapshot()
        for command in example.commands {
            try await perform(command)
            try compare(before, after: "\(command)")
        }
        try await rebuild()
        try compare(before, after: "doctor --rebuild")
    }

    // MARK: Planting

    private func plant(_ step: FuzzCase.Step, on pristine: PristineStore) async throws {
        switch step {
        case .rows(let statements, let isTyped):
            let edits = pristine.tables.sorted { $0.key < $1.key }.map { name, text in
                (name, text, text.replacing(") STRICT, W", with: ") W").replacing(") STRICT", with: ")"))
            }
            func set(_ text: (String, String)) -> String {
                "UPDATE sqlite_schema SET sql = '\(text.1.replacing("'", with: "''"))' WHERE name = '\(text.0)';"
            }
            if !isTyped { try await sql(["PRAGMA writable_schema = ON;"] + edits.map { set(($0.0, $0.2)) }) }
            try await sql(["PRAGMA ignore_check_constraints = ON;"] + statements.map { "\($0);" })
            if !isTyped { try await sql(["PRAGMA writable_schema = ON;"] + edits.map { set(($0.0, $0.1)) }) }
        case .pages(let name, let damage):
            let path = "\(store)/\(name)"
            var bytes = Files.exists(path) ? try Files.bytes(path) : sampleBytes(40_000, seed: example.seed)
            damage.apply(to: &bytes)
            try Files.write(bytes, to: path)
        case .blob(let number, let damage):
            let names = try Files.names(in: "\(store)/blobs")
            guard number < names.count else { return }
            try replace("\(store)/blobs/\(names[number])", by: damage)
        }
    }

    /// Statements that fail are ignored, such as those that violate a key.
    private func sql(_ statements: [String]) async throws {
        let script = folder["script.sql"]
        try Files.write(Array(statements.joined(separator: "\n").utf8), to: script)
        let keepsLog = example.isHot ? ["-cmd", ".dbconfig no_ckpt_on_close on"] : []
        _ = try await Shell.outcome("sqlite3", keepsLog + ["\(store)/store.sqlite", ".read \(script)"])
        try FileManager.default.removeItem(atPath: script)
        try? FileManager.default.removeItem(atPath: "\(store)/store.sqlite-shm")
    }

    private func replace(_ path: String, by damage: FuzzCase.BlobDamage) throws {
        let bytes = try Files.bytes(path)
        try FileManager.default.removeItem(atPath: path)
        switch damage {
        case .removed: break
        case .truncated: try Files.write(Array(bytes.prefix(bytes.count / 2)), to: path)
        case .empty: try Files.write([], to: path)
        case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .pipe: mkfifo(path, 0o600)
        case .symbolicLink: symlink(folder["outside"], path)
        case .symbolicLinkToItself: symlink(path, path)
        case .hardLink: try FileManager.default.linkItem(atPath: folder["outside"], toPath: path)
        }
    }

    // MARK: Running

    private mutating func perform(_ command: FuzzCase.Command) async throws {
        switch command {
        case .tool(let arguments): _ = try await tool(arguments)
        case .get(let key, let version, let options): _ = try await get(key, version: version, options)
        case .library(let version, let seed):
            let arguments = ["--visit", store, "--origin", "\(origin)/\(version)", "--seed", "\(seed)"]
            let outcome = try await process(programs.library, arguments + ["--into", folder["visited"]])
            if outcome.status != 0 { note("the library: status \(outcome.status): \(Self.end(outcome.errors))") }
        }
    }

    private mutating func process(_ program: String, _ arguments: [String]) async throws -> Shell.Outcome {
        let outcome = try await Shell.outcome(
            "timeout", ["-s", "KILL", "\(Self.patience)", program] + arguments,
            environment: ["RESUMECTL_STORE": store, "no_proxy": "127.0.0.1"])
        runs += 1
        statuses[outcome.status, default: 0] += 1
        return outcome
    }

    private mutating func tool(_ arguments: [String]) async throws -> Shell.Outcome {
        let outcome = try await process(programs.resumectl, arguments)
        if !Self.known.contains(outcome.status) {
            note("\(arguments): status \(outcome.status): \(Self.end(outcome.errors))")
        }
        return outcome
    }

    /// Downloads a file.
    ///
    /// - Returns: The result.
    private mutating func get(_ key: String, version: Int, _ options: [String]) async throws -> Shell.Outcome {
        let path = folder["out-\(runs)"]
        let outcome = try await tool(
            ["get", "\(origin)/\(version)/\(key)", "--key", key, "-o", path, "--quiet", "--retries", "0"] + options)
        guard Files.exists(path) else {
            if outcome.status == 0 { note("get \(key): status 0, and there is no file") }
            return outcome
        }
        let bytes = try Files.bytes(path)
        try FileManager.default.removeItem(atPath: path)
        // If the rows cannot be changed after the delivery, that is reported, and the file exists. A file that was
        // complete before may have either version.
        if ![0, 65].contains(outcome.status) { note("get \(key): status \(outcome.status), and there is a file") }
        if !(1...2).contains(where: { PristineStore.bytes(of: key, version: $0) == bytes }) {
            note("get \(key): wrong bytes, \(bytes.count) of them")
        }
        return outcome
    }

    /// After a rebuild, everything works.
    private mutating func rebuild() async throws {
        let outcome = try await tool(["doctor", "--rebuild"])
        // A damaged version number may be that of a newer program, whose store is left alone.
        if outcome.status == 65, outcome.errors.contains("created by a newer version") { return }
        guard outcome.status == 0 else {
            return note("doctor --rebuild: status \(outcome.status): \(Self.end(outcome.errors))")
        }
        let verify = try await tool(["verify"])
        if verify.status != 0 { note("verify after doctor --rebuild: \(Self.end(verify.output + verify.errors))") }
        for key in PristineStore.keys {
            var outcome = try await get(key, version: 1, [])
            // A planted length contradicts the server's under the same tag, and is given up only with --restart.
            if outcome.status == 75, outcome.errors.contains("the stored data is kept until the answers agree") {
                outcome = try await get(key, version: 1, ["--restart"])
            }
            if outcome.status != 0 {
                note("get \(key) after doctor --rebuild: status \(outcome.status): \(Self.end(outcome.errors))")
            }
        }
        // Blobs that no readable row names any more.
        _ = try await tool(["gc"])
        let last = try await tool(["verify"])
        if last.status != 0 { note("verify at the end: \(Self.end(last.output + last.errors))") }
    }

    // MARK: What must hold

    private mutating func note(_ text: String) { violations.append(text) }

    private static func end(_ text: String) -> String {
        String(text.suffix(400)).replacing("\n", with: " / ")
    }

    /// Everything beside the store, with permissions, times and content.
    private func snapshot() throws -> [String] {
        try Self.forbidden(in: folder).map { path in
            var status = stat()
            guard lstat(path, &status) == 0 else { return "\(path) is gone" }
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            let content = isFolder ? "\(try Files.names(in: path))" : "\(try Files.bytes(path))"
            return "\(path) \(status.st_mode) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(content)"
        } + [try Files.names(in: folder.path).filter { !$0.hasPrefix("visited") }.joined(separator: " ")]
    }

    private mutating func compare(_ before: [String], after what: String) throws {
        let now = try snapshot()
        for (old, new) in zip(before, now) where old != new { note("after \(what.prefix(200)): \(old) is now \(new)") }
    }
}
