import ResumeFiles
import ResumeSQLite

extension DownloadStore {
    /// Returns the names of entries or jobs that begin with some text, for a shell that completes a word.
    ///
    /// Nothing is changed: a store of an older release is not converted, and its names are not found.
    ///
    /// - Parameters:
    ///   - search: What is searched for.
    ///   - path: The folder of the store.
    /// - Returns: The matches, sorted.
    /// - Throws: ``StoreError``.
    package static func matches(of search: NameSearch, at path: String) async throws -> [NameSearch.Match] {
        let database = Database(label: "resume-store.names")
        do {
            let presence = try await database.openReading(path)
            let matches = try await database.read { connection in
                try connection.transaction(.deferred) { try connection.matches(search) }
            }
            await database.close()
            presence.end()
            return matches
        } catch {
            await database.close()
            throw StoreError(wrapping: error, at: path)
        }
    }
}

extension Database {
    /// Opens the database of a store that has the schema of this release, on the database's queue.
    fileprivate func openReading(_ path: String) throws -> Presence {
        let folder = try StoreFolder(path: path, creating: false)
        try folder.requireStore()
        let presence = try Presence(in: folder)
        try folder.requireOwnFiles()
        try open {
            let connection = try Connection.open(path: folder.databasePath, busyTimeout: 100)
            try connection.execute("PRAGMA query_only = ON")
            guard try Schema.verifiedVersion(connection, at: path) == Schema.version else {
                throw StoreError(.noStore, "the store at \(path) is of an older release")
            }
            return connection
        }
        return presence
    }
}
