// For programs with their own HTTP client, which name header fields, URLs and policies.
@_exported public import HTTPTypes
package import ResumeFiles
@_exported public import ResumeHTTP
package import ResumeSQLite

/// A persistent store of partial downloads: a SQLite database and a folder of blobs.
///
/// Any number of tasks and processes can use a store at the same time. Open a download with
/// ``open(_:headerFields:key:selection:policy:destination:waits:)``; the other methods manage stored entries.
///
/// ```swift
/// let store = try await DownloadStore.open(at: "/var/cache/example")
/// let transfer = try await store.open(url)
/// let fields = await transfer.nextRequest()
/// request.headerFields = fields  // set on your client's request: Range and If-Range when resuming
/// ```
public final class DownloadStore: Sendable {
    /// The options of a store.
    public struct Configuration: Sendable {
        /// The maximum total size of all entries in bytes; beyond it, the least recently used ones that are neither in
        /// use nor pinned are removed.
        public var maximumSize: Int64
        /// What may be removed to make room, and whether ``maximumSize`` refuses downloads.
        package var eviction = EvictionRule.leastRecentlyUsed
        /// The time after which an unused entry is removed.
        public var maximumAge: Duration
        /// The maximum number of received bytes that are not synced to disk and would be lost after a power failure.
        public var durableInterval: Int64
        /// The time for which an entry is kept after its server reported that the resource does not exist
        /// (404, 410).
        public var gracePeriod: Duration
        /// Receives the result of each collection, including those that make room for a download, and the totals after
        /// it.
        ///
        /// Called synchronously after each collection. Not called for dry runs or explicit purges.
        public var onCollection: (@Sendable (RemovalReport, Totals) -> Void)?
        /// Receives the key of a download that waits until others leave room within the size limit.
        package var onWaitForSpace: (@Sendable (_ key: String) -> Void)?
        /// Receives how many entries of a store of an older release have been converted while it is opened, and their
        /// number.
        ///
        /// Called synchronously after each batch. If the process ends, the next opening continues.
        package var onMigration: (@Sendable (_ converted: Int64, _ entries: Int64) -> Void)?
        /// The clock that determines when received bytes are recorded and synced.
        package var clock = StoreClock.continuous
        /// Whether transfers share a few threads, for programs without tasks of high priority.
        package var sharesThreads = false
        /// Whether others may use, own or replace the store, and then share what is in it.
        package var isShared = false
        /// Whether the lengths of blobs count where the file system allows that; false to rely on commits alone.
        var trustsLengths = true

        /// Creates a configuration; the defaults are 16 GiB, 30 days, 64 MiB and 7 days.
        public init(
            maximumSize: Int64 = 16 << 30, maximumAge: Duration = .seconds(30 * 86_400),
            durableInterval: Int64 = 64 << 20, gracePeriod: Duration = .seconds(7 * 86_400)
        ) {
            self.maximumSize = maximumSize
            self.maximumAge = maximumAge
            self.durableInterval = durableInterval
            self.gracePeriod = gracePeriod
        }
    }

    /// The path of the folder.
    public let path: String
    /// The options that the store was opened with.
    package let configuration: Configuration

    package let folder: StoreFolder
    private let presence: Presence
    let database: Database
    /// Another connection, so that ``readNow(_:)`` does not wait for commits.
    private let lookups: Database
    let guardLock: StoreLock
    let checkpointer: Checkpointer
    let deliveries: DeliveryBatch
    let room = StoreRoom()
    /// The key of the hashes of requests.
    package let identityKey: HashKey

    init(
        folder: StoreFolder, presence: Presence, database: Database, lookups: Database, guardLock: StoreLock,
        identityKey: HashKey, configuration: Configuration
    ) {
        self.identityKey = identityKey
        path = folder.path
        self.folder = folder
        self.presence = presence
        self.database = database
        self.lookups = lookups
        self.guardLock = guardLock
        self.configuration = configuration
        checkpointer = Checkpointer(folder: folder, lock: guardLock)
        deliveries = DeliveryBatch(of: folder)
    }

    /// Closes the database after a last checkpoint.
    ///
    /// Open transfers fail afterwards.
    public func close() async {
        // In a forked child it belongs to the parent, which continues to use it.
        if ForkedChild.isCurrent { return }
        let checkpointer = checkpointer
        if lookups !== database { await lookups.close() }
        // If the checkpoint fails, the next opening does it.
        try? await database.withConnection { connection in try checkpointer.finish(connection) }
        await database.close()
        presence.end()
    }

    /// Whether the length of a blob can be trusted: only on file systems that set it after the bytes were written.
    var trustsLengths: Bool {
        configuration.trustsLengths
            && ["ext4", "XFS", "Btrfs", "tmpfs", "F2FS", "overlayfs"].contains(folder.blobs.fileSystem)
    }

    /// Runs a synchronous closure in a write transaction, which waits for checkpoints of other processes.
    ///
    /// - Throws: ``StoreError``.
    package func write<Result: Sendable>(
        durability: Connection.CommitDurability = .process,
        _ body: ConnectionUse<Result>
    ) async throws -> Result {
        try await withConnection { connection in try write(with: connection, durability: durability, body) }
    }

    /// Runs ``write(durability:_:)`` on the calling thread, which is blocked.
    ///
    /// - Throws: ``StoreError``.
    func writeNow<Result: Sendable>(
        durability: Connection.CommitDurability = .process, _ body: ConnectionUse<Result>
    ) throws -> Result {
        try withConnectionNow(of: database) { try write(with: $0, durability: durability, body) }
    }

    /// Runs a closure with the connection, then returns to the caller's executor.
    ///
    /// The optimizer of Swift 6.3 loses the isolation of a function that it specializes, and then removes the return to
    /// that executor if the result is empty or large: a transfer continued on the queue of the database.
    @_optimize(none)
    private func withConnection<Result: Sendable>(
        _ body: ConnectionUse<Result>
    ) async throws -> Result {
        try StoreError.refuseForkedChild()
        do {
            return try await database.withConnection(body)
        } catch {
            throw StoreError(wrapping: error)
        }
    }

    private func withConnectionNow<Result: Sendable>(
        of database: Database, _ body: ConnectionUse<Result>
    ) throws -> Result {
        try StoreError.refuseForkedChild()
        return try StoreError.wrapping { try database.withConnectionNow(body) }
    }

    private func write<Result>(
        with connection: borrowing Connection, durability: Connection.CommitDurability,
        _ body: (borrowing Connection) throws -> Result
    ) throws -> Result {
        let result = try guardLock.shared {
            do {
                return try connection.transaction(.immediate, durability: durability) { try body(connection) }
            } catch let error as SQLiteError where error.code == .full {
                // SQLite reports the same error for a full disk and for IDs that are used up.
                let areRestored = try? connection.transaction(.immediate) { try connection.restoreNumbers() }
                guard areRestored == true else { throw error }
                return try connection.transaction(.immediate, durability: durability) { try body(connection) }
            }
        }
        // The commit has succeeded even if the checkpoint fails; `doctor` shows the size of the log.
        try? checkpointer.committed(connection)
        return result
    }

    /// Runs a synchronous closure that only reads, in one snapshot of the database.
    ///
    /// - Throws: ``StoreError``, `CancellationError`
    package func read<Result: Sendable>(
        _ body: ConnectionUse<Result>
    ) async throws -> Result {
        try await read(from: database, body)
    }

    /// Runs ``read(_:)`` with a separate connection, so that long reads do not delay transfers.
    ///
    /// - Throws: ``StoreError``, `CancellationError`
    package func survey<Result: Sendable>(
        _ body: ConnectionUse<Result>
    ) async throws -> Result {
        try await read(from: reader(), body)
    }

    /// Opens a separate connection that only reads, closed when it is released.
    ///
    /// - Throws: ``StoreError`` if the store is closed.
    func reader() async throws -> Database {
        try await read { _ in }
        return await database.reader(of: folder)
    }

    /// Runs ``read(_:)`` with a connection of ``reader()``; not specialized for the reason of ``withConnection(_:)``.
    @_optimize(none)
    func read<Result: Sendable>(
        from database: Database, _ body: ConnectionUse<Result>
    ) async throws -> Result {
        try StoreError.refuseForkedChild()
        do {
            return try await database.read { connection in
                try connection.transaction(.deferred) { try body(connection) }
            }
        } catch let error as SQLiteError where error.code == .interrupt && Task.isCancelled {
            throw CancellationError()
        } catch {
            throw StoreError(wrapping: error)
        }
    }

    /// Runs ``read(_:)`` on the calling thread, which is blocked; for short queries.
    ///
    /// - Throws: ``StoreError``.
    func readNow<Result: Sendable>(_ body: ConnectionUse<Result>) throws -> Result {
        try withConnectionNow(of: lookups) { connection in
            try connection.transaction(.deferred) { try body(connection) }
        }
    }

    /// Runs ``read(_:)`` to completion even if the task is cancelled, for what is needed after a cancellation.
    ///
    /// - Throws: ``StoreError``.
    func readToEnd<Result: Sendable>(_ body: ConnectionUse<Result>) async throws -> Result {
        try await withConnection { connection in try connection.transaction(.deferred) { try body(connection) } }
    }
}
