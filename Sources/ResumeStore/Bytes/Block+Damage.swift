internal import ResumeFiles

extension Block: Extent {}

extension [Block] {
    /// Those that lie whole in one of the parts that are held.
    package func within(_ chunks: [Entry.Chunk]) -> [Block] {
        filter { block in chunks.contains { $0.range.contains(block.range) } }
    }
}

extension OpenFile {
    /// The blocks whose bytes are not what was recorded, or are not there.
    ///
    /// - Parameters:
    ///   - blocks: What was recorded.
    ///   - isCancelled: Asked between two blocks.
    /// - Returns: Those that are not there as they should be.
    /// - Throws: ``SystemError``
    package func damaged(among blocks: [Block], isCancelled: () -> Bool = { false }) throws(SystemError) -> [Block] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
        defer { unsafe buffer.deallocate() }
        var damaged: [Block] = []
        for block in blocks where !isCancelled() {
            if try unsafe checksum(of: block.range, buffer) != block.checksum { damaged.append(block) }
        }
        return damaged
    }

    /// The checksums of a range, in blocks of at most 2 MiB.
    ///
    /// - Throws: ``SystemError``, also if the file ends before.
    func blocks(in range: Range<Int64>) throws(SystemError) -> [Block] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
        defer { unsafe buffer.deallocate() }
        var blocks: [Block] = []
        var start = range.lowerBound
        while start < range.upperBound {
            let end = min(start.addingSaturating(2 << 20), range.upperBound)
            guard let checksum = try unsafe checksum(of: start..<end, buffer) else {
                throw SystemError(number: EIO, call: "read", path: path)
            }
            blocks.append(Block(offset: start, length: end - start, checksum: checksum))
            start = end
        }
        return blocks
    }
}
