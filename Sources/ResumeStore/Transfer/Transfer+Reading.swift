import ResumeFiles
import ResumeHTTP

/// Reads stored bytes while the rest is being received.
extension Transfer {
    /// The ranges of stored bytes, as offsets in the delivered file, in order and disjoint.
    public var heldRanges: [Range<Int64>] { writer.refusesReading ? [] : storedRanges }

    /// Reads bytes that are already stored; makes no request.
    ///
    /// Bytes that were stored before this transfer are compared with their checksums first. The engine makes sure that
    /// all bytes belong to one representation. Whether they match a known digest can only be checked when the file is
    /// complete. Reading continues to work after ``deliver(to:replaces:)``, as long as the transfer is retained.
    ///
    /// - Parameter range: Offsets in the delivered file.
    /// - Returns: All bytes of the range.
    /// - Throws: ``StoreError``: `notHeld` if some of the range is not stored, or was discarded during the call;
    ///   `heldBytesDiffer` if it is damaged on disk, in which case it is fetched again before the delivery; `io`.
    public func read(_ range: Range<Int64>) async throws -> [UInt8] {
        guard range.isEmpty || heldRanges.contains(where: { $0.contains(range) }) else {
            throw StoreError.notHeld(range)
        }
        return try await read(range, evenIfWithheld: false)
    }

    func read(_ range: Range<Int64>, evenIfWithheld: Bool) async throws -> [UInt8] {
        let epoch = writer.view.epoch
        let writer = writer
        switch try await Blocking.run({ try writer.read(range, in: epoch, evenIfWithheld: evenIfWithheld) }) {
        case .bytes(let bytes): return bytes
        case .givenUp: throw StoreError.notHeld(range)
        case .damaged(let block): throw StoreError(.heldBytesDiffer, Reason.blockDamaged(block.range).text)
        }
    }

    /// Returns the bytes of a complete download, ends the transfer and removes the download from the store.
    ///
    /// Bytes that were stored before are compared with their checksums first. If another task or process waits for the
    /// same download, it is kept in the store.
    ///
    /// - Parameter limit: The maximum number of bytes.
    /// - Returns: All bytes.
    /// - Throws: ``StoreError``: `tooLarge`, `misuse`, `io`, `database`; the complete download stays in the store.
    ///   `heldBytesDiffer` if bytes that were stored before do not match their checksums: they were discarded, and the
    ///   next plan requests them again. ``DownloadError`` of `digestMismatch` if the bytes do not have the digest of
    ///   the policy.
    public func takeData(upTo limit: Int) async throws -> [UInt8] {
        try requireOpen()
        guard isComplete, let blob else { throw StoreError.incomplete }
        guard held <= limit else { throw StoreError.tooLarge(held, limit: Int64(limit)) }
        try await requireVerified()
        // The process may end before these bytes are used. Until then they are kept, as after each body.
        try checkpoint()
        let bytes = try blob.bytes(count: Int(held))
        guard memory == nil else {
            release(removing: true)
            return bytes
        }
        try leaveStore(departure(to: nil), nil, nil, isShared: isAwaited)
        return bytes
    }

    /// The resume data of the stored bytes; nil if there are none or they cannot be resumed.
    package var resumeData: ResumeData? {
        ResumeData(of: entry, held: partial, receivedBytes: receivedBytes, policy: policy)
    }

    // MARK: Reading from other threads

    /// The bytes that can be read now.
    package nonisolated var heldView: HeldView { writer.view }

    /// Calls a closure, on any thread, whenever more bytes may be readable; it must return at once.
    package nonisolated func onHeldChange(_ call: @escaping @Sendable () -> Void) {
        writer.changeReading { $0.onChange = call }
    }

    /// Reads a range of a view and blocks until it is read.
    ///
    /// - Returns: The bytes; nil if some of them have been discarded since, or must be fetched again.
    /// - Throws: ``StoreError``
    package nonisolated func readNow(_ range: Range<Int64>, in epoch: Int) throws -> [UInt8]? {
        guard case .bytes(let bytes) = try writer.read(range, in: epoch) else { return nil }
        return bytes
    }

    /// Returns the bytes of a view for immediate reading; nil if some have been discarded since.
    package nonisolated func heldBytes(in epoch: Int) -> HeldBytes? {
        writer.state.withLock { $0.reading.blob(in: epoch) }.map { HeldBytes(blob: $0) }
    }
}
