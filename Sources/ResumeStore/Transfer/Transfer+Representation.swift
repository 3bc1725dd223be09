import HTTPTypes
import ResumeFiles
public import ResumeHTTP
import ResumeSQLite

extension Transfer {
    /// Gives the entry a new representation and a new, empty blob; the old blob is removed after the commit.
    func startOver(with representation: Representation, reason: Reason) async throws {
        let replaced = receivedBytes
        try await leaveForeignEntry()
        _ = try await leaveReplaced()
        if let memory {
            entry.content = Entry.Content(generation: 0, bootID: "", representation: representation)
            entry.requester = requester(for: representation)
            entry.url = caller.url.redacted
            begin(with: memory.makeBlob(of: entry, for: caller.identity))
        } else {
            try await rewrite(with: representation, because: reason, replacing: replaced)
        }
        exchange.bodies.isSpliced = false
        exchange.resource = .same
        exchange.proved = nil
        // Whatever was withheld is not in this blob.
        writer.grant()
        try await grantAccess()
    }

    /// Records when the server first reported that the resource does not exist.
    ///
    /// The stored bytes are kept for a while, since such a response may be a temporary mistake.
    func noteAbsence(_ response: HTTPResponse) async throws {
        let isGone = [404, 410].contains(response.status.code)
        guard isClaimed, isGone != (entry.objections.goneAt != nil) else { return }
        let since = isGone ? WallClock.milliseconds : nil
        try await set("gone_at", to: since)
        entry.objections.goneAt = since
    }

    /// Discards all stored bytes because they are wrong, and records the reason.
    ///
    /// The next plan requests the whole file.
    ///
    /// - Throws: ``StoreError``
    public func discard(reason: Reason) async throws {
        try requireOpen()
        try claim()
        // The bytes are wrong for this caller, but may be right for the one that they were fetched for.
        let isOther = access == .foreign || exchange.isOfOther && !isAdopted
        if isOther, !passesOn {
            try await takeOwnVariant()
            return try await note(reason)
        }
        try? await writer.finish()
        let blobs = Array(entry.chunks.blobNames)
        try await reduce(.restarted, reason, lost: receivedBytes) { _ in [] }
        try disk?.folder.remove(blobs)
        blob?.discardBytes()
        begin(with: nil)
    }

    /// Continues without encoded bytes if the caller requests the unencoded file, even if they are complete.
    func leaveUnwantedCoding() async throws {
        guard !policy.accepts(coding: entry.representation?.contentCoding) else { return }
        try await startBeside(because: .codedHeld)
    }

    /// Records that stored bytes are wrong, and continues with the parts that remain.
    ///
    /// - Parameters:
    ///   - kind: The kind of event.
    ///   - reason: Why the bytes are wrong.
    ///   - lost: The number of these bytes.
    ///   - change: Removes them from the recorded parts.
    /// - Throws: ``StoreError``: `superseded`, `io`, `database`.
    func reduce(
        _ kind: Event.Kind, _ reason: Reason, lost: Int64, _ change: @Sendable ([Entry.Chunk]) -> [Entry.Chunk]
    ) async throws {
        guard memory == nil else {
            let chunks = change(Entry.Chunk.inMemory(held, like: entry.chunks))
            entry.content?.chunks = chunks
            return
        }
        let entry = entry
        let reduced: Entry? = try await store.write { connection in
            let isCurrent = try connection.reduceChunks(of: entry, change)
            guard isCurrent else { return nil }
            try connection.record(kind, key: entry.key, reason: reason, bytes: lost)
            return try connection.entry(id: entry.id)
        }
        try take(reduced)
    }

    /// Discards the last stored bytes because they are wrong; keeps those before, and those behind a gap.
    ///
    /// - Parameters:
    ///   - length: The number of bytes to keep.
    ///   - reason: Why the others are wrong.
    /// - Throws: ``StoreError``
    package func rewind(to length: Int64, reason: Reason) async throws {
        try requireOpen()
        main.endBody()
        try claim()
        if access == .foreign {
            // Bytes that are wrong for this caller stay for the one that they were fetched for.
            return length < held ? try await discard(reason: reason) : try await note(reason)
        }
        // What is passed on is compared with the whole file.
        guard !passesOn, length > 0 || partial.nextHeld != nil else {
            return try await discard(reason: reason)
        }
        try? await writer.finish()
        let end = max(length, held)
        do {
            try await reduce(.damaged, reason, lost: end - length) { $0.removing(length..<end) }
        } catch let error where (error as? StoreError)?.code != .superseded {
            // The row still claims wrong bytes; without the blob they are not trusted.
            try? disk?.folder.remove(Array(entry.chunks.blobNames))
            throw error
        }
        begin(with: blob, givesUp: end > length)
    }

    /// Continues with a blob whose contents the entry describes, or without one.
    ///
    /// - Parameters:
    ///   - blob: The blob.
    ///   - givesUp: Whether bytes were discarded that the entry no longer shows.
    ///   - unread: The blocks of another blob that must be compared with their checksums.
    func begin(with blob: (any BodyStorage)?, givesUp: Bool = false, unread: [Block] = []) {
        if self.blob !== blob {
            earlier.check = HeldCheck(of: blob, blocks: unread)
            memory?.giveUp(entry.key)
            earlier.count = 0
        }
        self.blob = blob
        let before = storedRanges
        for segment in segments { segment.stop() }
        segments = []
        let extents = entry.chunks.disjoint.extents
        let givesUp = givesUp || !before.allSatisfy { old in extents.contains { $0.contains(old) } }
        main.restart()
        writer.begin(with: blob, of: entry, givesUp: givesUp, unread: unread)
    }

    /// Records the destination, for `list` and for a delivery after a crash.
    ///
    /// - Throws: ``StoreError``
    package func setDestination(_ destination: Destination) async throws {
        guard entry.destination != destination.path else { return }
        try await set("destination", to: destination.path)
        entry.destination = destination.path
    }

    /// Records a value in the entry's row, if there is one.
    func set(_ column: String, to value: (any SQLiteBindable)?) async throws {
        guard isClaimed else { return }
        _ = try await disk?.write { [entry] connection in try connection.update(entry, "\(column) = ?", [value]) }
    }

    /// Continues with an entry as it was read in the transaction that changed it.
    ///
    /// If it were read later and locks do not work, it might be another process's: its generation and its blob would
    /// replace those being written, and the wrong blob would be recorded and delivered.
    func take(_ current: Entry?) throws(StoreError) {
        guard let current, current.key == entry.key, current.selection == entry.selection else {
            throw .superseded
        }
        entry = current
    }

    /// The stored bytes, for reading elsewhere, since that may take long.
    package var heldBytes: HeldBytes { HeldBytes(blob: blob) }

    /// Gives the entry a new blob, commits the row that names it, and removes the old one.
    ///
    /// An entry without a row gets one in the same transaction.
    ///
    /// - Parameters:
    ///   - representation: The representation of the blob's bytes.
    ///   - reason: Why the entry is started, or restarted.
    ///   - replaced: The number of bytes that are given up.
    ///   - bytes: The number of bytes to record with the reason; nil for those that are given up.
    ///   - ranges: What `fill` writes. It is synced before the row is, and both survive a power loss then.
    ///   - agreedSamples: The number of samples of it that agreed with the server; nil if it needs none.
    ///   - mayGrow: Whether the length of the blob may count.
    ///   - committed: The point after the commit.
    ///   - fill: Fills and syncs the file before the commit; it may block.
    /// - Throws: ``StoreError``; the entry is unchanged then.
    func rewrite(
        with representation: Representation, because reason: Reason, replacing replaced: Int64, bytes: Int64? = nil,
        holding ranges: [Range<Int64>] = [], agreedSamples: Int64? = nil, mayGrow: Bool = true,
        committed: KillPoint = .startedOver, filling fill: (OpenFile) throws -> Void = { _ in }
    ) async throws {
        // Nothing of the old representation may be committed after this.
        try? await writer.finish()
        let store = try store
        let old = entry
        let shared = key
        let requester = requester(for: representation)
        let url = caller.url.redacted
        do {
            // The blob has a separate lock, taken before its name exists and kept across the commit until a row names
            // it, so that orphaned blobs are not removed in between.
            let creation = try StoreFolder.BlobCreation(in: store.folder)
            let blocks: [Block]
            do {
                try fill(creation.file)
                blocks = try ranges.flatMap { range throws(SystemError) in try creation.file.blocks(in: range) }
            } catch {
                _ = try? store.folder.remove(creation.name)
                throw error
            }
            try await BlobFolders.synchronize(creation, in: store.folder)
            KillPoint.reached(.blobCreated)
            let isNew = !isClaimed
            // Meanwhile, the transfer may have been closed.
            try requireOpen()
            let (begun, lease) = try store.writeNow(durability: ranges.isEmpty ? .process : .power) { connection in
                let fresh = isNew ? try connection.claim(old, url: url, in: store.folder) : nil
                let begun = try connection.startOver(
                    fresh?.entry ?? old, with: representation, for: requester, url: url, blob: creation.name,
                    grows: mayGrow && store.trustsLengths, holding: ranges, blocks, agreedSamples: agreedSamples)
                guard let begun else { throw StoreError.superseded }
                for key in replaced > 0 && old.key != shared ? [old.key, shared] : [old.key] {
                    try connection.record(
                        replaced > 0 ? .restarted : .started, key: key, reason: reason, bytes: bytes ?? replaced)
                }
                return (begun, fresh?.lease)
            }
            KillPoint.reached(committed)
            try withExtendedLifetime(creation) { try take(begun.entry) }
            let onClaim = lease.flatMap { state.move(to: $0) }
            begin(with: creation.file)
            onClaim?(self)
            // No row names it any more, so the collector finds what cannot be removed now.
            try? store.folder.remove(begun.abandoned)
        } catch {
            throw StoreError(wrapping: error)
        }
    }
}
