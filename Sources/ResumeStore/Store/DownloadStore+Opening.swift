internal import ResumeFiles
internal import ResumeMigrations
package import ResumeSQLite

extension DownloadStore {
    /// What marks the database as this library's: "RSUM".
    package static let applicationID: Int64 = 0x5253_554D

    /// Opens the store in a folder.
    ///
    /// - Parameters:
    ///   - path: The folder. It should be the store's alone.
    ///   - creating: Whether a store that is not there is made, with the folder and its parents.
    ///   - configuration: Budget and intervals.
    /// - Returns: The store.
    /// - Throws: ``StoreError``: `noStore`, `notAStore`, `damaged`, `newerStore`, `unsupportedFileSystem`,
    ///   `unsupportedSQLite`, `noSpace`, `io`, `forkedChild`. Nothing is erased or repaired by itself.
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
    /// Opens folder, lock and connection and brings the schema up to date, on the database's own queue.
    fileprivate func opening(path: String, creating: Bool) throws -> (StoreFolder, Presence, StoreLock) {
        let folder = try StoreFolder(path: path, creating: creating)
        if !creating { try folder.requireStore() }
        // Before the database is looked at, which a rebuild replaces.
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

    /// Opens; on a full disk a second time, with the reserve's place for the log's index.
    private func openGivingUpReserve(of folder: StoreFolder, _ make: @Sendable () throws -> Connection) throws {
        do {
            try open(make)
        } catch let error as SQLiteError {
            switch error.code {
            case .ioError, .full, .cannotOpen: break
            case .error, .schema:
                // Statements that never change: it is the file that SQLite cannot make sense of.
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

/// The schema of the database: is it ours, is it whole, is it up to date.
package enum Schema {
    /// The version that this release reads and writes.
    package static let version = Int64(Migration.all.count)

    /// Migrates a database that is older or empty; leaves any other one as it is.
    ///
    /// An empty one beside blobs (`hasBlobs`) is one that was lost.
    static func prepare(
        _ connection: borrowing Connection, at path: String, lock: StoreLock, hasBlobs: () throws -> Bool
    ) throws {
        var version = try verifiedVersion(connection, at: path)
        if version < Self.version {
            // Alone, since the change to WAL mode and the first tables must not meet another process's.
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
            // Somebody switched it off; the lock above knows no other mode.
            try lock.exclusively { try useLog(connection, at: path) }
        }
    }

    /// In bytes.
    package static let pageSize: Int64 = 4096

    /// Set before the first table is made.
    private static let layout = "PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = INCREMENTAL;"

    /// Makes the tables in an empty database that nobody else knows, without a log beside it.
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

    /// A migration and its version, in one transaction.
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

    /// The version of a database that is this library's and as the migrations of that version leave it.
    package static func verifiedVersion(_ connection: borrowing Connection, at path: String) throws -> Int64 {
        // On one state of the database: another process may be about to migrate it.
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
