internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

extension DownloadStore {
    /// Files without rows go at once; rows without files go if nobody works on them.
    func sweep(dryRun: Bool, into report: inout RemovalReport) async throws {
        let orphans = try await orphanedBlobs(removing: !dryRun)
        report.orphans += orphans.map { $0.name.path }
        report.orphanBytes += orphans.reduce(0) { $0 + $1.bytes }
        report.removed += try await removeEmptyEntries(dryRun: dryRun)
    }

    /// Blobs that no row names.
    ///
    /// With the lock of creations held alone nobody can be between making a blob and committing its row. Files whose
    /// names no blob has are not the store's, and are left alone.
    package func orphanedBlobs(removing: Bool) async throws -> [(name: BlobName, bytes: Int64)] {
        let folder = folder
        do {
            let lock = try StoreLock(creationsIn: folder)
            // Tried again and again, never waited for on the database's queue: whoever holds the lock may need it.
            for _ in 0..<200 {
                let orphans = try await database.withConnection { connection in
                    try lock.exclusive {
                        try Self.orphans(in: folder, known: connection, removing: removing)
                    }
                }
                if let orphans { return orphans }
                try await Task.sleep(for: .milliseconds(10))
            }
            // They wait for the next collection.
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
            // Nobody here makes folders: it is somebody else's.
            if status.kind == .folder { return nil }
            return (name, removing ? try folder.blobs.remove(name.fileName) : status.bytesOnDisk)
        }
    }

    /// Entries of which nothing is held, idle and not pinned: left by a process that died before it had recorded a
    /// byte, or with a blob that somebody removed.
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
        // Before the row goes, and beside the database's queue, as in every removal.
        if !dryRun { try await Blocking.run { chosen.forEach(Self.removeLeftovers) } }
        let (removed, blobs) = try await write { connection in
            var removed: [RemovalReport.Removed] = []
            var blobs: [BlobName] = []
            for entry in chosen {
                guard try connection.entry(id: entry.id) == entry else { continue }
                let isMissing = try isMissing(entry)
                if isMissing { removed.append(.init(key: entry.key, bytes: 0, reason: .blobMissing)) }
                guard !dryRun else { continue }
                // What is in the blob of an empty one was not recorded, and is of no use to anyone.
                blobs += try connection.remove(entry)
                if isMissing {
                    try connection.noteEviction(of: entry.name, bytes: entry.receivedBytes)
                    try connection.record(
                        Event(
                            key: entry.key, at: WallClock.milliseconds, kind: .evicted, reason: .blobMissing,
                            bytes: entry.receivedBytes))
                }
            }
            return (removed, blobs)
        }
        try removeBlobs(blobs)
        // The locks are held until the files are gone.
        withExtendedLifetime(leases) {}
        return removed
    }

    /// How much the log and the database grow, at most, while a download is written to a disk with nothing to spare.
    private static let roomForRecords: Int64 = 1 << 20

    /// Makes room for a download before its first byte is written: on the disk, and in the budget.
    ///
    /// - Throws: ``StoreError`` with `noSpace` where the disk has none even without the idle entries. Being over
    ///   the budget is no error: what is asked for comes first.
    func makeRoom(for length: Int64) async throws {
        let free = try freeSpace()
        let total = try await totals().receivedBytes
        // Nothing is given up for what does not fit all the same.
        let canFit = length <= free.addingSaturating(total)
        // What is recorded needs room beside the bytes.
        let deficit = max(length.addingSaturating(Self.roomForRecords) - free, 0)
        // What is larger than the whole budget is an exception to it, not a reason to lose everything else.
        let share = length > configuration.maximumSize ? 0 : length
        let allowed = min(max(configuration.maximumSize - share, 0), max(total - deficit, 0))
        // A collection that fails must not fail the download: there may be room without it.
        if canFit, total > allowed, let report = try? await collect(maximumSize: allowed), !report.removed.isEmpty {
            // XFS gives the blocks of a removed file back a moment later.
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

    /// Bytes that may still be written to the store's file system.
    ///
    /// - Throws: ``StoreError``
    public func freeSpace() throws -> Int64 {
        try StoreError.refuseForkedChild()
        do {
            return try folder.blobs.space()
        } catch {
            throw StoreError(wrapping: error)
        }
    }
}
