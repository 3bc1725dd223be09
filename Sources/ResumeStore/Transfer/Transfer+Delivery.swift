import ResumeFiles
import ResumeHTTP
import ResumeSQLite

extension Transfer {
    /// Syncs all bytes and records that they are complete: after this, no crash makes another request necessary.
    ///
    /// - Parameter announce: Records the blob, which is about to get another name, in the same transaction.
    /// - Returns: The blob as it was recorded; nil if there is none.
    /// - Throws: ``StoreError``
    private func seal(
        announcing announce: (@Sendable (FileStatus, borrowing Connection) throws -> Void)?
    ) async throws -> FileStatus? {
        guard isComplete else { throw StoreError.incomplete }
        try checkpoint()
        try await writer.finish()
        let status = try announce.flatMap { _ in try StoreError.wrapping { try file?.status() } }
        let isCurrent = try await writer.synchronize { [entry] connection in
            if let status { try announce?(status, connection) }
            return try connection.markComplete(entry)
        }
        guard isCurrent else { throw StoreError.superseded }
        entry.content?.state = .complete
        KillPoint.reached(.sealed)
        return status
    }

    /// Delivers a complete download: the file appears complete under its final name, or not at all.
    ///
    /// A file on which something is mounted, or whose folder takes no new files, is written over instead: if the process
    /// dies meanwhile, it is neither the old nor the new file, and the store still has all bytes.
    ///
    /// The order is: sync the bytes, mark the row as complete, create a hard link (or a copy) beside the destination,
    /// rename it, sync the folder, remove the row, remove the blob. If another task or process waits for the same
    /// download, the row and the blob are kept for it.
    ///
    /// - Parameters:
    ///   - path: The path of the file, absolute or relative to the working directory.
    ///   - replaces: Whether an existing file is replaced; if not, the file and the complete download are both kept.
    /// - Throws: ``StoreError``: `destination`, `destinationExists`, `noSpace`, `io`, or another code for a store in
    ///   memory (see ``MemoryStore/promote(_:to:waits:)``); the complete download stays in the store. `heldBytesDiffer`
    ///   if bytes that were stored before do not match their checksums: they were discarded, and the next plan requests
    ///   them again. ``DownloadError`` of `digestMismatch` if the bytes do not have the digest of the policy.
    public func deliver(to path: String, replaces: Bool = true) async throws {
        var destination = try Destination(checking: path)
        destination.replaces = replaces
        try await deliver(to: destination)
    }

    /// Delivers like ``deliver(to:replaces:)``, and fulfils rows of queues in the transaction that records the delivery,
    /// so that no queue fetches a delivered file again after a crash.
    ///
    /// - Parameters:
    ///   - destination: The file.
    ///   - rows: The rows.
    ///   - isProved: Whether all bytes are known to belong to one representation, for the log; nil if the store knows.
    ///   - digest: The digest that the file was found to have; nil if none was compared.
    /// - Throws: The errors of ``deliver(to:replaces:)``.
    package func deliver(
        to destination: Destination, fulfilling rows: [JobTable.QueuedRow] = [], isProved: Bool? = nil,
        digest: HTTPDigest? = nil
    ) async throws {
        try requireOpen()
        guard isComplete else { throw StoreError.incomplete }
        let disk = try store
        // Recorded before anything is created beside the destination, so that it can be found after a crash.
        try await setDestination(destination)
        try await requireVerified()
        let isShared = isAwaited
        let isProved = if let isProved { isProved } else { await self.isProved }
        let departure = departure(to: destination, fulfilling: rows, isProved: isProved, digest)
        let announce = { @Sendable (status: FileStatus, connection: borrowing Connection) in
            try departure.announce(departure.text(status), connection)
        }
        let durability = durability
        var announced: FileStatus?
        if entry.state != .complete || entry.held.length != held {
            announced = try await seal(announcing: isShared || !destination.isRecorded ? nil : announce)
        }
        guard let blob = self.file, let name = entry.blobName else {
            throw StoreError(.misuse, "there is nothing to deliver")
        }
        let file = try StoreError.wrapping { try blob.status() }
        guard file.size >= held else { throw StoreError.blobShort }
        // A blob may be longer than its valid bytes, after a crash or after a body whose length was announced
        // incorrectly. After a crash between the rename and the commit, it may be the delivered file itself, which
        // belongs to the user now. In both cases it is copied, not linked, and so is one that may be another user's.
        let isExact = file.size == held && file.links == 1 && !disk.folder.root.file.isShared
        let staging = Staging(
            blob: blob, name: name, store: disk.folder, length: held, destination: destination,
            copies: isShared || !isExact, check: disk.folder.root.file.isShared ? digestCheck(digest) : nil
        ) { [announced] staged, isBeingWritten in
            // A copy is another file, and a blob that was complete before has not been announced.
            guard departure.isRecorded, staged.identity != announced?.identity || staged.modified != announced?.modified
            else {
                return
            }
            let file = isBeingWritten ? .init(DeliveredFile(beingWritten: staged.stamp)) : departure.text(staged)
            try disk.writeNow(durability: durability) { try departure.announce(file, $0) }
        }
        let staged = try await staging.deliver()
        try leaveStore(departure, staged.map(departure.text), destination.status, isShared: isShared)
    }

    /// What the record of a delivery must survive.
    ///
    /// If the system forgets it and not the removal of the blob, the whole file is fetched again, which is worth a sync
    /// unless it is small.
    private var durability: Connection.CommitDurability { held > SmallFetch.longest ? .power : .process }

    /// Removes the entry after its delivery, unless another task or process waits for it.
    ///
    /// - Parameters:
    ///   - departure: What is recorded.
    ///   - staged: The file before it got its name; nil if it had it already, and for memory.
    ///   - status: The delivered file; nil for memory.
    ///   - isShared: Whether another task or process was waiting during the delivery.
    /// - Throws: ``StoreError``
    func leaveStore(
        _ departure: Departure, _ staged: DeliveredFile.Text?, _ status: @autoclosure () -> FileStatus?, isShared: Bool
    ) throws {
        try departure.leave(
            entry, keeping: isShared && isAwaited, of: requester(for: entry.representation), staged: staged, status,
            durability: durability, in: store)
        release()
    }

    /// Returns what is recorded when the download leaves the store.
    ///
    /// - Parameters:
    ///   - destination: The destination; nil for memory.
    ///   - rows: The rows of queues that it fulfils.
    ///   - isProved: Whether all bytes are known to belong to one representation.
    ///   - digest: The digest that it was found to have; nil if none was compared.
    /// - Returns: What is recorded.
    func departure(
        to destination: Destination?, fulfilling rows: [JobTable.QueuedRow] = [], isProved: Bool = true,
        _ digest: HTTPDigest? = nil
    ) -> Departure {
        var requester = requester(for: entry.representation)
        requester.resource = caller.provenance ?? entry.requester.resource
        return Departure(
            of: entry.key, from: caller.url, to: destination, fulfilling: rows, bytes: held, started: nil,
            isProved: isProved, digest: digest, entry.representation, requester)
    }
}
