import CUnfetchHook
import Foundation
import HTTPTypes
import ResumeFiles
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// T39: SQLite's WAL-reset bug, reproduced deterministically.
///
/// A writer resets the log after a checkpoint has read the log's header and before it copies frames.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct WALResetTests {
    /// What the hook runs, on a separate thread, in the middle of the checkpoint.
    private final class Intruder: Sendable {
        /// Tries to write once.
        ///
        /// Returns whether it could; false if the store's lock keeps it out.
        let attempt: @Sendable () throws -> Bool
        /// Writes, however long it has to wait.
        let write: @Sendable () throws -> Void
        let wasKeptOut = Atomic(false)
        let done = DispatchSemaphore(value: 0)
        let failure = Mutex<(any Error)?>(nil)
        private let attempted = DispatchSemaphore(value: 0)

        init(attempt: @escaping @Sendable () throws -> Bool, write: @escaping @Sendable () throws -> Void) {
            (self.attempt, self.write) = (attempt, write)
        }

        /// Holds up the checkpoint until the writer has written, or was kept out.
        func enter() {
            Thread.detachNewThread {
                do {
                    let hasWritten = try self.attempt()
                    self.wasKeptOut.store(!hasWritten, ordering: .sequentiallyConsistent)
                    self.attempted.signal()
                    if !hasWritten { try self.write() }
                } catch {
                    self.failure.withLock { $0 = error }
                    self.attempted.signal()
                }
                self.done.signal()
            }
            if attempted.wait(timeout: .now() + .seconds(120)) == .timedOut {
                failure.withLock { $0 = Shell.Failure(description: "the writer did not come to its attempt") }
            }
        }
    }

    private static func insert(
        _ number: Int64, into connection: borrowing Connection, _ isGuarded: Bool, _ folder: String
    ) throws {
        guard isGuarded else { return try insert(number, into: connection) }
        try StoreLock(writersIn: Folder(folder)).shared { try insert(number, into: connection) }
    }

    private static func insert(_ number: Int64, into connection: borrowing Connection) throws {
        try connection.transaction(.immediate) {
            _ = try connection.run("INSERT INTO t VALUES (?, zeroblob(9000))", number)
        }
    }

    /// Runs the race once.
    ///
    /// - Returns: The result of `integrity_check` afterwards, and how many of the 43 rows exist.
    private func race(guarded: Bool, at folder: TemporaryFolder) throws -> (integrity: String?, rows: Int64?) {
        let path = folder["store.sqlite"]
        try Files.write([], to: path)
        let folderPath = folder.path
        #expect(unfetch_hook_register() == 0)
        let setup = try Connection.open(path: path)
        #expect(try setup.text("PRAGMA journal_mode = WAL") == "wal")
        try setup.execute("CREATE TABLE t (i INTEGER PRIMARY KEY, b BLOB) STRICT")

        let checkpointer = try Connection.open(path: path, vfs: "unfetch-hook")
        #expect(try checkpointer.integer("SELECT count(*) FROM t") == 0)
        // A long log, copied completely: the next writer resets it.
        for number in 1...40 { try Self.insert(Int64(number), into: setup, guarded, folderPath) }
        try setup.checkpoint(.passive)

        let intruder = Intruder(
            attempt: {
                let writer = try Connection.open(path: path)
                guard guarded else {
                    try Self.insert(41, into: writer)
                    return true
                }
                // Exclusively, which excludes a checkpoint as the writers' shared lock does, but without waiting.
                return try StoreLock(writersIn: Folder(folderPath)).exclusive { try Self.insert(41, into: writer) }
                    != nil
            },
            write: {
                let writer = try Connection.open(path: path)
                try Self.insert(41, into: writer, guarded, folderPath)
            })
        let context = Unmanaged.passRetained(intruder).toOpaque()
        unfetch_hook_arm(
            { context in
                guard let context = context else { return }
                Unmanaged<Intruder>.fromOpaque(context).takeRetainedValue().enter()
            }, context)
        if guarded {
            let isMade = try StoreLock(writersIn: Folder(folderPath)).exclusive(patience: .seconds(60)) {
                try checkpointer.checkpoint(.passive)
                return true
            }
            #expect(isMade == true, "no writer has the lock yet")
        } else {
            try checkpointer.checkpoint(.passive)
        }
        intruder.done.wait()
        #expect(intruder.wasKeptOut.load(ordering: .sequentiallyConsistent) == guarded)
        if let error = intruder.failure.withLock({ $0 }) { throw error }
        // Shorter than the first log: if the checkpoint recorded that length, these frames count as copied.
        try Self.insert(42, into: setup, guarded, folderPath)
        try setup.checkpoint(.passive)
        try Self.insert(43, into: setup, guarded, folderPath)
        try setup.checkpoint(.passive)

        let judge = try Connection.open(path: path)
        let integrity = (try? judge.text("PRAGMA integrity_check")) ?? "unreadable"
        return (integrity, try? judge.integer("SELECT count(*) FROM t"))
    }

    @Test("T39: without the guard the race corrupts the database, so the test can fail")
    func unguarded() async throws {
        try await TemporaryFolder.with { folder in
            var isWhole = false
            do {
                let (integrity, rows) = try race(guarded: false, at: folder)
                isWhole = integrity == "ok" && rows == 43
            } catch let error as SQLiteError {
                // Some builds of SQLite notice it at the next write.
                #expect(error.code == .corrupt)
            }
            #expect(isWhole != SQLiteLibrary.hasWALResetBug, "SQLite \(SQLiteLibrary.version)")
        }
    }

    @Test("T39: with the store's lock no writer can be inside a checkpoint")
    func guarded() async throws {
        try await TemporaryFolder.with { folder in
            let (integrity, rows) = try race(guarded: true, at: folder)
            #expect(integrity == "ok")
            #expect(rows == 43)
        }
    }

    @Test("The store's own checkpoint takes an exclusive lock: a writer elsewhere keeps it out")
    func storeTakesTheLock() async throws {
        try await DownloadStore.with { store, folder in
            for name in ["a", "b"] {
                let transfer = try await store.open(try .init("http://127.0.0.1/\(name)"), headerFields: [:])
                try await HonestServer(sampleBytes(10)).fill(transfer, upTo: 5)
                try await transfer.close()
            }
            // A purge empties the log. It must not touch the log while a writer holds the lock.
            let log = folder["store/store.sqlite-wal"]
            let lock = try StoreLock(writersIn: Folder(folder["store"]))
            try await lock.sharedWhile { _ = try await store.purge { $0.key.hasSuffix("/a") } }
            #expect(try Files.bytes(log).count > 0)
            _ = try await store.purge { $0.key.hasSuffix("/b") }
            #expect(try Files.bytes(log).count == 0)
        }
    }
}

extension StoreLock {
    /// Holds the lock shared on a separate thread while an asynchronous body runs.
    fileprivate func sharedWhile(_ body: () async throws -> Void) async throws {
        let release = DispatchSemaphore(value: 0)
        let (taken, returned) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        Thread.detachNewThread {
            try? self.shared {
                taken.continuation.finish()
                release.wait()
            }
            // Even if the lock could not be taken.
            taken.continuation.finish()
            returned.continuation.finish()
        }
        for await _ in taken.stream {}
        do {
            try await body()
        } catch {
            release.signal()
            throw error
        }
        release.signal()
        // Only then can it be taken exclusively.
        for await _ in returned.stream {}
    }
}
