internal import ResumeFiles
internal import ResumeHTTP

/// How much of an entry the disk can be trusted to hold.
struct Trusted {
    /// The parts held.
    var chunks: [Entry.Chunk]
    /// The open blob, where any byte is held.
    var blob: OpenFile?
    /// Blobs that no byte is trusted of.
    var abandoned: [BlobName] = []
    /// Why less is trusted than the row claims.
    var reason = Reason.blobMissing

    /// The bytes behind the last commit, which count because one stream has written the whole blob; nil for none.
    var growth: Growth?
    /// Whether the length of the blob does not count any more.
    var stopsGrowing = false

    /// The longest tail that can wait for a commit, in bytes.
    private static let longestGrowth: Int64 = 64 << 20

    /// Flushes and reads a tail, which has no checksums yet.
    ///
    /// - Returns: nil if it cannot be flushed, because the kernel may have dropped bytes of it; or if it has a hole, which
    ///   no stream has written.
    private static func growth(of file: OpenFile, _ tail: Range<Int64>) -> Growth? {
        guard (try? file.synchronizeData()) != nil,
            resume_files_has_no_hole(file.descriptor, tail.lowerBound) != 0, let blocks = try? file.blocks(in: tail)
        else { return nil }
        return Growth(end: tail.upperBound, blocks: blocks)
    }

    /// Bytes that no commit has recorded.
    struct Growth {
        var end: Int64
        var blocks: [Block]
    }

    /// How many bytes at the end of each part are read and compared with their checksums.
    static let comparedLength: Int64 = 4 << 20

    /// The checksums of the last bytes of each part, which a crash is most likely to have harmed.
    ///
    /// Not many times longer than that in all, whatever rows somebody planted: a download waits for them.
    static func last(of entry: Entry, among blocks: [Block]) -> [Block] {
        let chunks = entry.bootID == BootIdentifier.current ? entry.chunks : entry.chunks.durable
        return chunks.flatMap { chunk in
            var length: Int64 = 0
            let start = max(chunk.range.upperBound - comparedLength, chunk.offset)
            return blocks.reversed().filter { $0.end > start && $0.offset < chunk.range.upperBound }.prefix { block in
                length = length.addingSaturating(block.length)
                return length <= 8 * comparedLength
            }
        }
    }

    /// Bytes that were received under an earlier start of the machine count only as far as they were synced, none
    /// counts beyond the end of its file, and the last ones only if they have their checksums.
    ///
    /// Bytes behind the last commit count if one stream has written the whole blob since the start of the machine.
    ///
    /// - Parameters:
    ///   - entry: What its row claims.
    ///   - folder: The store.
    ///   - blocks: The checksums of the last bytes.
    /// - Throws: ``SystemError``
    init(_ entry: Entry, in folder: StoreFolder, comparing blocks: [Block]) throws(SystemError) {
        chunks = entry.chunks
        let paths = Set(entry.chunks.compactMap { BlobName(path: $0.path) })
        guard let path = entry.chunks.first?.path, let name = BlobName(path: path), entry.chunks[0].offset == 0,
            let file = try folder.openBlob(name)
        else {
            abandoned = Array(paths)
            chunks = []
            return
        }
        let status = try file.status()
        // A blob that is somebody's file as well (a crash between rename and row) may have been edited, and must never
        // be written to.
        let isShared = status.links > 1
        let isForeign = isShared && status.modifiedAt > entry.usedAt
        // Parts of another blob: the first one's is the entry's.
        chunks = chunks.filter { $0.path == path }
        abandoned = paths.filter { $0 != name }
        if entry.bootID != BootIdentifier.current {
            chunks = chunks.durable
            reason = .unsyncedLost
        }
        let size = isForeign ? 0 : status.size
        // A part that was opened and brought nothing may lie beyond.
        if let end = chunks.last(where: { $0.length > 0 })?.end, end > size {
            chunks = chunks.removing(size..<end)
            reason = .blobShort
        }
        for block in try file.damaged(among: blocks.within(chunks)) {
            chunks = isShared ? [] : chunks.removing(block.range)
            reason = .blockDamaged(block.range)
        }
        // Whole, it is copied and never written to; else the download would go on in somebody's file.
        if isShared, entry.state == .partial || chunks.contiguousEnd != entry.totalBytes {
            (chunks, reason) = ([], .blobShort)
        }
        if entry.grows, entry.bootID == BootIdentifier.current, chunks.count == 1, chunks == entry.chunks,
            let part = chunks.first, part.length > 0, size > part.end
        {
            // A longer tail is not this program's.
            let limit = min(entry.totalBytes ?? .max, part.end.addingSaturating(Self.longestGrowth))
            growth = isShared || size > limit ? nil : Self.growth(of: file, part.end..<size)
            stopsGrowing = growth == nil
        }
        if chunks.heldBytes > 0 || entry.totalBytes == 0 && !isShared {
            blob = file
        } else {
            abandoned.append(name)
            chunks = []
        }
    }
}

extension DownloadStore {
    /// Whether the length of a blob counts: on file systems that set it after the bytes were written.
    var trustsLengths: Bool {
        configuration.trustsLengths
            && ["ext4", "XFS", "Btrfs", "tmpfs", "F2FS", "overlayfs"].contains(folder.blobs.fileSystem)
    }
}

extension Reason {
    static let unsyncedLost = Reason(
        code: .init(rawValue: "unsynced-lost"),
        text: "the machine was restarted; data that had not been synced to disk is downloaded again")
    static let blobShort = Reason(
        code: .init(rawValue: "blob-short"),
        text: "the data file is shorter than recorded; another program may have changed it")
    static let blobMissing = Reason(code: .init(rawValue: "blob-missing"), text: "the data file no longer exists")

    static func blockDamaged(_ range: Range<Int64>) -> Reason {
        Reason(
            code: .init(rawValue: "block-damaged"),
            text: "bytes \(range.lowerBound) to \(range.upperBound - 1) do not match their checksum; "
                + "they are downloaded again")
    }
}
