internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite
public import ResumeStore

/// A problem found by `verify(keys:readsBytes:repairing:)` of a `DownloadStore`.
public struct Finding: Sendable, Hashable {
    /// The kind of problem.
    public enum Kind: String, Sendable, Hashable {
        /// SQLite found damage in the database.
        case database
        /// The blob of a row is missing.
        case blobMissing = "blob-missing"
        /// Bytes of a blob do not match their checksums.
        case blockDamaged = "block-damaged"
        /// A blob is shorter than recorded.
        case blobShort = "blob-short"
        /// A row has a path that is not valid for a blob.
        case badPath = "bad-path"
        /// An entry is marked as complete but is not.
        case notComplete = "not-complete"
        /// Rows that are unreadable, because another program created them or removed rows that they belong to.
        case rows
        /// The recorded totals differ from the sums of the rows.
        case totals
        /// A file that no row refers to.
        case orphan
    }

    /// The kind of problem.
    public var kind: Kind
    /// The key of the affected entry; nil if the store is affected.
    public var key: String?
    /// A description of the problem.
    public var detail: String
    /// Whether the problem was repaired completely.
    public var isRepaired: Bool
}

extension DownloadStore {
    /// Checks database rows against blobs, and bytes against checksums.
    ///
    /// - Parameters:
    ///   - keys: The keys of the entries to check; nil for all entries and the store itself.
    ///   - readsBytes: Whether to read all stored bytes and compare them with their checksums.
    ///   - repairing: Whether to remove damaged data and keep the rest. Only the damaged range of a blob is removed;
    ///     the next download fetches it again. Entries in use are not changed.
    /// - Returns: The problems; empty if there are none.
    /// - Throws: `StoreError`.
    public func verify(
        keys: Set<String>? = nil, readsBytes: Bool = true, repairing: Bool = false
    ) async throws -> [Finding] {
        var findings: [Finding] = []
        if keys == nil { findings += try await databaseFindings() }
        // Repairs the sums first, since rows cannot be removed while sums overflow.
        let totals = keys == nil && repairing ? try await repairSums(into: &findings) : []
        if keys == nil, !repairing { findings += try await rowFindings(repairing: false) }
        for key in keys?.sorted() ?? [] {
            guard let entry = try await entry(key: key) else { continue }
            findings += try await check(entry, readsBytes: readsBytes, repairing: repairing)
        }
        if keys == nil {
            for try await entry in entries(matching: EntryQuery(order: .creation)) {
                findings += try await check(entry, readsBytes: readsBytes, repairing: repairing)
            }
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

    /// Checks twice, since another process may be about to remove a blob whose row it has just removed.
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
        let state = try await withTaskCancellationHandler {
            try await Blocking.run {
                try StoreError.wrapping { try BlobState(of: entry, blocks: blocks, in: folder) { flag.value } }
            }
        } onCancel: {
            flag.set()
        }
        try Task.checkCancellation()
        var found = state.found
        if entry.state == .complete, entry.receivedBytes != entry.totalBytes {
            let total = entry.totalBytes.map(String.init) ?? "unknown"
            found.append((.notComplete, "marked complete with \(entry.receivedBytes) of \(total) bytes"))
        }
        guard !found.isEmpty else { return [] }
        // If the entry was used in the meantime, the check is outdated.
        guard try await self.entry(key: entry.key)?.generation == entry.generation else { return [] }
        let isRepaired = repairing ? try await repair(entry, keeping: state.intact) : false
        return found.map { Finding(kind: $0.kind, key: entry.key, detail: $0.detail, isRepaired: isRepaired) }
    }

    /// Keeps the intact parts of an entry, or removes the entry if there are none.
    ///
    /// - Returns: Whether the entry was available; false if it is in use.
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
                .damaged, key: entry.key,
                reason: Reason("repaired", "verify removed data that did not match its records"),
                bytes: current.receivedBytes - intact.heldBytes)
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
        guard let (stored, actual, entries) = try await wrongTotals(repairing: repairing) else { return [] }
        let detail =
            entries > 0
            ? "the sizes of \(entries) entries differ from those of their parts"
            : "the recorded total is \(stored.receivedBytes) bytes in \(stored.entries) entries, "
                + "the rows have \(actual.receivedBytes) in \(actual.entries)"
        return [Finding(kind: .totals, key: nil, detail: detail, isRepaired: repairing)]
    }
}

/// The state of an entry's blob, compared with its rows.
private struct BlobState {
    var found: [(kind: Finding.Kind, detail: String)] = []
    /// The parts without missing and damaged bytes.
    var intact: [Entry.Chunk]

    init(
        of entry: Entry, blocks: [Block], in folder: StoreFolder, isCancelled: () -> Bool
    ) throws(SystemError) {
        intact = entry.chunks
        // All parts are in one blob, except in a manipulated row.
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
                // A file with a second name (after a crash between renaming it and removing the row) is never written
                // to again.
                intact = status.links > 1 ? [] : intact.removing(block.range)
            }
        }
    }
}
