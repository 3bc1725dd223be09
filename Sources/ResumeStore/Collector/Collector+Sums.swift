import ResumeFiles
import ResumeSQLite

/// The totals that the store records, and the rows that they are the sums of.
extension Collector {
    /// Removes the rows that cannot be read, and sets the totals to the sums of the other rows, if the totals are wrong.
    ///
    /// Whether they are is read from an index; all rows are read only then.
    func repairSums() async throws {
        let isRight = try await store.survey { connection in try connection.totals() == connection.sums() }
        if isRight { return }
        _ = try await unreadableRows(removing: true)
        _ = try await wrongTotals(repairing: true)
    }

    /// The number of rows that cannot be read.
    ///
    /// - Throws: ``StoreError``
    package func unreadableRows(removing: Bool) async throws -> Int64 {
        let count = try await store.survey { connection in try connection.unreadableRows() }
        if count > 0, removing { try await store.write { connection in try connection.removeUnreadableRows() } }
        return count
    }

    /// The recorded totals and the sums of the rows, and the number of entries with another sum than their parts; nil
    /// if all are right.
    ///
    /// - Throws: ``StoreError``
    package func wrongTotals(
        repairing: Bool
    ) async throws -> (recorded: Totals, sums: Totals, entries: Int64)? {
        let wrong = try await store.survey { connection in try connection.wrongSums() }
        if repairing, wrong > 0 {
            var position: Int64? = .min
            while let start = position {
                position = try await store.write { connection in try connection.sumReceived(after: start, limit: 4096) }
            }
        }
        let found = try await store.survey { connection in (try connection.totals(), try connection.sums()) }
        guard wrong > 0 || found.0 != found.1 else { return nil }
        if repairing { try await store.write { connection in try connection.setTotals() } }
        return (found.0, found.1, wrong)
    }
}
