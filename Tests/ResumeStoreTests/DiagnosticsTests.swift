import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// What `doctor` finds, and files that another program puts in place of the store's own.
@Suite(.timeLimit(.minutes(5)))
struct DiagnosticsTests {
    private static func withStore(_ body: (DownloadStore, TemporaryFolder) async throws -> Void) async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: HonestServer(sampleBytes(300_000)))
            try await body(store, folder)
        }
    }

    private static func problem(_ name: String, of store: DownloadStore) async throws -> String? {
        try #require(try await store.diagnose().first { $0.name == name }).problem
    }

    @Test("A schema version changed while the store is open, and a growing log, are reported as problems")
    func problems() async throws {
        try await Self.withStore { store, folder in
            #expect(try await store.diagnose().allSatisfy { $0.problem == nil })
            try folder.sql("PRAGMA user_version = 99")
            #expect(try await Self.problem("user_version", of: store)?.contains("should be") == true)
            try await Shell.run("truncate", "-s", "70M", folder["store/store.sqlite-wal"])
            #expect(try await Self.problem("log_bytes", of: store)?.contains("checkpointed") == true)
        }
    }

    @Test("A later commit checkpoints a log that has grown long")
    func longLog() async throws {
        try await Self.withStore { store, folder in
            let log = folder["store/store.sqlite-wal"]
            let database = try Files.bytes(folder["store/store.sqlite"])
            // The state that a reader leaves when it blocks every checkpoint. The padding is not a frame and is not
            // read.
            try await Shell.run("truncate", "-s", "33M", log)
            for number in 0..<128 {
                try await store.record(
                    .refused, key: "key", reason: Reason(code: "test", text: "\(number)"))
            }
            #expect(try Files.bytes(folder["store/store.sqlite"]) != database)
            #expect(try await store.events(for: "key").count == 128)
        }
    }

    @Test("Without a database, a store folder is inspected as far as possible, and another folder not at all")
    func folders() async throws {
        try await TemporaryFolder.with { folder in
            #expect(Diagnostics.files(at: folder["absent"]) == [.init(name: "folder", value: "can be created")])
            #expect(Diagnostics.files(at: folder.path).isEmpty)
            try await Shell.run("mkdir", "-m", "700", folder["blobs"], folder["aside-2"], folder["aside-1"])
            try await Shell.run("chmod", "755", folder.path)
            let checks = Diagnostics.files(at: folder.path)
            #expect(checks.map(\.name) == ["folder", "blobs folder", "files", "set_aside"])
            #expect(checks[0].problem?.contains("chmod 700") == true && checks[1].problem == nil)
            #expect(checks[3].value.hasPrefix("aside-1, aside-2 ") && checks[3].problem == nil)
        }
    }

    @Test("The owner of a folder is checked, even for root", .enabled(if: Shell.isRoot, "needs root"))
    func owner() async throws {
        try await Self.withStore { _, folder in
            try await Shell.run("chown", "65534", folder["store"])
            let problems = Diagnostics.files(at: folder["store"]).compactMap(\.problem)
            #expect(problems.count == 1 && problems[0].contains("belongs to another user"), "\(problems)")
            await #expect(throws: StoreError(.notAStore, "")) { _ = try await DownloadStore.open(at: folder["store"]) }
        }
    }

    /// Calls that need a lock file.
    enum Call: CaseIterable {
        case begin, entries, purge, collect, verify, diagnose, queue, announce

        var file: String {
            switch self {
            case .begin, .entries, .collect, .verify, .diagnose: "leases"
            case .purge, .announce: "waiters"
            case .queue: "queues"
            }
        }

        func make(in store: DownloadStore) async throws {
            let url = try DownloadURL(TransferTests.url)
            switch self {
            case .begin: _ = try await store.open(url, headerFields: [:])
            case .entries: _ = try await store.entries()
            case .purge: _ = try await store.purge { _ in true }
            case .collect: _ = try await store.collect()
            case .verify: _ = try await store.verify()
            case .diagnose: _ = try await store.diagnose()
            case .queue: _ = try await store.jobTable(named: "queue", isShared: false)
            case .announce: _ = try await store.announceWaiting(for: url, key: nil, selection: nil)
            }
        }
    }

    @Test(
        "A folder in place of a lock file fails the calls that need it, and stored data is kept",
        arguments: Call.allCases)
    func lockFile(call: Call) async throws {
        try await Self.withStore { store, folder in
            let path = folder["store/\(call.file)"]
            // The first store already has the lock files open that its own work needed.
            let another = try await DownloadStore.open(at: folder["store"])
            try? FileManager.default.removeItem(atPath: path)
            try await Shell.run("mkdir", path)
            let error = await #expect(throws: StoreError(.io, "")) { try await call.make(in: another) }
            #expect(error?.message.contains(call.file) == true, "\(String(describing: error))")
            try FileManager.default.removeItem(atPath: path)
            await another.close()
            #expect(try await store.entry(for: TransferTests.url)?.receivedBytes == 200_000)
            #expect(try await store.verify().isEmpty)
        }
    }

    @Test("An index entry that points to another row: the download fails, and a rebuild saves the row once")
    func damagedIndex() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(300_000))
            let transfer = try await store.open(try DownloadURL(TransferTests.url), headerFields: [:], key: "the-key-a")
            try await server.fill(transfer, upTo: 200_000)
            try await transfer.close()
            await store.close()
            try folder.sql("PRAGMA wal_checkpoint(TRUNCATE)")
            try Self.renameInIndices("the-key-a", to: "the-key-b", of: folder["store/store.sqlite"])

            let damaged = try await DownloadStore.open(at: folder["store"])
            let error = await #expect(throws: StoreError(.damaged, "")) {
                try await damaged.open(try DownloadURL(TransferTests.url), headerFields: [:], key: "the-key-b")
            }
            #expect(error?.message.contains("the-key-b") == true)
            #expect(try await damaged.verify().contains { $0.kind == .database })
            await damaged.close()
            let report = try await folder.rebuild()
            #expect(report.saved == ["the-key-a"] && report.savedBytes == 200_000)
            #expect(try await DownloadStore.open(at: folder["store"]).verify().isEmpty)
        }
    }

    /// Changes a text in each database page that is a leaf of an index.
    private static func renameInIndices(_ old: String, to new: String, of path: String) throws {
        var bytes = try Files.bytes(path)
        var found = 0
        for page in stride(from: 0, to: bytes.count, by: 4096) where bytes[page] == 0x0A {
            while let range = bytes[page..<page + 4096].firstRange(of: Array(old.utf8)) {
                bytes.replaceSubrange(range, with: Array(new.utf8))
                found += 1
            }
        }
        try #require(found > 0)
        try Files.write(bytes, to: path)
    }
}
