internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

/// Small downloads, most of which are complete and delivered before a row in the database would be useful.
///
/// If a download has no stored bytes, its lease is a lock on its key. The row is created when there is something to
/// record: a body that is not small, that was interrupted, or that takes longer than ``BriefWatch/patience``. Until
/// then, the bytes are in an unnamed file and are lost if the process dies.
extension Transfer {
    /// The longest body, in bytes, that is received without a row.
    static let longestBrief = PartLedger.unrecordedLimit

    /// The number of bytes that must be free in addition to a body, so that several bodies fit for which no space is
    /// freed.
    private static let spareSpace: Int64 = 16 << 20

    /// Prepares for a small body without a row.
    ///
    /// - Returns: False if the body needs a row.
    func beginBrief(with representation: Representation, reason: Reason) throws -> Bool {
        // Only rows count towards a binding limit.
        guard !isClaimed, disk?.configuration.eviction.isBinding == false,
            entry.selection == nil, let length = representation.completeLength, let store = disk,
            (0...Self.longestBrief).contains(length), try store.freeSpace() >= length + Self.spareSpace,
            let file = store.folder.unnamedBlob()
        else { return false }
        entry.representation = representation
        entry.chunks = [Entry.Chunk(path: BlobName(in: BlobFolders.current()).path, offset: 0, length: 0, durable: 0)]
        startReason = reason
        isSpliced = false
        begin(with: file)
        store.briefWatch.add(self)
        return true
    }

    /// Calls a closure when there is a row, or at once if there is one already.
    package func whenClaimed(_ body: @escaping @Sendable (isolated Transfer) -> Void) {
        if isClaimed { body(self) } else { onClaim = body }
    }

    /// Continues with a row.
    ///
    /// - Parameter isDelivered: Whether the file is delivered next. Its bytes are not recorded before then, and the row
    ///   survives a power loss, since it tells what may exist beside the destination.
    /// - Throws: ``StoreError``
    func becomeOrdinary(isDelivered: Bool = false) throws {
        guard !isClaimed else { return }
        try claim(durability: isDelivered ? .power : .process)
        if !isDelivered { try checkpoint() }
    }

    /// Creates the row, which names the file and records the received bytes.
    ///
    /// - Throws: ``StoreError``: `superseded`, `noSpace`, `io`, `database`.
    func claim(durability: Connection.CommitDurability = .process) throws {
        guard !isClaimed else { return }
        // The transfer is being delivered, or was closed.
        guard keyLease != nil, !isDelivering else { throw StoreError.closed }
        // The row must not claim bytes that a failed sync may have lost.
        if blob != nil { _ = try sync.keepsUp() }
        let creation = try nameBlob()
        let claimed: Fresh
        do {
            claimed = try claimRow(for: creation, durability)
        } catch let error as StoreError where error.code == .superseded {
            // Another attempt would fail in the same way.
            if let creation { try? store.removeBlobs([creation.name]) }
            unclaimedName = nil
            throw error
        }
        lease = claimed.lease
        entry = claimed.entry
        isClaimed = true
        isRowUnsynced = durability == .process
        // Kept until there is a row, since it keeps the blob from being removed as an orphan.
        unclaimedName = nil
        if blob != nil {
            KillPoint.reached(.startedOver)
            sync.reset(to: entry, blob: blob, keepsLedger: true)
            let entry = entry
            sync.ledger.withLock { $0.resume(in: entry) }
        } else {
            begin(with: nil)
        }
        onClaim.take()?(self)
    }

    /// Names the blob and syncs the name.
    ///
    /// It is done only once, since a file whose last name was removed cannot be named again.
    private func nameBlob() throws -> BlobCreation? {
        guard let file, let name = entry.blobName else { return nil }
        return try StoreError.wrapping {
            let creation = try unclaimedName ?? BlobCreation(of: file, as: name, isNamed: isNamed, in: store.folder)
            unclaimedName = creation
            let folders = try store.folder.foldersToSync(for: name)
            for folder in folders { try folder.file.synchronize() }
            try store.folder.noteSynced(folders)
            KillPoint.reached(.blobCreated)
            return creation
        }
    }

    private func claimRow(for creation: BlobCreation?, _ durability: Connection.CommitDurability) throws -> Fresh {
        let (store, entry, url, reason) = (try store, entry, caller.url.redacted, startReason)
        let representation = creation == nil ? nil : entry.representation
        // A file that has been named at the destination may be edited there.
        let grows = store.trustsLengths && !isNamed && main.update { $0.awaitsDigest } == false
        let requester = requester(for: representation)
        let claim: @Sendable (borrowing Connection) throws -> Fresh? = { connection in
            let now = WallClock.milliseconds
            let id = try connection.claim(
                key: entry.key, variant: entry.variant, url: url, selection: entry.selection,
                destination: entry.destination, now: now)
            // The row was created by an earlier release of this program in the meantime, which is using it.
            guard let id, let lease = try Lease.take(id, in: store.folder), let row = try connection.entry(id: id)
            else {
                return nil
            }
            guard let creation, let representation else { return Fresh(entry: row, lease: lease) }
            let begun = try connection.startOver(
                id: id, generation: row.generation, with: representation, for: requester, url: url,
                length: entry.totalBytes, blob: creation.name, grows: grows, now: now)
            if let reason {
                try connection.record(Event(key: entry.key, at: now, kind: .started, reason: reason, bytes: 0))
            }
            guard begun != nil, let row = try connection.entry(id: id) else { return nil }
            return Fresh(entry: row, lease: lease)
        }
        let claimed: Fresh?
        do {
            claimed = try store.writeNow(durability: durability, claim)
        } catch let error as StoreError where error.code == .noSpace {
            // SQLite reports the same error for a full disk and for IDs that are used up.
            guard try store.writeNow({ try $0.restoreNumbers() }) else { throw error }
            claimed = try store.writeNow(durability: durability, claim)
        }
        guard let claimed else { throw StoreError.superseded }
        return claimed
    }

    /// Whether the download is small, has no row, and its file can probably be named directly at the destination.
    func canDeliverBrief(to destination: Destination) -> Bool {
        !isClaimed && (destination.replaces || destination.isRecorded) && disk?.deliveries.canTake(destination) == true
    }

    /// Delivers a small download without a row, together with others: its first name is the destination.
    ///
    /// - Parameters:
    ///   - destination: The file.
    ///   - rows: The rows of queues that it fulfils.
    ///   - isProved: Whether all bytes are known to belong to one representation.
    ///   - digest: The digest that the file was found to have.
    /// - Returns: False if that is not possible; nothing was changed then.
    /// - Throws: ``StoreError``
    func deliverBrief(
        to destination: Destination, fulfilling rows: [QueuedRow], isProved: Bool, _ digest: HTTPDigest?
    ) async throws -> Bool {
        guard let blob = file, let keyLease, let store = disk, let name = entry.blobName else { return false }
        let events = departure(to: destination.path, isProved: isProved)
        let (named, path, url) = (delivered(isProved: isProved, digest), destination.path, caller.url.redacted)
        let isRecorded = destination.isRecorded
        let announced = rows.isEmpty && !isRecorded ? nil : (try? blob.status()).map(named)
        let announce: @Sendable (borrowing Connection) throws -> Void = { connection in
            if let announced { try connection.announceDelivery(of: announced, at: path, from: url) }
        }
        let file = DeliveryBatch.File(
            blob: blob, name: name, length: held, destination: destination, isAwaited: { keyLease.isAwaited },
            announce: isRecorded ? announce : nil,
            record: { connection in
                for event in events { try connection.record(event) }
                // Its name has changed its status, and the proof of a digest is that of the status.
                let file = digest == nil ? announced : (try? blob.status()).map(named)
                for row in rows { try connection.fulfil(row, with: isProved ? file : nil, at: path) }
                if let file, isRecorded { try connection.recordDelivery(of: file, at: path, from: url) }
            })
        isDelivering = true
        defer {
            isDelivering = false
            for waiter in onDelivered { waiter.resume() }
            onDelivered = []
        }
        switch await store.deliveries.deliver(file, from: store) {
        case .delivered:
            release()
            return true
        case .unnamed:
            return false
        case .stored(let creation):
            unclaimedName = creation
            return false
        case .unsynced(let error):
            throw sync.fail(with: error)
        case .named(let error):
            isNamed = true
            throw error
        }
    }
}
