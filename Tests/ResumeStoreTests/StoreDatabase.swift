import ResumeMaintenance
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

extension TemporaryFolder {
    /// Takes back what the fifth and the seventh migration add to the entries.
    static let withoutRequesters = """
        ALTER TABLE download DROP COLUMN suggested_filename;
        ALTER TABLE download DROP COLUMN requester;
        ALTER TABLE download DROP COLUMN vary;
        ALTER TABLE download DROP COLUMN varied;
        ALTER TABLE download DROP COLUMN variant;
        ALTER TABLE download DROP COLUMN refused_digest;
        """

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
