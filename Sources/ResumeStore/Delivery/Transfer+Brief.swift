import ResumeFiles
import ResumeHTTP
import ResumeSQLite
import Synchronization

/// Small downloads, most of which are complete and delivered before a row in the database would be useful.
///
/// If a download has no stored bytes, its lease is a lock on its key. The row is created when there is something to
/// record: a body that is not small, that was interrupted, or that takes longer than ``BriefWatch/patience``. Until
/// then, the bytes are in an unnamed file and are lost if the process dies.
extension Transfer {
    /// The number of bytes that must be free in addition to a body, so that several bodies fit for which no space is
    /// freed.
    private static let spareSpace: Int64 = 16 << 20

    /// Prepares for a small body without a row.
    ///
    /// - Returns: False if the body needs a row.
    func beginBrief(with representation: Representation, reason: Reason) throws -> Bool {
        // Only rows count towards a binding limit.
        guard
            !isClaimed, let store = disk,
            !store.configuration.eviction.isBinding, entry.selection == nil,
            let length = representation.completeLength,
            length <= PartLedger.unrecordedLimit,
            try store.freeSpace() >= length + Self.spareSpace,
            let file = store.folder.unnamedBlob()
        else { return false }
        entry.representation = representation
        entry.chunks = [Entry.Chunk(path: BlobName(in: BlobFolders.current()).path, offset: 0, length: 0, durable: 0)]
        startReason = reason
        // A file whose row could not be created is left to the collector.
        unclaimedName = nil
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
        try requireKeyLease()
        // The row must not claim bytes that a failed sync may have lost.
        if blob != nil { _ = try sync.keepsUp() }
        let creation = try nameBlob()
        guard let claimed = try claimRow(for: creation, durability) else {
            // Another attempt would fail in the same way.
            if let creation { try? store.removeBlobs([creation.name]) }
            unclaimedName = nil
            throw StoreError.superseded
        }
        entry = claimed.entry
        own(claimed.lease, isUnsynced: durability == .process)
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

    /// Throws if the transfer is being delivered, or was closed, so that it must not create a row.
    func requireKeyLease() throws(StoreError) { if keyLease == nil || isDelivering { throw .closed } }

    /// Continues with a row that was created.
    func own(_ lease: Lease, isUnsynced: Bool) {
        self.lease = lease
        isClaimed = true
        isRowUnsynced = isUnsynced
        // Kept until there is a row, since it keeps the blob from being removed as an orphan.
        unclaimedName = nil
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

    private func claimRow(for creation: BlobCreation?, _ durability: Connection.CommitDurability) throws -> Fresh? {
        let (store, entry, url, reason) = (try store, entry, caller.url.redacted, startReason)
        let representation = creation == nil ? nil : entry.representation
        // A file that has been named at the destination may be edited there.
        let grows = store.trustsLengths && !isNamed && main.update { $0.awaitsDigest } == false
        let requester = requester(for: representation)
        return try store.writeRow(durability: durability) { connection in
            // If nil, an earlier release of this program created the row in the meantime, and is using it.
            let fresh = try connection.claim(entry, url: url, in: store.folder)
            guard let fresh, let creation, let representation else { return fresh }
            if let reason { try connection.record(.started, key: entry.key, reason: reason, bytes: 0) }
            return try connection.startOver(
                fresh.entry, with: representation, for: requester, url: url, blob: creation.name, grows: grows
            ).map { Fresh(entry: $0.entry, lease: fresh.lease) }
        }
    }

    /// Whether the download is small, has no row, and its file can probably be named directly at the destination.
    func canDeliverBrief(to destination: Destination) -> Bool {
        !isClaimed && (destination.replaces || destination.isRecorded) && disk?.deliveries.canTake(destination) == true
    }

    /// Delivers a small download without a row, together with others: its first name is the destination.
    ///
    /// - Parameters:
    ///   - destination: The file.
    ///   - departure: What is recorded.
    /// - Returns: False if that is not possible; nothing was changed then.
    /// - Throws: ``StoreError``
    func deliverBrief(to destination: Destination, _ departure: Departure) async throws -> Bool {
        guard let blob = file, let keyLease, let store = disk, let name = entry.blobName else { return false }
        let file = DeliveryBatch.File(
            blob: blob, name: name, length: held, destination: destination, departure: departure,
            isAwaited: { keyLease.isAwaited })
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
