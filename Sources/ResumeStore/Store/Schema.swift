import ResumeHTTP
import ResumeMigrations
package import ResumeSQLite

/// Checks that a database belongs to a store and has the expected schema, and migrates it.
package enum Schema {
    /// The schema version that this release reads and writes.
    package static let version = Migration.all.last?.version ?? 0

    /// Migrates a database that is older or empty, and does not change others.
    ///
    /// If there are blobs (`hasBlobs`), an empty database is one that was lost.
    static func prepare(
        _ connection: borrowing Connection, at path: String, lock: StoreLock, tell: ((Int64, Int64) -> Void)?,
        hasBlobs: () throws -> Bool
    ) throws {
        var version = try verifiedVersion(connection, at: path)
        var filled: Int64 = 0
        while version < Self.version {
            // Exclusively, since other processes must not switch to WAL mode or create the first tables at the same
            // time. Released after each batch, so that no other process waits for all of them.
            try lock.exclusively {
                version = try verifiedVersion(connection, at: path)
                if version == 0 {
                    guard try !hasBlobs() else { throw emptied(path) }
                    try connection.execute(layout)
                    try useLog(connection, at: path)
                }
                for migration in Migration.all where migration.version > version {
                    if migration.followsFill, let last = try fill(connection, after: filled, tell) {
                        filled = last
                        break
                    }
                    try apply(migration, to: connection)
                    version = migration.version
                }
            }
        }
        if try connection.text("PRAGMA journal_mode") != "wal" {
            // Another program disabled it; the store's lock requires this mode.
            try lock.exclusively { try useLog(connection, at: path) }
        }
    }

    /// The number of rows that are filled in one transaction.
    private static let batch: Int64 = 8192

    /// Fills the new columns of the next rows; after an interruption, rows that are filled already are only read.
    ///
    /// - Returns: The ID of the last row; nil if there are no more.
    private static func fill(
        _ connection: borrowing Connection, after id: Int64, _ tell: ((Int64, Int64) -> Void)?
    ) throws -> Int64? {
        let last = try connection.transaction(.immediate) { try connection.sumReceived(after: id, limit: batch) }
        // While the lock is held, so that the log does not contain all rows.
        try connection.checkpoint(.passive)
        if let tell, let last {
            let count = try connection.count("SELECT count(*) FROM download")
            tell(try connection.integer("SELECT count(*) FROM download WHERE id <= ?", last) ?? count, count)
        }
        return last
    }

    package static let pageSize: Int64 = 4096

    /// Settings that must be set before the first table is created.
    private static let layout = "PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = INCREMENTAL;"

    /// Creates the tables in an empty database that nothing else uses, without a write-ahead log.
    package static func create(_ connection: borrowing Connection) throws {
        try connection.execute(layout)
        for migration in Migration.all { try apply(migration, to: connection) }
    }

    private static func emptied(_ path: String) -> StoreError {
        StoreError(.damaged, Reason("emptied", with: path), remedy: .rebuild)
    }

    private static func useLog(_ connection: borrowing Connection, at path: String) throws {
        guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreError(.unsupportedFileSystem, Reason("log-unusable", with: path))
        }
    }

    /// Applies a migration and sets its version in one transaction.
    static func apply(_ migration: Migration, to connection: borrowing Connection) throws {
        // To sort the rows for an index in memory, SQLite would need as much as all of them.
        try connection.execute("PRAGMA temp_store = FILE")
        defer { try? connection.execute("PRAGMA temp_store = MEMORY") }
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
                try connection.count("PRAGMA application_id"), try Texts(of: connection)
            )
        }
        if texts.isEmpty && version == 0 { return 0 }
        guard application == DownloadStore.applicationID else {
            throw StoreError(.notAStore, Reason("foreign", with: path, StoreFolder.databaseName))
        }
        guard version <= Self.version else {
            throw StoreError(.newerStore, Reason("store-newer", with: path, version))
        }
        // To create the schema of each version takes longer than all else that opens a store.
        let isCurrent = version == Self.version && texts.digest == Migration.digest
        if !isCurrent, let difference = texts.difference(from: try .expected(at: version)) {
            let reason = Reason("changed", with: path, difference.text, version)
            throw StoreError(difference.isAddition ? .notAStore : .damaged, reason, remedy: .rebuild)
        }
        return version
    }
}
