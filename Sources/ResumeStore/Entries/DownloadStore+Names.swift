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
        try await Blocking.run {
            try StoreError.wrapping(at: path) {
                let folder = try StoreFolder(path: path, creating: false)
                try folder.requireStore()
                let presence = try Presence(in: folder)
                defer { presence.end() }
                try folder.requireOwnFiles()
                let connection = try Connection.open(path: folder.databasePath, busyTimeout: 100)
                try connection.execute("PRAGMA query_only = ON")
                guard try Schema.verifiedVersion(connection, at: path) == Schema.version else {
                    throw StoreError(.noStore, "the store at \(path) is of an older release")
                }
                return try connection.transaction(.deferred) { try connection.matches(search) }
            }
        }
    }
}
