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
        var damaged: [Block] = []
        for block in blocks where !isCancelled() {
            if try checksum(of: block.range) != block.checksum { damaged.append(block) }
        }
        return damaged
    }

    /// Computes the checksums of a range, in blocks of at most 1 MiB.
    ///
    /// - Throws: ``SystemError``, also if the file is shorter.
    func blocks(in range: Range<Int64>) throws(SystemError) -> [Block] {
        try range.parts(of: 1 << 20).map { part throws(SystemError) in
            guard let checksum = try checksum(of: part) else {
                throw SystemError(number: EIO, call: "read", path: path)
            }
            return Block(offset: part.lowerBound, length: Int64(part.count), checksum: checksum)
        }
    }
}

/// Compares bytes that were stored before this transfer with their checksums.
///
/// It runs in parallel with the transfer, and must finish before anything is delivered. It is a class, so that it stops
/// when the transfer is released.
final class HeldCheck: Sendable {
    /// Returns the blocks whose bytes do not match the recorded checksums, or throws a ``StoreError``.
    let damaged: Task<[Block], any Error>

    /// Starts reading; nil if there is nothing to compare.
    init?(of blob: (any BodyStorage)?, blocks: [Block]) {
        guard let blob = blob as? OpenFile, !blocks.isEmpty else { return nil }
        damaged = Task {
            try await Blocking.run(
                later: true,
                cancellable: { flag in
                    try StoreError.wrapping { try blob.damaged(among: blocks) { flag.value } }
                })
        }
    }

    deinit { damaged.cancel() }
}
