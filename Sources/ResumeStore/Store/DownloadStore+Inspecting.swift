package import ResumeFiles
public import ResumeHTTP
import ResumeSQLite

extension DownloadStore {
    /// Returns the last events of a download, oldest first.
    ///
    /// - Parameter download: Its key or URL.
    /// - Returns: At most the last 1000 events.
    /// - Throws: ``StoreError``.
    public func events(for download: some DownloadKeyConvertible) async throws -> [Event] {
        let key = download.downloadKey.rawValue
        return try await read { connection in try connection.events(key: key) }
    }

    /// Returns the last events of all downloads, oldest first.
    ///
    /// - Returns: At most the last 1000 events.
    /// - Throws: ``StoreError``.
    public func events() async throws -> [Event] {
        try await read { connection in try connection.events(key: nil) }
    }

    /// Returns the totals without scanning the entries.
    ///
    /// - Throws: ``StoreError``.
    public func totals() async throws -> Totals {
        try await read { connection in try connection.totals() }
    }

    /// Protects an entry from the collector, or ends its protection.
    ///
    /// - Parameters:
    ///   - isPinned: Whether the collector keeps it.
    ///   - download: The download's key or URL.
    /// - Returns: Whether there is such an entry.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func setPinned(_ isPinned: Bool, for download: some DownloadKeyConvertible) async throws -> Bool {
        let key = download.downloadKey.rawValue
        return try await write { connection in
            try connection.run("UPDATE download SET pinned = ? WHERE key = ?", isPinned, key) > 0
        }
    }

    /// Records an event, which ``events()`` returns.
    ///
    /// - Throws: ``StoreError``.
    package func record(_ kind: Event.Kind, key: String, reason: Reason, bytes: Int64 = 0) async throws {
        try await write { connection in try connection.record(kind, key: key, reason: reason, bytes: bytes) }
    }

    /// Returns the number of bytes that can still be written to the store's file system.
    ///
    /// - Throws: ``StoreError``.
    package func freeSpace() throws -> Int64 {
        try StoreError.refuseForkedChild()
        return try StoreError.wrapping { try folder.blobs.file.space() }
    }

    package func leaseFile() throws -> ByteLocks { try lockFile(.leases) }

    func lockFile(_ file: StoreFolder.LockFile) throws -> ByteLocks {
        try StoreError.refuseForkedChild()
        return try StoreError.wrapping { try folder.locks(file) }
    }
}
