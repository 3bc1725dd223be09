internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

/// Rows without files, and those of files that the server does not have any more.
extension DownloadStore {
    /// The number of entries that a collection looks at.
    private static let inspected = 4096

    /// Looks at the next entries, or at all of them, and removes those without bytes or without their blob, and those
    /// whose server has reported for some time that the resource does not exist.
    ///
    /// Entries without bytes were left by a process that ended before it recorded any; blobs are missing if another
    /// program removed them.
    ///
    /// - Returns: The number of bytes by which the totals decreased.
    func inspect(
        everywhere: Bool, _ terms: EvictionTerms, dryRun: Bool, into report: inout RemovalReport,
        _ onBatch: ((RemovalReport) -> Void)?
    ) async throws -> Int64 {
        let leases = try leaseFile()
        let start = everywhere ? 0 : try await read { connection in try connection.sweptPosition(.entries) }
        var freed: Int64 = 0
        var seen = 0
        var cursor = CandidateCursor(.creation, after: start)
        // From the beginning again at the end, but not more than once.
        var hasWrapped = start == 0
        while everywhere || seen < Self.inspected {
            guard let batch = try await candidates(&cursor) else {
                if hasWrapped { break }
                hasWrapped = true
                cursor = CandidateCursor(.creation, after: 0)
                continue
            }
            seen += batch.count
            let gone = batch.filter { terms.reason(for: $0) == .gone }.map(\.entry)
            let rest = batch.filter { terms.reason(for: $0) == nil }.map(\.entry)
            if !gone.isEmpty {
                freed = freed.addingSaturating(
                    try await remove(gone, because: .gone, kind: .evicted, dryRun: dryRun, into: &report))
            }
            freed = freed.addingSaturating(try await removeEmpty(among: rest, leases, dryRun: dryRun, into: &report))
            report.pass(to: onBatch)
        }
        let end = cursor.position?.id ?? 0
        if !dryRun, !everywhere, end != start, seen >= Self.inspected {
            try await write { connection in try connection.setSweptPosition(.entries, to: end) }
        }
        return freed
    }

    /// Removes entries without bytes or without their blob that are not in use.
    private func removeEmpty(
        among entries: [Entry], _ leases: ByteLocks, dryRun: Bool, into report: inout RemovalReport
    ) async throws -> Int64 {
        let folder = folder
        let suspects = try await Blocking.run {
            try StoreError.wrapping {
                try entries.filter { entry in
                    try entry.receivedBytes == 0 && entry.state == .partial || folder.lacksBlob(of: entry)
                }
            }
        }
        if suspects.isEmpty { return 0 }
        let chosen = suspects.filter { (try? leases.tryLock($0.id)) == true }
        // Before the row is removed, and outside the database's queue, as in every removal.
        if !dryRun { try await Blocking.run { chosen.forEach(Self.removeLeftovers) } }
        let (removed, blobs, freed) = try await write { connection in
            var removed: [Event] = []
            var blobs: [BlobName] = []
            var freed: Int64 = 0
            for entry in chosen {
                guard try connection.entry(id: entry.id) == entry else { continue }
                let isMissing = try folder.lacksBlob(of: entry)
                if isMissing {
                    removed.append(
                        Event(
                            key: entry.key, at: WallClock.milliseconds, kind: .evicted, reason: .blobMissing, bytes: 0))
                }
                guard !dryRun else { continue }
                // The blob of an empty entry has only bytes that were not recorded, and cannot be used.
                blobs += try connection.remove(entry)
                freed = freed.addingSaturating(entry.receivedBytes)
                if isMissing {
                    try connection.noteEviction(
                        of: entry.name, bytes: entry.receivedBytes, because: .blobMissing)
                    try connection.record(
                        .evicted, key: entry.key, reason: .blobMissing, bytes: entry.receivedBytes)
                }
            }
            return (removed, blobs, freed)
        }
        try removeBlobs(blobs)
        for entry in chosen { leases.unlock(entry.id) }
        report.removed += removed
        return freed
    }
}

extension StoreFolder {
    /// Whether a part of an entry names a file that does not exist.
    fileprivate func lacksBlob(of entry: Entry) throws -> Bool {
        try entry.chunks.contains { chunk in
            guard let name = BlobName(path: chunk.path) else { return true }
            return try status(of: name) == nil
        }
    }
}
