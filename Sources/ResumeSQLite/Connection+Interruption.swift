internal import CResumeSQLite
import Synchronization

/// Tells a running query to stop because its result is no longer needed.
package final class CancellationFlag: Sendable {
    private let isSet = Atomic<Bool>(false)

    package init() {}

    package func set() {
        isSet.store(true, ordering: .relaxed)
    }

    package var value: Bool { isSet.load(ordering: .relaxed) }
}

extension Connection {
    /// How often the flag is checked, in virtual machine instructions of SQLite: about every 100 µs.
    private static let instructionsBetweenLooks: Int32 = 10_000

    /// Runs a closure whose queries end with `SQLITE_INTERRUPT` when the flag is set.
    ///
    /// `sqlite3_interrupt` is not used, because it has no effect between two statements or before the first one.
    borrowing func interruptible<Result>(by flag: CancellationFlag, _ body: () throws -> Result) rethrows -> Result {
        try withExtendedLifetime(flag) {
            unsafe withHandle { handle in
                let context = unsafe Unmanaged.passUnretained(flag).toOpaque()
                unsafe sqlite3_progress_handler(
                    handle, Self.instructionsBetweenLooks,
                    { context in
                        guard let context = unsafe context else { return 0 }
                        return unsafe Unmanaged<CancellationFlag>.fromOpaque(context).takeUnretainedValue().value
                            ? 1 : 0
                    }, context)
            }
            defer { unsafe withHandle { unsafe sqlite3_progress_handler($0, 0, nil, nil) } }
            return try body()
        }
    }
}
