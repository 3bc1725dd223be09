import ResumeFiles
import ResumeHTTP
import ResumeSQLite

extension DownloadStore {
    /// The application ID of the database: "RSUM".
    package static let applicationID: Int64 = 0x5253_554D

    /// Opens the store in a folder.
    ///
    /// - Parameters:
    ///   - path: The folder, which should contain nothing but the store.
    ///   - creating: Whether to create the store, the folder and its parents if they do not exist. Only the current user
    ///     can access new folders.
    ///   - configuration: Limits and intervals.
    /// - Returns: The store.
    /// - Throws: ``StoreError``: `noStore`, `notAStore`, `damaged`, `newerStore`, `unsupportedFileSystem`, `noSpace`,
    ///   `io`; also if SQLite is too old or the process is a fork. Nothing is deleted or repaired automatically.
    public static func open(
        at path: String, creating: Bool = true, configuration: Configuration = Configuration()
    ) async throws -> DownloadStore {
        ForkedChild.watch()
        try StoreError.refuseForkedChild()
        guard SQLiteLibrary.versionNumber >= SQLiteLibrary.oldestSupported else {
            throw StoreError(.unsupportedSQLite, Reason("sqlite-old", with: SQLiteLibrary.version))
        }
        let database = Database(label: "resume-store.database")
        do {
            let (folder, presence, lock) = try await database.opening(
                path: path, creating: creating, isShared: configuration.isShared, tell: configuration.onMigration)
            let identityKey = try await database.withConnection { connection in
                if let key = try connection.identityKey() { return key }
                return try lock.shared {
                    try connection.transaction(.immediate, durability: .power) { try connection.renewIdentityKey() }
                }
            }
            return DownloadStore(
                folder: folder, presence: presence, database: database, lookups: await database.reader(of: folder),
                guardLock: lock, identityKey: identityKey, configuration: configuration)
        } catch {
            await database.close()
            throw StoreError(wrapping: error, at: path)
        }
    }
}

extension Database {
    /// Opens another connection, which only reads.
    ///
    /// - Returns: The connection; this one if no file descriptor is left, or the folder was moved.
    nonisolated func reader(of folder: StoreFolder) async -> Database {
        let reader = Database(label: "resume-store.reader")
        do {
            // Not opened as read-only, since SQLite's integrity check would then skip CHECK constraints.
            try await reader.open {
                let connection = try Connection.open(path: folder.databasePath)
                try connection.execute("PRAGMA query_only = ON")
                try folder.requireSamePlace()
                return connection
            }
            return reader
        } catch {
            return self
        }
    }

    /// Opens the folder, the lock and the connection, and migrates the schema, on the database's queue.
    fileprivate func opening(
        path: String, creating: Bool, isShared: Bool, tell: (@Sendable (Int64, Int64) -> Void)?
    ) throws -> (StoreFolder, Presence, StoreLock) {
        let folder = try StoreFolder(path: path, creating: creating, isShared: isShared)
        if !creating { try folder.requireStore() }
        // Before reading the database, which a rebuild replaces.
        let presence = try Presence(in: folder)
        try folder.requireOwnFiles()
        let isNew = try folder.prepareDatabaseFile(creating: creating)
        let lock = try StoreLock(writersIn: folder.root)
        try openGivingUpReserve(of: folder) {
            let connection = try Connection.open(path: folder.databasePath)
            try folder.requireKnownFormat(of: connection)
            try Schema.prepare(connection, at: folder.path, lock: lock, tell: tell) { try folder.hasBlobs() }
            return connection
        }
        if isNew { try folder.root.file.synchronize() }
        folder.fillReserve()
        return (folder, presence, lock)
    }

    /// Opens the connection; if the disk is full, removes the reserve to make space for the log's index and tries
    /// again.
    private func openGivingUpReserve(of folder: StoreFolder, _ make: @Sendable () throws -> Connection) throws {
        do {
            try open(make)
        } catch let error as SQLiteError {
            switch error.code {
            case .ioError, .full, .cannotOpen: break
            case .error, .schema:
                // The statements never change, so it is the file that SQLite cannot interpret.
                let reason = Reason("database-damaged", with: folder.path, error.message)
                throw StoreError(.damaged, reason, remedy: .rebuild, cause: error)
            default: throw error
            }
            guard try folder.root.file.space() < StoreFolder.reserveSize else { throw error }
            folder.giveUpReserve()
            do {
                try open(make)
            } catch is SQLiteError {
                throw StoreError(.noSpace, Reason("log-space", with: folder.path), cause: error)
            }
        }
    }
}
