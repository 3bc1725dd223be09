internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite
public import ResumeStore

/// Something that is not as it should be, found by `DownloadStore.verify`.
public struct Finding: Sendable, Hashable {
    /// What is wrong.
    public enum Kind: String, Sendable, Hashable {
        /// SQLite found the database damaged.
        case database
        /// A row names a blob that is not there.
        case blobMissing = "blob-missing"
        /// Bytes of a blob are not those that were written.
        case blockDamaged = "block-damaged"
        /// A blob is shorter than what its row claims.
        case blobShort = "blob-short"
        /// A row names a path that no blob can have.
        case badPath = "bad-path"
        /// An entry says it is complete and is not.
        case notComplete = "not-complete"
        /// Rows that nobody can read: another program made them, or removed what they belong to.
        case rows
        /// The totals are not the sums of the rows.
        case totals
        /// A file that no row names.
        case orphan
    }

    /// What is wrong.
    public var kind: Kind
    /// The entry it is about, nil where it is about the store.
    public var key: String?
    /// What was found, for a person.
    public var detail: String
    /// Whether it was mended: then nothing of it is left.
    public var isRepaired: Bool
}

extension DownloadStore {
    /// Holds the rows against the blobs, and the bytes against their checksums.
    ///
    /// - Parameters:
    ///   - keys: Only these entries; nil for all, and for what concerns the whole store.
    ///   - readsBytes: Whether all that is held is read and compared with its checksums.
    ///   - repairing: Drop what is wrong and keep the rest: of a blob, the damaged range only, which the next download
    ///     fetches. Entries in use are not touched.
    /// - Returns: What is wrong; empty where all is well.
    /// - Throws: `StoreError`
    public func verify(
        keys: Set<String>? = nil, readsBytes: Bool = true, repairing: Bool = false
    ) async throws -> [Finding] {
        var findings: [Finding] = []
        if keys == nil { findings += try await databaseFindings() }
        // First, since sums that cannot be added to keep rows from being removed.
        let totals = keys == nil && repairing ? try await repairSums(into: &findings) : []
        if keys == nil, !repairing { findings += try await rowFindings(repairing: false) }
        for entry in try await entries() where keys?.contains(entry.key) ?? true {
            findings += try await check(entry, readsBytes: readsBytes, repairing: repairing)
        }
        if keys == nil {
            findings += try await lastingOrphans(removing: repairing).map { orphan in
                Finding(
                    kind: .orphan, key: nil, detail: "\(orphan.name.path), \(orphan.bytes) bytes on disk",
                    isRepaired: repairing)
            }
            let last = try await totalsFindings(repairing: repairing)
            findings += totals.isEmpty ? last : totals
        }
        return findings
    }

    /// Looks twice: another process may be about to remove a blob whose row has just gone.
    private func lastingOrphans(removing: Bool) async throws -> [(name: BlobName, bytes: Int64)] {
        let found = try await orphanedBlobs(removing: removing)
        guard !removing, !found.isEmpty else { return found }
        try await Task.sleep(for: .milliseconds(100))
        let names = Set(found.map(\.name))
        return try await orphanedBlobs(removing: false).filter { names.contains($0.name) }
    }

    private func databaseFindings() async throws -> [Finding] {
        try await survey { connection in
            try connection.rows("PRAGMA integrity_check(10)") { $0.text(0) }.compactMap { $0 }
                .filter { $0 != "ok" }
                .map { Finding(kind: .database, key: nil, detail: $0, isRepaired: false) }
        }
    }

    private func check(_ entry: Entry, readsBytes: Bool, repairing: Bool) async throws -> [Finding] {
        let blocks = readsBytes ? try await read { connection in try connection.blocks(of: entry.id) } : []
        let flag = CancellationFlag()
        let folder = folder
        let state: BlobState
        do {
            state = try await withTaskCancellationHandler {
                try await Blocking.run { try BlobState(of: entry, blocks: blocks, in: folder) { flag.value } }
            } onCancel: {
                flag.set()
            }
        } catch {
            throw StoreError(wrapping: error)
        }
        try Task.checkCancellation()
        var found = state.found
        if entry.state == .complete, entry.receivedBytes != entry.totalBytes {
            let total = entry.totalBytes.map(String.init) ?? "unknown"
            found.append((.notComplete, "marked complete with \(entry.receivedBytes) of \(total) bytes"))
        }
        guard !found.isEmpty else { return [] }
        // What is worked on meanwhile was another entry when its blob was looked at.
        guard try await self.entry(key: entry.key)?.generation == entry.generation else { return [] }
        let isRepaired = repairing ? try await repair(entry, keeping: state.intact) : false
        return found.map { Finding(kind: $0.kind, key: entry.key, detail: $0.detail, isRepaired: isRepaired) }
    }

    /// Keeps the parts of an entry that are there, or removes it where nothing is.
    ///
    /// - Returns: Whether it could be had; false where somebody works on it.
    private func repair(_ entry: Entry, keeping intact: [Entry.Chunk]) async throws -> Bool {
        let leases = try leaseFile()
        let blobs: [BlobName]? = try await write { connection in
            guard try leases.tryLock(entry.id) else { return nil }
            guard let current = try connection.entry(id: entry.id), current.generation == entry.generation else {
                return []
            }
            var blobs: [BlobName] = []
            if intact.heldBytes > 0 {
                _ = try connection.reduceChunks(of: entry.id, generation: entry.generation) { _ in intact }
            } else {
                blobs = try connection.remove(current)
            }
            try connection.record(
                Event(
                    key: entry.key, at: WallClock.milliseconds, kind: .damaged,
                    reason: Reason(
                        code: .init(rawValue: "repaired"), text: "verify removed data that did not match its records"),
                    bytes: current.receivedBytes - intact.heldBytes))
            return blobs
        }
        try removeBlobs(blobs ?? [])
        return blobs != nil
    }

    private func repairSums(into findings: inout [Finding]) async throws -> [Finding] {
        findings += try await rowFindings(repairing: true)
        return try await totalsFindings(repairing: true)
    }

    private func rowFindings(repairing: Bool) async throws -> [Finding] {
        let count = try await unreadableRows(removing: repairing)
        guard count > 0 else { return [] }
        let detail = "\(count) row\(count == 1 ? "" : "s") that no download uses, or with impossible values"
        return [Finding(kind: .rows, key: nil, detail: detail, isRepaired: repairing)]
    }

    private func totalsFindings(repairing: Bool) async throws -> [Finding] {
        guard let (stored, actual) = try await wrongTotals(repairing: repairing) else { return [] }
        let detail =
            "the recorded total is \(stored.receivedBytes) bytes in \(stored.entries) entries, "
            + "the rows have \(actual.receivedBytes) in \(actual.entries)"
        return [Finding(kind: .totals, key: nil, detail: detail, isRepaired: repairing)]
    }
}

/// What of an entry's blob is as its rows say.
private struct BlobState {
    var found: [(kind: Finding.Kind, detail: String)] = []
    /// The parts without what is wrong.
    var intact: [Entry.Chunk]

    init(
        of entry: Entry, blocks: [Block], in folder: StoreFolder, isCancelled: () -> Bool
    ) throws(SystemError) {
        intact = entry.chunks
        // One blob has all parts but in a planted row.
        for path in Set(entry.chunks.map(\.path)).sorted() {
            guard let name = BlobName(path: path) else {
                found.append((.badPath, Printable.escaped(path)))
                intact = []
                continue
            }
            guard let file = try folder.openBlob(name) else {
                found.append((.blobMissing, path))
                intact = []
                continue
            }
            let status = try file.status()
            let size = status.size
            let end = entry.chunks.filter { $0.path == path && $0.length > 0 }.map(\.range.upperBound).max() ?? 0
            if size < end {
                found.append((.blobShort, "\(path) has \(size) of \(end) bytes"))
                intact = intact.removing(size..<end)
            }
            for block in try file.damaged(among: blocks.within(intact), isCancelled: isCancelled) {
                found.append((.blockDamaged, "\(path), bytes \(block.offset) to \(block.end - 1)"))
                // A file that is somebody else's as well (a crash between rename and row) is never written to again.
                intact = status.links > 1 ? [] : intact.removing(block.range)
            }
        }
    }
}
