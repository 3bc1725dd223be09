internal import ResumeFiles
internal import ResumeHTTP

/// Space for new downloads.
extension DownloadStore {
    /// The number of bytes by which log and database grow, at most, while a download is written to an almost full disk.
    private static let roomForRecords: Int64 = 1 << 20

    /// Makes room for a download before its first byte is written: on the disk, and within the size limit.
    ///
    /// - Throws: ``StoreError`` with `noSpace` if the disk has not enough space even without unused entries. Exceeding
    ///   the size limit is not an error, since the requested download has priority.
    func makeRoom(for length: Int64) async throws {
        let free = try freeSpace()
        let total = try await totals().receivedBytes
        // Nothing is removed for a download that does not fit anyway.
        let canFit = length <= free.addingSaturating(total)
        // Recording the download needs space in addition to its bytes.
        let deficit = max(length.addingSaturating(Self.roomForRecords) - free, 0)
        // A download that is larger than the size limit is an exception to it, not a reason to remove everything else.
        let share = length > configuration.maximumSize ? 0 : length
        let allowed = min(max(configuration.maximumSize - share, 0), max(total - deficit, 0))
        // A failing collection must not fail the download, since there may be enough space without it.
        if canFit, total > allowed, let report = try? await collect(maximumSize: allowed), !report.removed.isEmpty {
            // XFS frees the blocks of a removed file a moment later.
            var looks = 0
            while try freeSpace() < length, looks < 100 {
                try await Task.sleep(for: .milliseconds(20))
                looks += 1
            }
        }
        guard try freeSpace() >= length else {
            throw StoreError(
                .noSpace, "the download has \(length) bytes, but only \(try freeSpace()) bytes are free at \(path)",
                remedy: .otherDisk)
        }
    }

    /// Returns the number of bytes that can still be written to the store's file system.
    ///
    /// - Throws: ``StoreError``.
    package func freeSpace() throws -> Int64 {
        try StoreError.refuseForkedChild()
        return try StoreError.wrapping { try folder.blobs.space() }
    }
}
