import CResumeSQLite

extension Connection {
    /// How often the task is asked, in virtual machine instructions of SQLite: about every 100 µs.
    private static let instructionsBetweenLooks: Int32 = 10_000

    /// Runs a closure whose queries end with `SQLITE_INTERRUPT` when the current task is cancelled.
    ///
    /// `sqlite3_interrupt` is not used, because it has no effect between two statements or before the first one.
    borrowing func interruptible<Result>(_ body: () throws -> Result) rethrows -> Result {
        unsafe withHandle {
            unsafe sqlite3_progress_handler($0, Self.instructionsBetweenLooks, { _ in Task.isCancelled ? 1 : 0 }, nil)
        }
        defer { unsafe withHandle { unsafe sqlite3_progress_handler($0, 0, nil, nil) } }
        return try body()
    }
}
