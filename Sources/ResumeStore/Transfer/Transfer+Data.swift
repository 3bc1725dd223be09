internal import ResumeFiles

extension Transfer {
    /// Returns the bytes of a complete download, ends the transfer and removes the download from the store.
    ///
    /// Bytes that were stored before are compared with their checksums first. If another task or process waits for the
    /// same download, the row and the blob are kept for it.
    ///
    /// - Parameter limit: The maximum number of bytes.
    /// - Returns: All bytes.
    /// - Throws: ``StoreError``: `tooLarge`, `misuse`, `io`, `database`; the complete download stays in the store.
    ///   `heldBytesDiffer` if bytes that were stored before do not match their checksums: they were discarded, and the
    ///   next plan requests them again.
    public func takeData(upTo limit: Int) async throws -> [UInt8] {
        try requireOpen()
        guard isComplete, let blob else { throw StoreError.incomplete }
        guard held <= limit else { throw StoreError.tooLarge(held, limit: Int64(limit)) }
        try await requireConfirmed()
        // The process may end before these bytes are used. Until then they are kept, as after each body.
        if isAwaited { try await becomeOrdinary() }
        if isClaimed { try checkpoint() }
        let bytes = try blob.bytes(count: Int(held))
        try leaveStore(isShared: isAwaited, to: "memory")
        return bytes
    }
}

extension OpenFile {
    /// Returns the first bytes of the file.
    ///
    /// - Throws: ``StoreError`` if there are fewer.
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
