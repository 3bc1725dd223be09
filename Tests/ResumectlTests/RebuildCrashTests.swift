import FaultInjection
import Foundation
import OriginServer
import ResumeMaintenance
import ResumeStore
import TestSupport
import Testing

/// `doctor --rebuild` dies at each of its calls to the file system.
///
/// After each of them the store has its old database or its new one, and no blob is missing.
@Suite(.timeLimit(.minutes(20)))
struct RebuildCrashTests {
    private static let content = Content(length: 3_000_000, seed: 1)

    /// The names of all blobs, in use or set aside.
    private static func blobs(in store: String) throws -> Set<String> {
        let folders = try Files.names(in: store).filter { $0.hasPrefix("aside-") } + ["blobs"]
        let names = try folders.flatMap { try Files.names(in: "\(store)/\($0)") }
        return Set(names.map { String($0.suffix(32)) }.filter { $0.count == 32 })
    }

    /// How SQLite and dd damage a database so that it cannot be opened.
    enum Damage: String, CaseIterable {
        case plantedView, firstPage
    }

    /// A store with two partials, one of which can be saved, and a database that cannot be opened.
    private static func prepare(_ folder: TemporaryFolder, _ server: OriginServer, _ damage: Damage) async throws {
        let program = Resumectl(folder: folder)
        for name in ["a", "b"] {
            let url = "\(server.baseURL)/\(name)"
            let get = try await program.run("get", url, "-o", folder[name], "--retries", "0")
            #expect(get.status == 75, "\(get.errors)")
        }
        try await Shell.run(
            "sqlite3", folder["store/store.sqlite"],
            "DELETE FROM block WHERE download = 1; CREATE VIEW planted AS SELECT 1; PRAGMA wal_checkpoint(TRUNCATE);")
        if damage == .firstPage {
            try await Shell.run(
                "dd", "if=/dev/zero", "of=\(folder["store/store.sqlite"])", "bs=4096", "count=1", "conv=notrunc")
        }
        #expect(try await program.run("list").status == 65)
    }

    @Test(.enabled(if: FaultShim.isAvailable, "needs Linux and a C compiler"), arguments: Damage.allCases)
    func killedAtEachCall(damage: Damage) async throws {
        try await TemporaryFolder.with { folder in
            let handler: @Sendable (OriginRequest) -> Response = { request in
                let resource = Resource(Self.content, etag: "\"v1\"")
                return .file(resource, for: request, cutAfter: request.byteRange == nil ? 2_000_000 : nil)
            }
            try await OriginServer.withServer(
                handler: handler,
                { server in
                    try await Self.prepare(folder, server, damage)
                    let blobs = try Self.blobs(in: folder["store"])
                    try await Shell.run("cp", "-a", folder["store"], folder["prepared"])
                    // The steps are the same for both kinds of damage, so each of them takes every second call, and every
                    // eighth one unless `make sweep` asks for all.
                    let stride = ProcessInfo.processInfo.environment["SWEEP_ALL"] == nil ? 8 : 2
                    var point = damage == .plantedView ? -1 : stride / 2 - 1
                    var status: Int32 = 137
                    while status == 137, point < 2000 {
                        point += stride
                        try await Shell.run("rm", "-rf", folder["store"])
                        try await Shell.run("cp", "-a", folder["prepared"], folder["store"])
                        status = try await Self.rebuild(folder, dyingAt: point)
                        #expect(try Self.blobs(in: folder["store"]) == blobs, "point \(point)")
                        // In this process, because there are hundreds of points.
                        _ = try await DownloadStore.rebuild(at: folder["store"])
                        #expect(try Self.blobs(in: folder["store"]) == blobs, "point \(point)")
                        let names = try Files.names(in: folder["store"])
                        #expect(!names.contains { $0.hasPrefix("salvage") }, "point \(point)")
                        let rebuilt = try await DownloadStore.open(at: folder["store"], creating: false)
                        #expect(try await rebuilt.entries().contains { $0.key.hasSuffix("/b") }, "point \(point)")
                        await rebuilt.close()
                    }
                    #expect(status == 0 && point > 20, "\(point) points")
                    let program = Resumectl(folder: folder)
                    let get = try await program.run("get", "\(server.baseURL)/b", "-o", folder["out"])
                    #expect(get.status == 0 && get.errors.contains("resumed"), "\(get.errors)")
                    #expect(Self.content.matches(try Files.bytes(folder["out"])))
                })
        }
    }

    /// A store with a planted view, and the program.
    private static func withDamaged(_ body: (TemporaryFolder, Resumectl) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let handler: @Sendable (OriginRequest) -> Response = { request in
                .file(Resource(Self.content, etag: "\"v1\""), for: request, cutAfter: 2_000_000)
            }
            try await OriginServer.withServer(handler: handler) { try await Self.prepare(folder, $0, .plantedView) }
            try await body(folder, Resumectl(folder: folder))
        }
    }

    @Test(
        "A rebuild that dies before its last step can be finished, even after one that ran out of space",
        .enabled(if: FaultShim.isAvailable, "needs Linux and a C compiler"), arguments: [false, true])
    func fails(isRemoved: Bool) async throws {
        try await Self.withDamaged { folder, program in
            #expect(try await Self.rebuild(folder, rules: "rename@rebuilt.sqlite:kill") == 137)
            if isRemoved { try await Shell.run("rm", folder["store/rebuilt.sqlite"]) }
            let interrupted = try await program.run("list")
            #expect(interrupted.status == 65 && interrupted.errors.contains("was interrupted"), "\(interrupted.errors)")
            #expect(try await Self.rebuild(folder, rules: "pwrite@rebuilt.sqlite:error=ENOSPC") == 74)
            let damaged = try await program.run("list")
            #expect(damaged.status == 65 && damaged.errors.contains("planted"), "\(damaged.errors)")
            #expect(try await Self.rebuild(folder, rules: "") == 0)
            let list = try await program.run("list", "--json")
            #expect(list.status == 0 && list.output.contains("/b\""), "\(list.errors)")
            // One folder, with what could not be saved.
            let asides = try Files.names(in: folder["store"]).filter { $0.hasPrefix("aside-") }
            #expect(asides.count == 1, "\(asides)")
        }
    }

    @Test(
        "While a rebuild replaces the database, other commands report that it is running",
        .enabled(if: FaultShim.isAvailable, "needs Linux and a C compiler"))
    func running() async throws {
        try await Self.withDamaged { folder, program in
            let gate = folder["gate"]
            async let status = Self.rebuild(folder, rules: "rename@rebuilt.sqlite:hold=\(gate)")
            try await wait(for: "the last step of the rebuild") { Files.exists(gate + ".reached") }
            for command in [["list"], ["get", "http://127.0.0.1:9/c", "-o", folder["c"]]] {
                let outcome = try await Shell.outcome(Resumectl.path, command, environment: program.environment)
                #expect(outcome.status == 75, "\(outcome.errors)")
                #expect(outcome.errors.contains("is being rebuilt by another process"), "\(outcome.errors)")
            }
            try Files.write([], to: gate)
            #expect(try await status == 0)
            #expect(try await program.run("list").status == 0)
        }
    }

    private static func rebuild(_ folder: TemporaryFolder, dyingAt point: Int) async throws -> Int32 {
        try await rebuild(folder, rules: "*:kill:\(point)")
    }

    private static func rebuild(_ folder: TemporaryFolder, rules: String) async throws -> Int32 {
        let faults = try await FaultShim.environment(roots: [folder["store"]], rules: rules)
        let environment = Resumectl(folder: folder).environment.merging(faults) { $1 }
        return try await Shell.outcome(Resumectl.path, ["doctor", "--rebuild"], environment: environment).status
    }
}
