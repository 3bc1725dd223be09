package import ResumeFiles
public import ResumeHTTP
internal import ResumeSQLite

extension DownloadStore {
    /// Returns the last events, oldest first.
    ///
    /// - Parameter key: The ``Entry/key`` of an entry for its events only; nil for all events.
    /// - Returns: At most the last 1000 events.
    /// - Throws: ``StoreError``.
    public func events(key: String? = nil) async throws -> [Event] {
        try await read { connection in try connection.events(key: key) }
    }

    /// Returns the totals without scanning the entries.
    ///
    /// - Throws: ``StoreError``.
    public func totals() async throws -> Totals {
        try await read { connection in try connection.totals() }
    }

    /// Protects an entry from the collector, or ends its protection.
    ///
    /// - Returns: Whether there is such an entry.
    /// - Throws: ``StoreError``.
    public func setPinned(_ isPinned: Bool, key: String) async throws -> Bool {
        try await write { connection in
            try connection.run("UPDATE download SET pinned = ? WHERE key = ?", .flag(isPinned), .text(key)) > 0
        }
    }

    /// Records an event, which ``events(key:)`` returns.
    ///
    /// - Throws: ``StoreError``.
    public func record(_ kind: Event.Kind, key: String, reason: Reason, bytes: Int64 = 0) async throws {
        try await write { connection in try connection.record(kind, key: key, reason: reason, bytes: bytes) }
    }

    package func leaseFile() throws -> ByteLocks { try lockFile(.leases) }

    func lockFile(_ file: StoreFolder.LockFile) throws -> ByteLocks {
        try StoreError.refuseForkedChild()
        return try StoreError.wrapping { try folder.locks(file) }
    }
}
