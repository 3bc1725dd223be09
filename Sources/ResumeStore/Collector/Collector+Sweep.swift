internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

extension DownloadStore {
    /// Removes files without rows, and rows without files that are not in use.
    func sweep(dryRun: Bool, into report: inout RemovalReport) async throws {
        let orphans = try await orphanedBlobs(removing: !dryRun)
        report.orphans += orphans.map { $0.name.path }
        report.orphanBytes += orphans.reduce(0) { $0 + $1.bytes }
        report.removed += try await removeEmptyEntries(dryRun: dryRun)
    }

    /// Finds blobs that no row refers to, and optionally removes them.
    ///
    /// The exclusive creation lock ensures that no blob is between its creation and the commit of its row. Files whose
    /// names are not valid for blobs do not belong to the store and are ignored.
    package func orphanedBlobs(removing: Bool) async throws -> [(name: BlobName, bytes: Int64)] {
        let folder = folder
        do {
            let lock = try StoreLock(creationsIn: folder)
            // Tried repeatedly without blocking the database's queue, which the holder of the lock may need.
            for _ in 0..<200 {
                let orphans = try await database.withConnection { connection in
                    try lock.exclusive {
                        try Self.orphans(in: folder, known: connection, removing: removing)
                    }
                }
                if let orphans { return orphans }
                try await Task.sleep(for: .milliseconds(10))
            }
            // The next collection removes them.
            return []
        } catch let error as CancellationError {
            throw error
        } catch {
            throw StoreError(wrapping: error)
        }
    }

    private static func orphans(
        in folder: StoreFolder, known connection: borrowing Connection, removing: Bool
    ) throws -> [(name: BlobName, bytes: Int64)] {
        let known = Set(try connection.rows("SELECT path FROM chunk") { $0.text(0) }.compactMap { $0 })
        let orphans = try folder.blobs.names().compactMap { BlobName(fileName: $0) }.filter { !known.contains($0.path) }
        return try orphans.compactMap { name in
            guard let status = try folder.blobs.status(of: name.fileName) else { return nil }
            // The store creates no folders here, so it belongs to another program.
            if status.kind == .folder { return nil }
            return (name, removing ? try folder.blobs.remove(name.fileName) : status.bytesOnDisk)
        }
    }

    /// Removes entries without bytes that are neither in use nor pinned: left by a process that ended before it
    /// recorded any bytes, or whose blob was removed by another program.
    private func removeEmptyEntries(dryRun: Bool) async throws -> [RemovalReport.Removed] {
        let (folder, leases) = (folder, try leaseFile())
        let isMissing: @Sendable (Entry) throws -> Bool = { entry in
            try entry.chunks.contains { chunk in
                guard let name = BlobName(path: chunk.path) else { return true }
                return try folder.blobs.status(of: name.fileName) == nil
            }
        }
        let chosen = try await read { connection in
            try connection.entries().filter { entry in
                let isEmpty = entry.receivedBytes == 0 && entry.state == .partial
                return try !entry.isPinned && (isEmpty || isMissing(entry)) && (try? leases.tryLock(entry.id)) == true
            }
        }
        if chosen.isEmpty { return [] }
        // Before the row is removed, and outside the database's queue, as in every removal.
        if !dryRun { try await Blocking.run { chosen.forEach(Self.removeLeftovers) } }
        let (removed, blobs) = try await write { connection in
            var removed: [RemovalReport.Removed] = []
            var blobs: [BlobName] = []
            for entry in chosen {
                guard try connection.entry(id: entry.id) == entry else { continue }
                let isMissing = try isMissing(entry)
                if isMissing { removed.append(.init(key: entry.key, bytes: 0, reason: .blobMissing)) }
                guard !dryRun else { continue }
                // The blob of an empty entry has only bytes that were not recorded, and cannot be used.
                blobs += try connection.remove(entry)
                if isMissing {
                    try connection.noteEviction(of: entry.name, bytes: entry.receivedBytes)
                    try connection.record(
                        .evicted, key: entry.key, reason: .blobMissing, bytes: entry.receivedBytes)
                }
            }
            return (removed, blobs)
        }
        try removeBlobs(blobs)
        // The locks are held until the files are removed.
        withExtendedLifetime(leases) {}
        return removed
    }

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
                advice: "Free some space, or choose a store on another disk with --store.")
        }
    }

    /// Returns the number of bytes that can still be written to the store's file system.
    ///
    /// - Throws: ``StoreError``.
    public func freeSpace() throws -> Int64 {
        try StoreError.refuseForkedChild()
        return try StoreError.wrapping { try folder.blobs.space() }
    }
}
