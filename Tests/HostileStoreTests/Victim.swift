import Foundation
import HTTPTypes
import OriginServer
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// A store with two partial downloads, `a` and `b`, to be damaged, with files beside it that must not be touched.
struct Victim {
    let folder: TemporaryFolder

    /// The origin's content under any name.
    static let content = Content(length: 300_000, seed: 7)
    static let resource = Resource(content, etag: "\"v1\"")
    static let bytes = content.bytes(in: content.all)

    var store: String { folder["store"] }
    var database: String { folder["store/store.sqlite"] }
    /// A file that planted links in the store point to.
    var outsideFile: String { folder["outside"] }
    /// A folder that planted links in the store point to.
    var outsideFolder: String { folder["elsewhere"] }

    /// Creates the store with 200,000 bytes of each download, and closes it.
    static func with(_ body: (Victim) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let victim = Victim(folder: folder)
            let store = try await DownloadStore.open(at: victim.store)
            for key in ["a", "b"] {
                let transfer = try await store.open(
                    try DownloadURL("http://127.0.0.1:9/\(key)"), headerFields: [:], key: key)
                try await HonestServer(bytes).fill(transfer, upTo: 200_000)
                try await transfer.close()
            }
            await store.close()
            try Files.write(Array("outside".utf8), to: victim.outsideFile)
            try await Shell.run("mkdir", victim.outsideFolder)
            try Files.write(Array("elsewhere".utf8), to: "\(victim.outsideFolder)/file")
            try await body(victim)
        }
    }

    /// The path of the blob of `a`.
    func blob() async throws -> String {
        let path = try await sql("SELECT path FROM chunk JOIN download ON id = download WHERE key = 'a'")
        return "\(store)/\(path.split(separator: "\n").first ?? "")"
    }

    /// Runs SQL with the program `sqlite3`, which has none of the store's own protections.
    @discardableResult
    func sql(_ statements: String) async throws -> String {
        try await Shell.run("sqlite3", "-cmd", ".bail on", database, statements)
    }

    /// Runs the program; one that hangs is killed after five minutes.
    func run(_ arguments: [String]) async throws -> Shell.Outcome {
        try await Shell.outcome(
            "timeout", ["-s", "KILL", "300", Resumectl.path] + arguments,
            environment: ["RESUMECTL_STORE": store, "no_proxy": "127.0.0.1"])
    }

    /// Everything outside the store, with permissions and times: nothing of it may change.
    func outside() throws -> [String] {
        try [outsideFile, outsideFolder, "\(outsideFolder)/file"].map { path in
            var status = stat()
            try #require(lstat(path, &status) == 0)
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            let content = isFolder ? "\(try Files.names(in: path))" : "\(try Files.bytes(path))"
            let time = status.st_mtim
            return "\(path) \(status.st_mode) \(time.tv_sec).\(time.tv_nsec) \(content)"
        }
    }

    /// The type of the file at a path, without following links; nil if there is none.
    static func kind(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
}

/// The expected results of the commands on a damaged store.
struct Expected: Sendable {
    /// Whether each command refuses the store with status 65.
    var isRefused = false
    /// The exit status of `verify`.
    var verify: Int32 = 0
    /// The exit status of `doctor`.
    var doctor: Int32 = 65
    /// Whether `show`, `pin` and `purge` know both entries, so that they exit with 0.
    var hasEntries = true

    static let refused = Expected(isRefused: true, verify: 65)
    /// Everything works; only `doctor` reports it.
    static let told = Expected()
    /// Everything works, and `verify` reports it as well.
    static let found = Expected(verify: 65)
    /// Everything works as if undamaged.
    static let unharmed = Expected(doctor: 0)
}

extension Victim {
    /// Runs every command that opens a store, and compares each with what is expected.
    func expect(_ expected: Expected, _ name: String, from server: OriginServer) async throws {
        let before = try outside()
        let entry: Int32 = expected.hasEntries ? 0 : 66
        let commands: [(arguments: [String], status: Int32)] = [
            (["list", "--json"], 0), (["show", "a"], entry), (["stats"], 0), (["log"], 0),
            (["verify"], expected.verify), (["doctor"], expected.doctor), (["pin", "b"], entry), (["gc"], 0),
            (["get", server.baseURL + "/a", "--key", "a", "--output", folder["out"], "--quiet", "--retries", "0"], 0),
            (["purge", "b", "--include-pinned"], expected.hasEntries ? 0 : 1),
        ]
        for (arguments, status) in commands {
            let outcome = try await run(arguments)
            let what = "\(name): \(arguments[0]): \(outcome.errors)\(outcome.output.prefix(500))"
            #expect(outcome.status == (expected.isRefused ? 65 : status), "\(what)")
            if arguments[0] == "doctor", outcome.status == 65 {
                #expect(outcome.output.contains("<-"), "\(what)")
            } else if outcome.status != 0 {
                #expect(outcome.errors.contains("resumectl: "), "\(what)")
            }
            if expected.isRefused, arguments[0] == "list" {
                // What happened, and what to do.
                #expect(outcome.errors.split(separator: ". ").count > 1, "\(what)")
            }
        }
        if expected.isRefused {
            #expect(!Files.exists(folder["out"]))
        } else {
            #expect(try Files.matches(folder["out"], Self.bytes), "\(name)")
        }
        #expect(try outside() == before, "\(name)")
    }

    /// Damages stores one after another and expects the same of each.
    static func each(
        _ names: [String], _ expected: Expected, damage: (Victim, String) async throws -> Void
    ) async throws {
        try await OriginServer.withServer(handler: { .file(resource, for: $0) }) { server in
            for name in names {
                try await with { victim in
                    try await damage(victim, name)
                    try await victim.expect(expected, name, from: server)
                }
            }
        }
    }
}
