import ResumeFiles
import ResumeHTTP

/// The bytes of an entry that the disk can be trusted to have.
struct SurvivingBytes {
    /// The trusted parts.
    var chunks: [Entry.Chunk]
    /// The open blob; nil if no bytes are trusted.
    var blob: OpenFile?
    /// Blobs without trusted bytes.
    var abandoned: [BlobName] = []
    /// Why fewer bytes are trusted than the row claims.
    var reason = Reason.blobMissing

    /// The bytes behind the last commit, which count because one stream has written the whole blob; nil for none.
    var growth: [Block] = []
    /// Whether the length of the blob no longer counts.
    var stopsGrowing: Bool

    /// The longest tail that can wait for a commit, in bytes.
    private static let longestGrowth: Int64 = 64 << 20

    /// Syncs and reads a tail, which has no checksums yet.
    ///
    /// - Returns: Its checksums; none if it cannot be synced, because the kernel may have dropped some of its bytes, or
    ///   if it has a hole, which no stream has written.
    private static func growth(of file: OpenFile, _ tail: Range<Int64>) -> [Block] {
        var (start, end): (Int64, Int64) = (0, 0)
        guard (try? file.synchronizeData()) != nil,
            unsafe resume_files_next_data(file.descriptor, tail.lowerBound, &start, &end) == 1,
            start == tail.lowerBound, end >= tail.upperBound, let blocks = try? file.blocks(in: tail)
        else { return [] }
        return blocks
    }

    /// The number of bytes at the end of each part that are read and compared with their checksums.
    static let comparedLength: Int64 = 4 << 20

    /// Returns the checksums of the last bytes of each part, which a crash is most likely to have damaged.
    ///
    /// The total is limited to a small multiple of that, even if rows were manipulated, since a download waits for the
    /// result.
    static func last(of entry: Entry, among blocks: [Block]) -> [Block] {
        let chunks = entry.content?.bootID == BootIdentifier.current ? entry.chunks : entry.chunks.durable
        return chunks.flatMap { chunk in
            var length: Int64 = 0
            let start = max(chunk.range.upperBound - comparedLength, chunk.offset)
            return blocks.reversed().filter { $0.end > start && $0.offset < chunk.range.upperBound }.prefix {
                block in
                length = length.addingSaturating(block.length)
                return length <= 8 * comparedLength
            }
        }
    }

    /// Determines which bytes to trust.
    ///
    /// After a reboot, only bytes that had been synced count. Bytes beyond the end of their file do not count, and the
    /// last bytes count only if they match their checksums. Bytes behind the last commit count if one stream has
    /// written the whole blob since the machine started.
    ///
    /// - Parameters:
    ///   - entry: The entry with the claims of its row.
    ///   - folder: The store's folder.
    ///   - blocks: The checksums of the last bytes.
    ///   - trustsLengths: Whether the length of the blob may count.
    /// - Throws: ``SystemError``
    init(
        _ entry: Entry, in folder: StoreFolder, comparing blocks: [Block], trustingLengths trustsLengths: Bool
    ) throws(SystemError) {
        chunks = entry.chunks
        stopsGrowing = !trustsLengths
        let isOfThisBoot = entry.content?.bootID == BootIdentifier.current
        let names = entry.chunks.blobNames
        guard let first = entry.chunks.first, first.offset == 0, let name = entry.blobName,
            let file = try folder.openBlob(name)
        else {
            abandoned = Array(names)
            chunks = []
            return
        }
        let status = try file.status()
        // A blob that is also a file of the user (after a crash between the rename and the commit) may have been
        // edited, and must never be written to.
        let isShared = status.links > 1
        let isForeign = isShared && status.modified / 1_000_000 > entry.times.used
        // Parts of other blobs are not valid; the blob of the first part is the entry's.
        chunks = chunks.filter { $0.path == first.path }
        abandoned = names.filter { $0 != name }
        if !isOfThisBoot {
            chunks = chunks.durable
            reason = .unsyncedLost
        }
        let size = isForeign ? 0 : status.size
        // A part that was opened but received no bytes may begin behind the end of the file.
        if let end = chunks.last(where: { $0.length > 0 })?.end, end > size {
            chunks = chunks.removing(size..<end)
            reason = .blobShort
        }
        for block in try file.damaged(among: blocks.within(chunks)) {
            chunks = isShared ? [] : chunks.removing(block.range)
            reason = .blockDamaged(block.range)
        }
        // If it is complete, it is copied and never written to. Otherwise the download would continue in the user's
        // file.
        if isShared, entry.state == .partial || chunks.contiguousEnd != entry.totalBytes {
            chunks = []
            reason = .blobShort
        }
        if trustsLengths, entry.grows, isOfThisBoot, chunks.count == 1, chunks == entry.chunks,
            let part = chunks.first, part.length > 0, size > part.end
        {
            // A longer tail was not written by this program.
            let limit = min(entry.totalBytes ?? .max, part.end.addingSaturating(Self.longestGrowth))
            growth = isShared || size > limit ? [] : Self.growth(of: file, part.end..<size)
            stopsGrowing = growth.isEmpty
        }
        if chunks.heldBytes > 0 || entry.totalBytes == 0 && !isShared {
            blob = file
        } else {
            abandoned.append(name)
            chunks = []
        }
    }
}
