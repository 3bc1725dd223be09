import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
import ResumeStore
import TestSupport
import Testing

/// What an interrupted rebuild leaves, or what another program made to look like that.
@Suite(.timeLimit(.minutes(10)))
struct InterruptedRebuildTests {
    @Temporary private var folder
    private static let content = sampleBytes(400_000)
    private static let names = ["a", "b"]

    private static func url(_ name: String) -> String { "http://127.0.0.1/\(name)" }

    /// A store with two partials that only the write-ahead log knows about, as after a power loss.
    private static func makeStore(in folder: TemporaryFolder) async throws {
        let store = try await DownloadStore.open(at: folder["open"])
        for name in names { try await store.leave(200_000, of: HonestServer(content), url: url(name)) }
        try await Shell.run("cp", "-a", folder["open"], folder["store"])
        await store.close()
    }

    /// Does what a rebuild does until the new database replaces the old one.
    private static func setAside(_ folder: TemporaryFolder) async throws {
        try await Shell.run("mkdir", "-m", "700", folder["store/aside-1"])
        try await Shell.run("ln", folder["store/store.sqlite"], folder["store/aside-1/store.sqlite"])
        let blob = try #require(try folder.blobs().first)
        let part = String(blob.prefix(2))
        try await Shell.run("mkdir", "-m", "700", folder["store/aside-1/\(part)"])
        try await Shell.run("mv", folder["store/blobs/\(blob)"], folder["store/aside-1/\(blob)"])
        for name in ["store.sqlite-shm", "store.sqlite-wal"] {
            try await Shell.run("mv", folder["store/\(name)"], folder["store/aside-1"])
        }
    }

    private static func expectAll(_ folder: TemporaryFolder) async throws {
        let store = try await DownloadStore.open(at: folder["store"])
        #expect(Set(try await store.entries().map(\.key)) == Set(names.map(url)))
        #expect(try await store.entries().map(\.receivedBytes) == [200_000, 200_000])
        #expect(try await store.verify().isEmpty)
        await store.close()
    }

    @Test(
        "The next rebuild moves back what an interrupted one set aside, even without its new database",
        arguments: [false, true])
    func movedBack(isRemoved: Bool) async throws {
        try await Self.makeStore(in: folder)
        try await Self.setAside(folder)
        if !isRemoved { try Files.write([], to: folder["store/rebuilt.sqlite"]) }
        let error = await #expect(throws: StoreError(.damaged, "")) {
            _ = try await DownloadStore.open(at: folder["store"])
        }
        #expect(error?.message.contains("was interrupted") == true)
        if isRemoved { #expect(Diagnostics.files(at: folder["store"]).allSatisfy { $0.problem == nil }) }
        #expect(try await folder.rebuild().wasWhole)
        let left = try Files.names(in: folder["store"])
        #expect(!left.contains { $0.hasPrefix("aside-") || $0.hasPrefix("rebuilt") }, "\(left)")
        try await Self.expectAll(folder)
    }

    @Test("A second link to the database outside a rebuild folder is refused, and so is a third link")
    func otherNames() async throws {
        try await Self.makeStore(in: folder)
        try await Shell.run("ln", folder["store/store.sqlite"], folder["other"])
        for isSetAside in [false, true] {
            if isSetAside { try await Self.setAside(folder) }
            let rebuild: @Sendable () async throws -> Void = {
                _ = try await folder.rebuild()
            }
            await #expect(throws: StoreError(.notAStore, "")) { try await rebuild() }
            await #expect(throws: StoreError(.notAStore, "")) {
                _ = try await DownloadStore.open(at: folder["store"])
            }
        }
        // Follows the advice in the message.
        try await Shell.run("rm", folder["other"])
        #expect(try await folder.rebuild().wasWhole)
        try await Self.expectAll(folder)
    }

    @Test("A new database that another program put there does no harm")
    func planted() async throws {
        try await Self.makeStore(in: folder)
        try Files.write([1, 2, 3], to: folder["store/rebuilt.sqlite"])
        await #expect(throws: StoreError(.damaged, "")) { _ = try await DownloadStore.open(at: folder["store"]) }
        #expect(try await folder.rebuild().wasWhole)
        try await Self.expectAll(folder)
    }

    @Test("A rollback journal without its database is set aside, so it is not played back into the new one")
    func journal() async throws {
        try await Self.makeStore(in: folder)
        let (database, journal) = (folder["store/store.sqlite"], folder["store/store.sqlite-journal"])
        try await Shell.run(
            "sqlite3", database, "PRAGMA journal_mode = DELETE", "PRAGMA cache_size = 1", "BEGIN IMMEDIATE",
            "UPDATE event SET reason = reason || hex(randomblob(20000))", ".shell cp \(journal) \(folder["hot"])",
            "ROLLBACK")
        try await Shell.run("rm", database)
        try await Shell.run("mv", folder["hot"], journal)
        let bytes = try Files.bytes(journal)
        #expect(bytes.count > 4096)
        let report = try await folder.rebuild()
        let aside = try #require(report.asideFolder)
        #expect(!Files.exists(journal))
        #expect(try Files.bytes("\(aside)/store.sqlite-journal") == bytes)
        let store = try await DownloadStore.open(at: folder["store"])
        #expect(try await store.entries().isEmpty)
        #expect(try await store.verify().isEmpty)
        await store.close()
    }
}
