internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

/// Small downloads: most are whole and delivered before a row in the database could be of use to anyone.
///
/// Where nothing is held of a download, the right to work on it is a lock on its key. Its row is made when something is
/// to be remembered: a body that is not small, or one that was cut, or that takes longer than ``BriefWatch/patience``.
/// Until then the bytes lie in a file without a name, and the death of the process costs them.
extension Transfer {
    /// The longest body, in bytes, that is received without a row.
    static let longestBrief = PartLedger.unrecordedLimit

    /// How many bytes must be free beside a body, so that several of them fit whose room nobody makes.
    private static let spareSpace: Int64 = 16 << 20

    /// Prepares for a small body without a row.
    ///
    /// - Returns: False where it needs one.
    func beginBrief(with representation: Representation, reason: Reason) throws -> Bool {
        guard !isClaimed, entry.selection == nil, let length = representation.completeLength,
            (0...Self.longestBrief).contains(length), try store.freeSpace() >= length + Self.spareSpace,
            let file = store.folder.unnamedBlob()
        else { return false }
        entry.representation = representation
        entry.chunks = [Entry.Chunk(path: BlobName().path, offset: 0, length: 0, durable: 0)]
        startReason = reason
        isSpliced = false
        begin(with: file)
        main.account.update { $0.suspend() }
        store.briefWatch.add(self)
        return true
    }

    /// Has something done when there is a row, at once if there is one.
    package func whenClaimed(_ body: @escaping @Sendable (isolated Transfer) -> Void) {
        if isClaimed { body(self) } else { onClaim = body }
    }

    /// Goes on with a row.
    ///
    /// - Parameter isDelivered: Whether the whole is delivered next. Then its bytes are not recorded before, and the row
    ///   survives a power loss: it tells whoever comes after one what else there may be beside the destination.
    /// - Throws: ``StoreError``
    func becomeOrdinary(isDelivered: Bool = false) async throws {
        guard !isClaimed else { return }
        try await makeRoom()
        try claim(durability: isDelivered ? .power : .process)
        if !isDelivered { try checkpoint() }
    }

    /// Makes room for a small download that gets a row, once for all who ask.
    func makeRoom() async throws {
        guard !isClaimed, blob != nil, let length = entry.totalBytes else { return }
        let task = makingRoom ?? Task { try await store.makeRoom(for: length) }
        makingRoom = task
        // Whoever comes after a failure makes another one.
        defer { if makingRoom == task { makingRoom = nil } }
        try await task.value
    }

    /// Makes the row, which names the file with what has been received.
    ///
    /// - Throws: ``StoreError``: `superseded`, `noSpace`, `io`, `database`.
    func claim(durability: Connection.CommitDurability = .process) throws {
        guard !isClaimed else { return }
        // Delivered or closed while room was made.
        guard keyLease != nil, !isDelivering else { throw StoreError.closed }
        // What a failed sync may have cost is claimed by no row.
        if blob != nil { _ = try sync.keepsUp() }
        let creation = try nameBlob()
        let claimed: Fresh
        do {
            claimed = try claimRow(for: creation, durability)
        } catch let error as StoreError where error.code == .superseded {
            // Another try would find the same.
            if let creation { try? store.removeBlobs([creation.name]) }
            unclaimedName = nil
            throw error
        }
        lease = claimed.lease
        entry = claimed.entry
        isClaimed = true
        isRowUnsynced = durability == .process
        // Held until there was a row, which keeps the sweep of orphans away.
        unclaimedName = nil
        if blob != nil {
            KillPoint.reached(.startedOver)
            sync.reset(to: entry, blob: blob, keepsLedger: true)
            let (row, limit) = (entry.part, entry.grows ? sync.growingLimit : nil)
            main.account.update { $0.resume(with: row, growingUpTo: limit) }
        } else {
            begin(with: nil)
        }
        onClaim.take()?(self)
    }

    /// Gives the blob its name, and brings that to disk; only once, since a file whose last name was removed gets no other.
    private func nameBlob() throws -> BlobCreation? {
        if let unclaimedName { return unclaimedName }
        guard let blob, let name = entry.chunks.first.flatMap({ BlobName(path: $0.path) }) else { return nil }
        do {
            let creation = try BlobCreation(of: blob, as: name, isNamed: isNamed, in: store.folder)
            unclaimedName = creation
            try store.folder.blobs.file.synchronize()
            KillPoint.reached(.blobCreated)
            return creation
        } catch {
            throw StoreError(wrapping: error)
        }
    }

    private func claimRow(for creation: BlobCreation?, _ durability: Connection.CommitDurability) throws -> Fresh {
        let (store, entry, url, reason) = (store, entry, caller.url.redacted, startReason)
        let representation = creation == nil ? nil : entry.representation
        // A file that has its name at the destination may be edited there.
        let grows = store.trustsLengths && !isNamed && main.account.update { $0.awaitsDigest } == false
        let requester = requester(for: representation)
        let claim: @Sendable (borrowing Connection) throws -> Fresh? = { connection in
            let now = WallClock.milliseconds
            let id = try connection.claim(
                key: entry.key, variant: entry.variant, url: url, selection: entry.selection,
                destination: entry.destination, now: now)
            // A row that an earlier release of this program has made meanwhile is that one's.
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
            // SQLite says the same of a full disk and of numbers that are used up.
            guard try store.writeNow({ try $0.restoreNumbers() }) else { throw error }
            claimed = try store.writeNow(durability: durability, claim)
        }
        guard let claimed else { throw Self.superseded }
        return claimed
    }

    /// Whether it is small and has no row, and its file can probably get its first name at the destination.
    func canDeliverBrief(to destination: Destination) -> Bool {
        !isClaimed && destination.replaces && !isAwaited && store.deliveries.canTake(destination)
    }

    /// Hands a small download over that has no row, together with others: its file gets its first name at the destination.
    ///
    /// - Parameters:
    ///   - destination: The file.
    ///   - row: The row of a queue that goes with it; nil for none.
    ///   - isProved: Whether all bytes are known to be of one representation.
    /// - Returns: False where that cannot be done, and nothing was changed.
    /// - Throws: ``StoreError``
    func deliverBrief(to destination: Destination, fulfilling row: Int64?, isProved: Bool) async throws -> Bool {
        guard let blob, let keyLease else { return false }
        let events = departure(to: destination.path, isProved: isProved)
        let file = DeliveryBatch.File(
            blob: blob, length: held, destination: destination, isAwaited: { keyLease.isAwaited },
            record: { connection in
                for event in events { try connection.record(event) }
                if let row { try connection.removeQueued(row) }
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
        case .unsynced(let error):
            throw sync.fail(with: error)
        case .named(let error):
            isNamed = true
            throw error
        }
    }
}
