internal import ResumeFiles
internal import ResumeMigrations
package import ResumeSQLite

extension DownloadStore {
    /// The application ID of the database: "RSUM".
    package static let applicationID: Int64 = 0x5253_554D

    /// Opens the store in a folder.
    ///
    /// - Parameters:
    ///   - path: The folder, which should contain nothing but the store.
    ///   - creating: Whether to create the store, the folder and its parents if they do not exist.
    ///   - configuration: Limits and intervals.
    /// - Returns: The store.
    /// - Throws: ``StoreError``: `noStore`, `notAStore`, `damaged`, `newerStore`, `unsupportedFileSystem`,
    ///   `unsupportedSQLite`, `noSpace`, `io`, `forkedChild`. Nothing is deleted or repaired automatically.
    public static func open(
        at path: String, creating: Bool = true, configuration: Configuration = Configuration()
    ) async throws -> DownloadStore {
        ForkedChild.watch()
        try StoreError.refuseForkedChild()
        guard SQLiteLibrary.versionNumber >= SQLiteLibrary.oldestSupported else {
            throw StoreError(
                .unsupportedSQLite, "SQLite \(SQLiteLibrary.version) is too old",
                advice: "Version 3.37 or later is required.")
        }
        let database = Database(label: "resume-store.database")
        do {
            let (folder, presence, lock) = try await database.opening(path: path, creating: creating)
            let identityKey = try await database.withConnection { connection in
                if let key = try connection.identityKey() { return key }
                return try lock.shared {
                    try connection.transaction(.immediate, durability: .power) { try connection.renewIdentityKey() }
                }
            }
            return DownloadStore(
                folder: folder, presence: presence, database: database, guardLock: lock, identityKey: identityKey,
                configuration: configuration)
        } catch {
            await database.close()
            throw StoreError(wrapping: error, at: path)
        }
    }
}

extension Database {
    /// Opens the folder, the lock and the connection, and migrates the schema, on the database's queue.
    fileprivate func opening(path: String, creating: Bool) throws -> (StoreFolder, Presence, StoreLock) {
        let folder = try StoreFolder(path: path, creating: creating)
        if !creating { try folder.requireStore() }
        // Before reading the database, which a rebuild replaces.
        let presence = try Presence(in: folder)
        try folder.requireOwnFiles()
        let isNew = try folder.prepareDatabaseFile(creating: creating)
        let lock = try StoreLock(writersIn: folder.root)
        try openGivingUpReserve(of: folder) {
            let connection = try Connection.open(path: folder.databasePath)
            try folder.requireKnownFormat(of: connection)
            try Schema.prepare(connection, at: folder.path, lock: lock) { try folder.hasBlobs() }
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
                throw StoreError(
                    .damaged, "the database at \(folder.path) is damaged: \(error.message)",
                    advice: "Nothing was deleted. \(StoreError.rebuildAdvice)", cause: error)
            default: throw error
            }
            guard try folder.root.space() < StoreFolder.reserveSize else { throw error }
            folder.giveUpReserve()
            do {
                try open(make)
            } catch is SQLiteError {
                throw StoreError(
                    .noSpace, "the file system of \(folder.path) is full: SQLite cannot create its write-ahead log",
                    advice: "Free some space; the partial data is kept.", cause: error)
            }
        }
    }
}

/// Checks that a database belongs to a store and has the expected schema, and migrates it.
package enum Schema {
    /// The schema version that this release reads and writes.
    package static let version = Migration.all.last?.version ?? 0

    /// Migrates a database that is older or empty, and does not change others.
    ///
    /// If there are blobs (`hasBlobs`), an empty database is one that was lost.
    static func prepare(
        _ connection: borrowing Connection, at path: String, lock: StoreLock, hasBlobs: () throws -> Bool
    ) throws {
        var version = try verifiedVersion(connection, at: path)
        if version < Self.version {
            // Exclusively, since other processes must not switch to WAL mode or create the first tables at the same
            // time.
            try lock.exclusively {
                version = try verifiedVersion(connection, at: path)
                if version == 0 {
                    guard try !hasBlobs() else { throw emptied(path) }
                    try connection.execute(layout)
                    try useLog(connection, at: path)
                }
                for migration in Migration.all where migration.version > version {
                    try apply(migration, to: connection)
                }
            }
        }
        if try connection.text("PRAGMA journal_mode") != "wal" {
            // Another program disabled it; the store's lock requires this mode.
            try lock.exclusively { try useLog(connection, at: path) }
        }
    }

    /// The page size in bytes.
    package static let pageSize: Int64 = 4096

    /// Settings that must be set before the first table is created.
    private static let layout = "PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = INCREMENTAL;"

    /// Creates the tables in an empty database that nothing else uses, without a write-ahead log.
    package static func create(_ connection: borrowing Connection) throws {
        try connection.execute(layout)
        for migration in Migration.all { try apply(migration, to: connection) }
    }

    private static func emptied(_ path: String) -> StoreError {
        StoreError(
            .damaged, "the database at \(path) is empty although there are data files",
            advice: "Another program emptied it; nothing was deleted. \(StoreError.rebuildAdvice)")
    }

    private static func useLog(_ connection: borrowing Connection, at path: String) throws {
        guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreError(
                .unsupportedFileSystem, "SQLite cannot use its write-ahead log at \(path)",
                advice: "Choose a folder on a local disk.")
        }
    }

    /// Applies a migration and sets its version in one transaction.
    static func apply(_ migration: Migration, to connection: borrowing Connection) throws {
        try connection.transaction(.immediate, durability: .power) {
            try connection.execute(migration.sql)
            try connection.execute(
                """
                PRAGMA user_version = \(migration.version);
                PRAGMA application_id = \(DownloadStore.applicationID);
                """)
        }
    }

    /// Returns the version of a database after checking that it belongs to a store and has the schema of that version.
    package static func verifiedVersion(_ connection: borrowing Connection, at path: String) throws -> Int64 {
        // In one snapshot of the database, since another process may be migrating it.
        let (version, application, texts) = try connection.transaction(.deferred) {
            (
                try connection.count("PRAGMA user_version"),
                try connection.count("PRAGMA application_id"), try SchemaTexts(of: connection)
            )
        }
        if texts.isEmpty && version == 0 { return 0 }
        guard application == DownloadStore.applicationID else {
            throw StoreError(
                .notAStore, "\(path)/\(StoreFolder.databaseName) is the database of another program",
                advice: "Choose another folder for the store.")
        }
        guard version <= Self.version else {
            throw StoreError(
                .newerStore, "the store at \(path) was created by a newer version of this program (schema \(version))",
                advice: "Use that version, or choose another folder for the store. Nothing was changed.")
        }
        if let difference = texts.difference(from: try .expected(at: version)) {
            throw StoreError(
                difference.isAddition ? .notAStore : .damaged,
                "the database at \(path) \(difference.text) (schema \(version))",
                advice: "Another program changed it; nothing was deleted. \(StoreError.rebuildAdvice)")
        }
        return version
    }
}
