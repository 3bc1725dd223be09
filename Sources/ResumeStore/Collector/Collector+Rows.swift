import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// Rows without files, and those of files that the server does not have any more.
extension Removal {
    /// The number of entries that a collection looks at.
    private static let inspected = 4096

    /// Looks at the next entries, or at all of them, and removes those without bytes or without their blob, and those
    /// whose server has reported for some time that the resource does not exist.
    ///
    /// Entries without bytes were left by a process that ended before it recorded any; blobs are missing if another
    /// program removed them.
    mutating func inspect(everywhere: Bool, _ terms: EvictionTerms) async throws {
        let start = everywhere ? 0 : try await store.read { connection in try connection.sweptPosition(.entries) }
        var seen = 0
        let query = EntryQuery(order: .creation, isUnpinned: true)
        var cursor = EntryQuery.Cursor(query, after: EntryQuery.Position(value: .integer(start), id: start))
        // From the beginning again at the end, but not more than once.
        var hasWrapped = start == 0
        while everywhere || seen < Self.inspected {
            guard let batch = try await Collector(store).candidates(&cursor) else {
                if hasWrapped { break }
                hasWrapped = true
                cursor = EntryQuery.Cursor(query)
                continue
            }
            seen += batch.count
            try await remove(batch.filter { terms.reason(for: $0) == .gone }.map(\.entry), because: .gone)
            let rest = batch.filter { terms.reason(for: $0) == nil }.map(\.entry)
            let folder = store.folder
            let areMissing = try await Blocking.run {
                try StoreError.wrapping {
                    try rest.map { entry in
                        try entry.chunks.contains { chunk in
                            try BlobName(path: chunk.path).flatMap { try folder.status(of: $0) } == nil
                        }
                    }
                }
            }
            let marked = zip(rest, areMissing)
            try await remove(marked.filter(\.1).map(\.0), because: .blobMissing, isRepair: true)
            // The blob of an empty entry has only bytes that were not recorded, and cannot be used.
            let empty = marked.filter { !$1 && $0.receivedBytes == 0 && $0.state == .partial }
            try await remove(empty.map(\.0), because: nil, isRepair: true)
        }
        let end = cursor.isAtEnd ? 0 : cursor.position?.id ?? 0
        if !isDryRun, !everywhere, end != start, seen >= Self.inspected {
            try await store.write { connection in try connection.setSweptPosition(.entries, to: end) }
        }
    }
}
