import ResumeFiles
import ResumeHTTP
import ResumeSQLite
public import ResumeStore

extension DownloadStore {
    /// A problem found by `verify(keys:readsBytes:repairing:)` of a `DownloadStore`.
    public struct Finding: Sendable, Hashable {
        /// The kind of problem.
        @nonexhaustive
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
        package var isRepaired: Bool
    }

    /// Checks database rows against blobs, and bytes against checksums, and returns what was found.
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
        try await verify(keys: keys, readsBytes: readsBytes, repairing: repairing) { findings.append($0) }
        return findings
    }

    /// Checks database rows against blobs, and bytes against checksums, and reports each problem as it is found.
    ///
    /// - Parameters:
    ///   - keys: As in ``verify(keys:readsBytes:repairing:)``.
    ///   - readsBytes: As there.
    ///   - repairing: As there.
    ///   - onFinding: Receives each problem.
    /// - Throws: `StoreError`.
    package func verify(
        keys: Set<String>? = nil, readsBytes: Bool = true, repairing: Bool = false, onFinding: (Finding) -> Void
    ) async throws {
        var page: [Entry] = []
        func checkPage() async throws {
            try await check(page, readsBytes: readsBytes, repairing: repairing).forEach(onFinding)
            page = []
        }
        if let keys {
            for key in keys.sorted() {
                guard let entry = try await entry(for: key) else { continue }
                page = [entry]
                try await checkPage()
            }
            return
        }
        let damage = try await survey { connection in
            try connection.rows("PRAGMA integrity_check(10)") { $0.text(0) }
        }
        for text in damage where text != "ok" { onFinding(Finding(kind: .database, detail: text, isRepaired: false)) }
        let rows = try await Collector(self).unreadableRows(removing: repairing)
        if rows > 0 {
            let detail = sentence("odd-rows", rows == 1 ? "1 row" : "\(rows) rows")
            onFinding(Finding(kind: .rows, detail: detail, isRepaired: repairing))
        }
        // Repairs the sums first, since rows cannot be removed while sums overflow.
        let totals = repairing ? try await totalsFindings(repairing: true) : []
        for try await entry in EntrySequence(of: self, matching: EntryQuery(order: .creation)) {
            page.append(entry)
            if page.count == 64 || page.sum(\.receivedBytes) > 256 << 20 { try await checkPage() }
        }
        try await checkPage()
        try await lastingOrphans(removing: repairing) { orphan in
            onFinding(
                Finding(
                    kind: .orphan, detail: "\(orphan.name.path), \(orphan.bytes) bytes on disk",
                    isRepaired: repairing))
        }
        let last = try await totalsFindings(repairing: repairing)
        (totals.isEmpty ? last : totals).forEach(onFinding)
    }

    /// Looks twice, since another process may be about to remove a blob whose row it has just removed.
    private func lastingOrphans(removing: Bool, _ found: (OrphanedBlob) -> Void) async throws {
        var seen: [BlobName] = []
        func lookAgain() async throws {
            if seen.isEmpty { return }
            try await Task.sleep(for: .milliseconds(100))
            try await Collector(self).orphans(among: seen, removing: false)?.forEach(found)
            seen = []
        }
        try await Collector(self).orphanedBlobs(everywhere: true, removing: removing) { orphans in
            guard !removing else { return orphans.forEach(found) }
            seen += orphans.map(\.name)
            if seen.count >= 4096 { try await lookAgain() }
        }
        try await lookAgain()
    }

    /// Checks entries together, since each change of thread costs more than the check of a small file.
    private func check(_ entries: [Entry], readsBytes: Bool, repairing: Bool) async throws -> [Finding] {
        let blocks =
            readsBytes
            ? try await read { connection in try entries.map { try connection.blocks(of: $0.id) } }
            : entries.map { _ in [] }
        let folder = folder
        let states = try await Blocking.run(cancellable: { flag in
            try StoreError.wrapping {
                try zip(entries, blocks).map { try BlobState(of: $0, blocks: $1, in: folder) { flag.value } }
            }
        })
        try Task.checkCancellation()
        var findings: [Finding] = []
        for (entry, state) in zip(entries, states) where !state.found.isEmpty {
            // If the entry was used in the meantime, the check is outdated.
            guard try await self.entry(for: entry.key)?.generation == entry.generation else { continue }
            let isRepaired = repairing ? try await repair(entry, keeping: state.intact) : false
            findings += state.found.map {
                Finding(kind: $0.kind, key: entry.key, detail: $0.detail, isRepaired: isRepaired)
            }
        }
        return findings
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
                try connection.reduceChunks(of: entry) { _ in intact }
            } else {
                blobs = try connection.remove(current)
            }
            try connection.record(
                .damaged, key: entry.key, reason: Reason("repaired"),
                bytes: current.receivedBytes - intact.heldBytes)
            return blobs
        }
        try folder.remove(blobs ?? [])
        return blobs != nil
    }

    private func totalsFindings(repairing: Bool) async throws -> [Finding] {
        guard let (old, new, entries) = try await Collector(self).wrongTotals(repairing: repairing) else {
            return []
        }
        let total = Reason("total-differs", with: old.receivedBytes, old.entries, new.receivedBytes, new.entries)
        let detail = (entries > 0 ? Reason("sizes-differ", with: entries) : total).text
        return [Finding(kind: .totals, detail: detail, isRepaired: repairing)]
    }

    /// The state of an entry's blob, compared with its rows.
    private struct BlobState {
        var found: [(kind: Finding.Kind, detail: String)] = []
        /// The parts without missing and damaged bytes.
        var intact: [Entry.Chunk]

        init(of entry: Entry, blocks: [Block], in folder: StoreFolder, isCancelled: () -> Bool) throws {
            intact = entry.chunks
            // All parts are in one blob, except in a manipulated row.
            for path in Set(entry.chunks.map(\.path)).sorted() {
                let name = BlobName(path: path)
                guard let file = try name.flatMap(folder.openBlob) else {
                    found.append(name == nil ? (.badPath, Printable.escaped(path)) : (.blobMissing, path))
                    intact = []
                    continue
                }
                let status = try file.status()
                let size = status.size
                let end = entry.chunks.filter { $0.path == path && $0.length > 0 }.map(\.end).max() ?? 0
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
            if entry.state == .complete, entry.receivedBytes != entry.totalBytes {
                let total = entry.totalBytes.map(String.init) ?? "unknown"
                found.append((.notComplete, "marked complete with \(entry.receivedBytes) of \(total) bytes"))
            }
        }
    }
}

package typealias Finding = DownloadStore.Finding
