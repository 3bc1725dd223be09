import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// A file that no row refers to, and its size on disk.
package typealias OrphanedBlob = (name: BlobName, bytes: Int64)

/// Files without rows.
extension Collector {
    /// The number of names after which a collection looks into no further folder.
    private static let looked = 2048

    /// Finds blobs that no row refers to in the next folders of blobs, or in all of them, and optionally removes them.
    ///
    /// The exclusive creation lock ensures that no blob is between its creation and the commit of its row. Files whose
    /// names are not valid for blobs do not belong to the store and are ignored.
    ///
    /// - Parameters:
    ///   - everywhere: Whether to look into all folders; otherwise into the one after that of the last collection, and
    ///     into further ones until enough names were seen.
    ///   - removing: Whether to remove them; then the next collection continues with the next folder.
    ///   - found: Receives the blobs of each part of a folder, with their sizes on disk.
    /// - Throws: ``StoreError``, `CancellationError`.
    package func orphanedBlobs(
        everywhere: Bool, removing: Bool, _ found: ([OrphanedBlob]) async throws -> Void
    ) async throws {
        let start = try await store.read { connection in try connection.sweptPosition(.folders) }
        var seen = 0
        var next = start
        let folders = try StoreError.wrapping { try StoreFolder.blobFolders(in: store.folder.blobs) }
        let first = folders.firstIndex { BlobFolders.number($0) >= start } ?? 0
        for part in folders[first...] + folders[..<first] {
            guard everywhere || seen < Self.looked else {
                next = BlobFolders.number(part)
                break
            }
            let listing = try StoreError.wrapping {
                try StoreFolder.blobFolder(part, in: store.folder.blobs).map { try Folder.Listing(of: $0) }
            }
            while let names = listing?.next(Removal.batch), !names.isEmpty {
                seen += names.count
                let blobs = names.compactMap { BlobName(fileName: $0, in: part) }
                guard let orphans = try await orphans(among: blobs, removing: removing) else { return }
                if !orphans.isEmpty { try await found(orphans) }
                try Task.checkCancellation()
            }
        }
        guard removing, next != start else { return }
        try await store.write { [next] connection in try connection.setSweptPosition(.folders, to: next) }
    }

    /// Returns those blobs that no row refers to, and optionally removes them.
    ///
    /// - Returns: nil if another process held the lock.
    package func orphans(among names: [BlobName], removing: Bool) async throws -> [OrphanedBlob]? {
        if names.isEmpty { return [] }
        let lock = try StoreError.wrapping { try StoreLock(creationsIn: store.folder) }
        // Tried repeatedly without blocking the database's queue, which the holder of the lock may need.
        for _ in 0..<200 {
            let orphans = try await store.database.withConnection { connection in
                try StoreError.wrapping {
                    try lock.exclusive {
                        var orphans: [OrphanedBlob] = []
                        for name in names where try !connection.isBlobKnown(name) {
                            // The store creates no folders with such names; one belongs to another program.
                            guard let status = try store.folder.status(of: name), status.kind != .folder else {
                                continue
                            }
                            let bytes = removing ? try store.folder.remove(name) : status.bytesOnDisk
                            orphans.append((name, bytes))
                        }
                        return orphans
                    }
                }
            }
            if let orphans { return orphans }
            try await Task.sleep(for: .milliseconds(10))
        }
        // The next collection removes them.
        return nil
    }
}
