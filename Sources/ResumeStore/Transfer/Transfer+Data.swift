internal import ResumeFiles

extension Transfer {
    /// Hands a complete download over as bytes, and takes it out of the store.
    ///
    /// What was held before is compared with its checksums first. While somebody else waits for the same download, row
    /// and blob stay for him.
    ///
    /// - Parameter limit: How many bytes there may be at most.
    /// - Returns: All of them.
    /// - Throws: ``StoreError``: `tooLarge`, `misuse`, `io`, `database`: then the download stays complete in the store.
    ///   `heldBytesDiffer` where bytes that were held before are not those that were recorded any more: they were
    ///   dropped, and the next plan asks for them.
    public func takeData(upTo limit: Int) async throws -> [UInt8] {
        try requireOpen()
        guard isComplete, let blob else { throw StoreError.incomplete }
        guard held <= limit else { throw StoreError.tooLarge(held, limit: Int64(limit)) }
        try await requireConfirmed()
        // The process may end before these bytes are of use: until then they are held, as after each body.
        if isAwaited { try await becomeOrdinary() }
        if isClaimed { try checkpoint() }
        let bytes = try blob.bytes(count: Int(held))
        try leaveStore(isShared: isAwaited, to: "memory")
        return bytes
    }
}

extension OpenFile {
    /// The first bytes of the file.
    ///
    /// - Throws: ``StoreError`` where there are fewer.
    fileprivate func bytes(count: Int) throws -> [UInt8] {
        do {
            let bytes = try unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
                done = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
            }
            if bytes.count == count { return bytes }
        } catch {
            throw StoreError(wrapping: error)
        }
        throw StoreError.blobShort
    }
}
