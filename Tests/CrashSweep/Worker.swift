internal import Foundation
internal import Glibc
internal import OriginServer
internal import ResumeHTTP
internal import ResumeMigrations
internal import ResumeSQLite
internal import TestSupport

/// Prepares the state before a workflow and runs its command, on one site with one origin.
struct Worker: Sendable {
    let site: Site
    let origin: SweepOrigin
    let workflow: Workflow

    var destination: String { site.destination(other: workflow.deliversElsewhere) }

    /// The name of an orphan in a prepared state.
    static let orphan = String(repeating: "0f", count: 16)

    /// The command that is swept over.
    var command: [String] {
        switch workflow.command {
        // Recovery uses one connection, so that its requests can be counted.
        case .get:
            get(
                workflow.wanted,
                ["--json"] + (workflow.connections > 1 ? ["--connections", "\(workflow.connections)"] : []))
        case .resume: ["resume", "--quiet", "--json"]
        case .adopt:
            ["adopt", "--json", site.foreign, origin.url(workflow.files[0]), "--output", path(of: workflow.files[0])]
        case .collect: ["gc", "--max-size", "0", "--json"]
        case .purge(let count): ["purge", "--json"] + workflow.files.prefix(count).map(origin.url)
        case .repair: ["verify", "--repair", "--json"]
        }
    }

    /// The command that downloads files with the workflow's options.
    func get(_ files: [ServedFile], _ more: [String] = []) -> [String] {
        var arguments = ["get", "--quiet", "--retries", "2", "--directory", destination]
        arguments += workflow.isList ? ["--input-file", site.list] : files.map(origin.url)
        if workflow.foreign != nil { arguments += ["--from", site.foreign] }
        if workflow.options.contains("--sha256") {
            arguments += ["--sha256", Self.sha256(workflow.expected(files[0]))]
        }
        // A name that the URL chose does not replace a file that the program has not delivered.
        if workflow.replacesFile { arguments.append("--overwrite") }
        // Recovery must accept files that were already delivered.
        if workflow.options.contains("-J") { arguments += ["-J", "--skip-existing"] }
        if let selection = workflow.selection {
            arguments += ["--range", "bytes=\(selection.lowerBound)-\(selection.upperBound - 1)"]
        }
        return arguments + more
    }

    private static func sha256(_ bytes: [UInt8]) -> String {
        HTTPDigest(.sha256, of: bytes)?.hexadecimal ?? ""
    }

    func path(of file: ServedFile) -> String { "\(destination)/\(file.name)" }

    /// The earlier contents of a destination, if any.
    static let replaced = sampleBytes(50_000, seed: 99)

    /// Creates the state before the workflow and saves it.
    func prepare() async throws {
        try await site.clear()
        if workflow.isList {
            try Files.write(Array(workflow.files.map(origin.url).joined(separator: "\n").utf8), to: site.list)
        }
        switch workflow.preparation {
        case .nothing: break
        case .held(let length):
            try await hold(length, of: workflow.fillsDisk ? Array(workflow.files.dropFirst()) : workflow.files)
            if workflow.fillsDisk { try age() }
        case .heldOfOlder(let length):
            let older = workflow.files.map { file in
                ServedFile(name: file.name, length: file.length, seed: file.seed + Workflow.older, etag: "\"v0\"")
            }
            try await hold(length, of: older)
        case .undelivered:
            origin.serve(workflow.files)
            let run = try await site.run(command, rules: "link,copy_file_range,ficlone:kill")
            guard run.isKilled else { throw SweepFailure("nothing is left undelivered: \(run.ending) \(run.errors)") }
            try await site.clearDestination()
        case .firstSchema(let length):
            try makeFirstSchema(length)
        case .foreign: try Files.write(workflow.foreign?.bytes ?? [], to: site.foreign)
        case .damaged(let length):
            try await hold(length, of: workflow.files)
            try await damage()
        }
        if workflow.replacesFile { try Files.write(Self.replaced, to: path(of: workflow.files[0])) }
        try await site.keep()
    }

    /// Leaves about the given number of bytes of each file.
    ///
    /// Bytes received but unread when a connection is cut are lost, which are more on a busy machine.
    private func hold(_ length: Int64, of files: [ServedFile]) async throws {
        origin.serve(files, cutAfter: length)
        for _ in 0..<20 {
            let run = try await site.run(get(files, ["--retries", "0"]))
            guard run.ending == .exited(75) else {
                throw SweepFailure("what is to be held cannot be prepared: \(run.ending) \(run.errors)")
            }
            let held = try await site.run(["list", "--json"]).objects.map { HeldEntry($0).received }
            if held.count == files.count, held.allSatisfy({ $0 >= length / 2 }) { return }
            try await site.clear()
        }
        throw SweepFailure("too little of what was sent is held")
    }

    /// Makes what is stored so old that `get` may remove it.
    private func age() throws {
        let connection = try Connection.open(path: "\(site.store)/store.sqlite")
        try connection.execute("UPDATE download SET used_at = used_at - 8 * 86400000")
        try connection.checkpoint(.truncate)
    }

    private func damage() async throws {
        let entries = try await site.run(["list", "--json"]).objects.map(HeldEntry.init)
        for (file, change) in zip(workflow.files, [{ truncate($0, 100_000) }, { unlink($0) }]) {
            guard let blob = entries.first(where: { $0.url == origin.url(file) })?.blobs.first?.path,
                change("\(site.store)/\(blob)") == 0
            else { throw SweepFailure("\(file.name) has no blob to be damaged") }
        }
        try Files.write(Self.replaced, to: "\(site.store)/blobs/\(Self.orphan)")
    }

    /// A store as the first migration alone made it, with a partial that was synced.
    private func makeFirstSchema(_ length: Int64) throws {
        let file = workflow.files[0]
        let blob = "blobs/" + String(repeating: "a7", count: 16)
        let mode = [FileAttributeKey.posixPermissions: 0o700]
        try FileManager.default.createDirectory(
            atPath: "\(site.store)/blobs", withIntermediateDirectories: true, attributes: mode)
        try Files.write(file.content.bytes(in: 0..<length), to: "\(site.store)/\(blob)")
        let boot = String(decoding: try Files.bytes(site.bootID(cut: false)), as: UTF8.self)
        try Files.write([], to: "\(site.store)/store.sqlite")
        let connection = try Connection.open(path: "\(site.store)/store.sqlite")
        try connection.execute("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
        try connection.execute(Migration.all[0].sql)
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        try connection.execute(
            """
            PRAGMA user_version = 1;
            PRAGMA application_id = 0x5253554D;
            INSERT INTO download (id, key, url, etag, complete_length, generation, created_at, used_at, boot_id)
            VALUES (1, '\(origin.url(file))', '\(origin.url(file))', '\(file.etag)', \(file.length), 1, \(now), \(now),
                '\(boot.prefix(36))');
            INSERT INTO chunk (download, first_byte, planned_end, path, received, durable)
            VALUES (1, 0, \(file.length), '\(blob)', \(length), \(length));
            UPDATE store SET entries = 1, received = \(length);
            """)
        try connection.checkpoint(.truncate)
    }
}

/// An entry as `list --json` shows it.
struct HeldEntry {
    struct Blob {
        var path: String
        var end: Int64
        var durableEnd: Int64
    }

    var key: String
    var url: String
    var etag: String?
    var isComplete: Bool
    var received: Int64
    var durable: Int64
    var blobs: [Blob]

    init(_ object: [String: Any]) {
        func number(_ value: Any?) -> Int64 { (value as? NSNumber)?.int64Value ?? 0 }
        key = object["key"] as? String ?? ""
        url = object["url"] as? String ?? ""
        etag = object["etag"] as? String
        isComplete = object["state"] as? String == "complete"
        received = number(object["receivedBytes"])
        durable = number(object["durableBytes"])
        blobs = (object["chunks"] as? [[String: Any]] ?? []).map { chunk in
            let offset = number(chunk["offset"])
            return Blob(
                path: chunk["path"] as? String ?? "", end: offset + number(chunk["length"]),
                durableEnd: offset + number(chunk["durable"]))
        }
    }
}
