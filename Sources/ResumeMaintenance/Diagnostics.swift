import ResumeFiles
import ResumeHTTP
import ResumeSQLite
package import ResumeStore

/// Checks that do not need an open store.
package enum Diagnostics {
    /// A fact about a store, and whether there is a problem with it.
    package struct Check: Sendable, Hashable {
        /// What was checked.
        package var name: String
        /// The value that was found.
        package var value: String
        /// What is wrong; nil if nothing is.
        package var problem: String?
        /// What removes the problem; nil if the text says it.
        package var remedy: StoreError.Remedy?

        /// Creates a check.
        package init(name: String, value: String, problem: String? = nil, remedy: StoreError.Remedy? = nil) {
            self.name = name
            self.value = value
            self.problem = problem
            self.remedy = remedy
        }
    }

    /// A check of the SQLite library that this process is linked with.
    package static var library: Check {
        Check(
            name: "sqlite",
            value: SQLiteLibrary.hasWALResetBug
                ? sentence("reset-bug", SQLiteLibrary.version)
                : SQLiteLibrary.version,
            problem: SQLiteLibrary.versionNumber < SQLiteLibrary.oldestSupported
                ? sentence("sqlite-too-old") : nil)
    }
}

extension DownloadStore {
    /// Checks library, pragmas, file system, locks, free space, and the consistency of rows and blobs.
    ///
    /// - Returns: The checks, in the order for display.
    /// - Throws: `StoreError`.
    package func diagnose() async throws -> [Diagnostics.Check] {
        var checks = [Diagnostics.library]
        func add(_ name: String, _ value: some CustomStringConvertible, _ problem: String? = nil) {
            checks.append(Diagnostics.Check(name: name, value: value.description, problem: problem))
        }
        let expected: [(pragma: String, value: String)] = [
            ("journal_mode", "wal"), ("synchronous", "1"), ("wal_autocheckpoint", "0"), ("foreign_keys", "1"),
            ("trusted_schema", "0"), ("user_version", "\(Schema.version)"),
        ]
        let values = try await read { connection in
            try expected.map { pragma in
                try connection.first("PRAGMA \(pragma.pragma)") { $0.text(0) ?? $0.integer(0)?.description } ?? "none"
            }
        }
        for ((pragma, wanted), value) in zip(expected, values) {
            add(pragma, value, value == wanted ? nil : "should be \(wanted)")
        }
        let totals = try await totals()
        add("entries", totals.entries)
        add("held_bytes", totals.receivedBytes)
        try StoreError.wrapping {
            let log = try folder.logSize()
            add("log_bytes", log, log > 64 << 20 ? "the write-ahead log was not checkpointed" : nil)
            add("file_system", folder.root.fileSystem)
            let leases = try leaseFile()
            let again = try leaseFile()
            let works = try leases.tryLock(0) && !again.tryLock(0)
            add(
                "locks", works ? "work" : "do not work",
                works ? nil : sentence("no-locks"))
        }
        let free = try freeSpace()
        add("free_bytes", free, free < 16 << 20 ? "the file system is almost full" : nil)
        checks += try await diagnoseContent()
        return checks
    }
}
