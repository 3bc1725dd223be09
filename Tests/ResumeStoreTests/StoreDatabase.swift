import ResumeMaintenance
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

extension TemporaryFolder {
    /// Runs SQL on the database of the store in this folder, through a separate connection.
    func sql(_ statement: String) throws {
        try Connection.open(path: self["store/store.sqlite"]).execute(statement)
    }

    /// The number that a query of that database returns.
    func integer(_ query: String) throws -> Int64 {
        try #require(try Connection.open(path: self["store/store.sqlite"]).integer(query))
    }

    /// Rebuilds the database of that store.
    func rebuild() async throws -> DownloadStore.RebuildReport {
        try await DownloadStore.rebuild(at: self["store"])
    }
}
