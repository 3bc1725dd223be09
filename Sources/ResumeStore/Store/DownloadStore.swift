package import ResumeFiles
public import ResumeHTTP
package import ResumeSQLite

/// A persistent store of partial downloads: a SQLite database and a folder of blobs.
///
/// Any number of tasks and processes may use one store at a time. ``begin(_:headerFields:key:selection:policy:destination:waits:)``
/// is the door to one download; everything else looks after what is left.
///
/// ```swift
/// let store = try await DownloadStore.open(at: "/var/cache/example")
/// let transfer = try await store.begin(url)
/// let plan = await transfer.plan()
/// request.headerFields = plan.fields  // set on your client's request: Range and If-Range when resuming
/// ```
public final class DownloadStore: Sendable {
    /// What a store may be told.
    public struct Configuration: Sendable {
        /// How many bytes idle entries may hold together before the least recently used are evicted.
        public var maximumSize: Int64
        /// How long an entry may lie unused, in seconds, before it is evicted.
        public var maximumAge: Int64
        /// How many bytes survive nothing but the process, at most, before they are synced to disk.
        public var durableInterval: Int64
        /// How long an entry is kept, in seconds, whose server says that there is no such resource (404, 410).
        public var gracePeriod: Int64
        /// Told what a collection removed, also of one that makes room for a download, and what the store holds after
        /// it; nil for nobody.
        ///
        /// It is waited for. What is only looked at (a dry run) and what is purged by choice is not told.
        public var onCollection: (@Sendable (RemovalReport, Totals) -> Void)?
        /// Decides when received bytes are recorded and synced.
        package var clock = StoreClock.continuous
        /// Whether transfers share a few threads, for programs that run no tasks of high priority.
        package var sharesThreads = false
        /// Whether the lengths of blobs count where the file system allows that; false to rely on commits alone.
        package var trustsLengths = true

        /// Makes a configuration; the defaults are 16 GiB, 30 days, 64 MiB and 7 days.
        public init(
            maximumSize: Int64 = 16 << 30, maximumAge: Int64 = 30 * 86_400, durableInterval: Int64 = 64 << 20,
            gracePeriod: Int64 = 7 * 86_400
        ) {
            self.maximumSize = maximumSize
            self.maximumAge = maximumAge
            self.durableInterval = durableInterval
            self.gracePeriod = gracePeriod
        }
    }

    /// The folder.
    public let path: String
    /// What the store was told.
    public let configuration: Configuration

    package let folder: StoreFolder
    private let presence: Presence
    let database: Database
    let guardLock: StoreLock
    let checkpointer: Checkpointer
    let pausedEntries = PausedEntries()
    let briefWatch: BriefWatch
    let deliveries: DeliveryBatch
    /// The key of the hashes that tell whose bytes are held.
    package let identityKey: [UInt8]

    init(
        folder: StoreFolder, presence: Presence, database: Database, guardLock: StoreLock, identityKey: [UInt8],
        configuration: Configuration
    ) {
        self.identityKey = identityKey
        path = folder.path
        self.folder = folder
        self.presence = presence
        self.database = database
        self.guardLock = guardLock
        self.configuration = configuration
        checkpointer = Checkpointer(folder: folder, lock: guardLock)
        briefWatch = BriefWatch(clock: configuration.clock)
        deliveries = DeliveryBatch(of: folder)
    }

    /// Closes the database after a last checkpoint.
    ///
    /// Transfers still open fail from then on.
    public func close() async {
        // In a forked child it is the parent's, who goes on with it.
        if ForkedChild.isCurrent { return }
        let checkpointer = checkpointer
        // What the checkpoint could not do, the next opening does.
        try? await database.withConnection { connection in try checkpointer.finish(connection) }
        await database.close()
        presence.end()
    }

    /// Runs a synchronous body in a writing transaction, beside other writers but never beside a checkpoint.
    ///
    /// - Throws: ``StoreError``
    package func write<Result: Sendable>(
        durability: Connection.CommitDurability = .process,
        _ body: @Sendable (borrowing Connection) throws -> Result
    ) async throws -> Result {
        try StoreError.refuseForkedChild()
        do {
            return try await database.withConnection { connection in
                try write(with: connection, durability: durability, body)
            }
        } catch {
            throw StoreError(wrapping: error)
        }
    }

    /// Does what ``write(durability:_:)`` does on the calling thread, which it blocks.
    ///
    /// - Throws: ``StoreError``
    func writeNow<Result: Sendable>(
        durability: Connection.CommitDurability = .process, _ body: @Sendable (borrowing Connection) throws -> Result
    ) throws -> Result {
        try StoreError.refuseForkedChild()
        do {
            return try database.withConnectionNow { try write(with: $0, durability: durability, body) }
        } catch {
            throw StoreError(wrapping: error)
        }
    }

    private func write<Result>(
        with connection: borrowing Connection, durability: Connection.CommitDurability,
        _ body: (borrowing Connection) throws -> Result
    ) throws -> Result {
        let result = try guardLock.shared {
            try connection.transaction(.immediate, durability: durability) { try body(connection) }
        }
        // The commit stands, whatever becomes of the log; `doctor` shows its size.
        try? checkpointer.committed(connection)
        return result
    }

    /// Runs a synchronous body that only reads, on one state of the database.
    ///
    /// - Throws: ``StoreError``, `CancellationError`
    package func read<Result: Sendable>(_ body: @Sendable (borrowing Connection) throws -> Result) async throws
        -> Result
    {
        try await read(from: database, body)
    }

    /// Does what ``read(_:)`` does with a connection of its own, beside what transfers read and write: for what may take
    /// long.
    ///
    /// - Throws: ``StoreError``, `CancellationError`
    package func survey<Result: Sendable>(_ body: @Sendable (borrowing Connection) throws -> Result) async throws
        -> Result
    {
        // A store that is closed says so.
        try await read { _ in }
        let (path, survey) = (folder.databasePath, Database(label: "resume-store.survey"))
        do {
            // Not for reading only: then SQLite's integrity check leaves out the CHECK constraints.
            try await survey.open {
                let connection = try Connection.open(path: path)
                try connection.execute("PRAGMA query_only = ON")
                return connection
            }
        } catch {
            // Without another descriptor, or after the folder was moved, it takes its turn.
            return try await read(body)
        }
        do {
            let result = try await read(from: survey, body)
            await survey.close()
            return result
        } catch {
            await survey.close()
            throw error
        }
    }

    private func read<Result: Sendable>(
        from database: Database, _ body: @Sendable (borrowing Connection) throws -> Result
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

    /// Does what ``read(_:)`` does, to its end also where the task is cancelled: for what is asked for then.
    ///
    /// - Throws: ``StoreError``
    func readToEnd<Result: Sendable>(
        _ body: @Sendable (borrowing Connection) throws -> Result
    ) async throws -> Result {
        try StoreError.refuseForkedChild()
        do {
            return try await database.withConnection { connection in
                try connection.transaction(.deferred) { try body(connection) }
            }
        } catch {
            throw StoreError(wrapping: error)
        }
    }
}

extension DownloadStore {
    /// All entries, least recently used first.
    ///
    /// - Throws: ``StoreError``
    public func entries() async throws -> [Entry] {
        let leases = try leaseFile()
        return try await survey { connection in try connection.entries() }.map { entry in
            var entry = entry
            entry.isInUse = (try? leases.isLocked(entry.id)) ?? false
            return entry
        }
    }

    /// The entry of a key.
    ///
    /// - Parameter key: What names it in the store, as ``Entry/key`` has it: the ranges of a selection are a part of that.
    /// - Returns: The entry, nil where there is none.
    /// - Throws: ``StoreError``
    public func entry(key: String) async throws -> Entry? {
        let leases = try leaseFile()
        guard var entry = try await read({ connection in try connection.entry(key: key) }) else { return nil }
        entry.isInUse = (try? leases.isLocked(entry.id)) ?? false
        return entry
    }

    /// The last events, oldest first.
    ///
    /// - Parameter key: Only those of one download, by what names it in the store; nil for all.
    /// - Returns: At most the last 1000.
    /// - Throws: ``StoreError``
    public func events(key: String? = nil) async throws -> [Event] {
        try await read { connection in try connection.events(key: key) }
    }

    /// The store's sums, without a scan.
    ///
    /// - Throws: ``StoreError``
    public func totals() async throws -> Totals {
        try await read { connection in try connection.totals() }
    }

    /// Keeps an entry from the collector, or no longer.
    ///
    /// - Returns: Whether there is such an entry.
    /// - Throws: ``StoreError``
    public func setPinned(_ isPinned: Bool, key: String) async throws -> Bool {
        try await write { connection in
            try connection.run("UPDATE download SET pinned = ? WHERE key = ?", .flag(isPinned), .text(key)) > 0
        }
    }

    /// Records that something happened, for ``events(key:)``.
    ///
    /// - Throws: ``StoreError``
    public func record(_ kind: Event.Kind, key: String, reason: Reason, bytes: Int64 = 0) async throws {
        let event = Event(key: key, at: WallClock.milliseconds, kind: kind, reason: reason, bytes: bytes)
        try await write { connection in try connection.record(event) }
    }

    package func leaseFile() throws -> ByteLocks {
        try StoreError.refuseForkedChild()
        do {
            return try folder.locks(.leases)
        } catch {
            throw StoreError(wrapping: error)
        }
    }
}
