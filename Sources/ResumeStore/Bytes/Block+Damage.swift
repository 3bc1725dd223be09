package import ResumeFiles

extension Block: Extent {}

extension [Block] {
    /// Returns the blocks that lie completely within one of the stored parts.
    package func within(_ chunks: [Entry.Chunk]) -> [Block] {
        filter { block in chunks.contains { $0.range.contains(block.range) } }
    }
}

extension OpenFile {
    /// Returns the blocks whose bytes are missing or do not match the recorded checksums.
    ///
    /// - Parameters:
    ///   - blocks: The recorded blocks.
    ///   - isCancelled: Called between blocks; true to stop.
    /// - Returns: The damaged blocks.
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

    /// Computes the checksums of a range, in blocks of at most ``PartLedger/blockLength``.
    ///
    /// - Throws: ``SystemError``, also if the file is shorter.
    func blocks(in range: Range<Int64>) throws(SystemError) -> [Block] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
        defer { unsafe buffer.deallocate() }
        var blocks: [Block] = []
        var start = range.lowerBound
        while start < range.upperBound {
            let end = min(start.addingSaturating(PartLedger.blockLength), range.upperBound)
            guard let checksum = try unsafe checksum(of: start..<end, buffer) else {
                throw SystemError(number: EIO, call: "read", path: path)
            }
            blocks.append(Block(offset: start, length: end - start, checksum: checksum))
            start = end
        }
        return blocks
    }
}
