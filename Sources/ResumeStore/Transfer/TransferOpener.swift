import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

/// Opens downloads of a store: takes their leases, and checks which of their stored bytes can be relied on.
package struct TransferOpener: Sendable {
    private let store: DownloadStore

    package init(_ store: DownloadStore) { self.store = store }

    /// Opens a download that runs on a queue of the caller, and whose destination was checked before.
    ///
    /// Without a chosen variant, it is the one that the server is most likely to send.
    package func open(
        _ caller: Caller, key: String?, selection: RangeSelection?, variant chosen: Int? = nil,
        holding free: FreeKey? = nil, waits: Bool, on queue: isolated TransferQueue
    ) async throws -> Transfer {
        let name = DownloadName.of(caller.url, named: key, selection: selection)
        let folder = store.folder
        let number = Lease.number(of: name, store.identityKey)
        var keyLease = free?.lease
        for _ in 0..<Self.mostAttempts {
            // With a free key, bytes may have been received, which are kept.
            if free == nil { try Task.checkCancellation() }
            let lease: Lease
            let variant: Int
            do {
                // Before reading the row, since the first row of a key is created only with this lease.
                keyLease = try keyLease ?? Lease.take(number, in: folder)
                let row = try store.readNow { connection in
                    let best = try connection.variants(of: name).best(for: caller.identity, key: store.identityKey)
                    let variant = chosen ?? best ?? 1
                    return (id: try connection.id(ofKey: Variant.key(name, variant)), variant: variant)
                }
                guard let id = row.id else {
                    if let keyLease {
                        let fresh = Recovered(entry: Entry(unclaimed: name, caller, selection))
                        return Transfer(fresh, in: .disk(store), on: queue, caller: caller, holding: .key(keyLease))
                    }
                    guard waits else { throw StoreError.inUse(name) }
                    keyLease = try await Lease.wait(for: number, in: folder)
                    continue
                }
                // Tasks that wait for the key must be visible to the next delivery.
                if keyLease?.isAwaited == false { keyLease = nil }
                variant = row.variant
                if let free = try Lease.take(id, in: folder) {
                    lease = free
                } else if waits {
                    lease = try await Lease.wait(for: id, in: folder)
                } else {
                    throw StoreError.inUse(name)
                }
            } catch let error as SystemError {
                throw StoreError(wrapping: error)
            }
            // The entry may have been delivered or removed while waiting for the lease.
            let opened = try await open(
                lease, keyLease, name: name, variant: variant, selection, for: caller, on: queue)
            guard let transfer = opened else { continue }
            try await transfer.noteDestination()
            try await transfer.leaveUnwantedCoding()
            return transfer
        }
        throw StoreError(.damaged, Reason("vanishing", with: StoreError.shown(name)), remedy: .verify)
    }

    /// How often an entry may have disappeared when its lease is taken: more often than others can deliver or remove
    /// it.
    private static let mostAttempts = 1000

    /// Opens the transfer of an entry after checking its row.
    private func open(
        _ lease: Lease, _ keyLease: Lease?, name: String, variant: Int, _ selection: RangeSelection?,
        for caller: Caller, on queue: isolated TransferQueue
    ) async throws -> Transfer? {
        let found = try await store.read { connection in try connection.entry(id: lease.id) }
        guard let entry = found else {
            // Removed, or unreadable; an unreadable row cannot be used.
            try await store.write { connection in _ = try connection.removeRow(lease.id) }
            return nil
        }
        // The row was lost because SQLite's locks do not work, and another row has its ID.
        guard entry.key == Variant.key(name, variant) else { return nil }
        guard entry.selection == selection, entry.variant == variant else {
            // The caller's key looks like that of other ranges or variants, or the row was manipulated.
            try store.folder.remove(try await store.write { connection in try connection.remove(entry) })
            return nil
        }
        // The entry may get another destination from now on.
        try await Blocking.run { entry.removeLeftovers() }
        let access = caller.access(to: entry, store.identityKey)
        // Another caller's entry is not changed until the server has confirmed that this caller may use it.
        let shown = access == .foreign ? entry.url : caller.url.redacted
        guard let recovered = try await recover(entry, showing: shown) else { return nil }
        return Transfer(
            recovered, in: .disk(store), on: queue, caller: caller, holding: .row(lease, key: keyLease), access: access)
    }

    /// Reduces a leased entry to the bytes that the disk can be trusted to have, and opens its blob.
    ///
    /// - Returns: nil if another process has changed the entry, because locks do not work.
    func recover(_ entry: Entry, showing shown: String) async throws -> Recovered? {
        let blocks = try await store.read { connection in try connection.blocks(of: entry.id) }
        let lastBlocks = SurvivingBytes.last(of: entry, among: blocks)
        let surviving = try await Blocking.run {
            try StoreError.wrapping {
                try SurvivingBytes(
                    entry, in: store.folder, comparing: lastBlocks, trustingLengths: store.trustsLengths)
            }
        }
        let current: Entry? = try await store.write { connection in
            // If locks do not work, another process may have restarted the download in the meantime.
            guard try connection.entry(id: entry.id) == entry else { return nil }
            try connection.touch(entry, url: shown, now: WallClock.milliseconds)
            // Adjacent parts of several streams are joined.
            let chunks = surviving.chunks.joined
            if chunks != entry.chunks {
                try connection.reduceChunks(of: entry) { _ in chunks }
            }
            if surviving.stopsGrowing { try connection.stopGrowing(id: entry.id) }
            if let end = surviving.growth.last?.end {
                _ = try connection.checkpoint(entry.part, received: end, durable: 0, blocks: surviving.growth)
            }
            if entry.state == .complete, surviving.chunks.contiguousEnd != entry.totalBytes {
                try connection.run("UPDATE download SET state = 'partial' WHERE id = ?", entry.id)
            }
            let lost = entry.receivedBytes - surviving.chunks.heldBytes
            if lost > 0 {
                try connection.record(.damaged, key: entry.key, reason: surviving.reason, bytes: lost)
            }
            return try connection.entry(id: entry.id)
        }
        guard let current else { return nil }
        let known = Set(lastBlocks)
        let unread = blocks.within(current.chunks).filter { !known.contains($0) }
        // A folder with that name was created by another program and is kept; rows no longer refer to it.
        for blob in surviving.abandoned { _ = try? store.folder.remove(blob) }
        return Recovered(
            entry: current, blob: surviving.blob,
            damage: current.receivedBytes < entry.receivedBytes ? surviving.reason : nil, unread: unread)
    }

    /// Creates an entry for another variant of a download.
    ///
    /// If the limit of variants is reached, it replaces one that is neither in use nor pinned: an empty one, or the
    /// least recently used.
    ///
    /// - Throws: ``StoreError`` with `inUse` if all of them are in use or pinned.
    func claimVariant(
        of name: String, selection: RangeSelection?, for caller: Caller
    ) async throws -> Fresh {
        let claimed: (own: Fresh, blobs: [BlobName], report: RemovalReport)? = try await store.write { connection in
            let variants = Array(try connection.variants(of: name).reversed())
            let free = (1...Variant.most).filter { number in !variants.contains { $0.number == number } }
            let known = variants.filter { !$0.hasBytes } + variants.filter(\.hasBytes)
            for number in free + known.map(\.number) {
                let key = Variant.key(name, number)
                var blobs = [BlobName]()
                var report = RemovalReport()
                if let old = try connection.entry(key: key) {
                    // A caller's own key may look like that of a variant.
                    guard old.variant == number, !old.isPinned, let lease = try Lease.take(old.id, in: store.folder)
                    else { continue }
                    blobs = try withExtendedLifetime(lease) { try connection.remove(old) }
                    if old.receivedBytes > 0 {
                        let lost = Event(
                            key: key, at: WallClock.milliseconds, kind: .evicted, reason: .tooManyVariants,
                            bytes: old.receivedBytes)
                        try connection.record(lost)
                        report.removed = [lost]
                    }
                }
                let fresh = Entry(unclaimed: name, variant: number, caller, selection)
                if let own = try connection.claim(fresh, url: fresh.url, in: store.folder) {
                    return (own, blobs, report)
                }
            }
            return nil
        }
        guard let claimed else { throw StoreError.inUse(name) }
        try store.folder.remove(claimed.blobs)
        if !claimed.report.removed.isEmpty { await Collector(store).tell(of: claimed.report) }
        return claimed.own
    }
}

/// An entry after its bytes were checked.
struct Recovered {
    var entry: Entry
    var blob: (any BodyStorage)?
    /// Why some bytes are no longer stored; nil if none were lost.
    var damage: Reason?
    /// The blocks that must be compared with their checksums.
    var unread: [Block] = []
}

extension Entry {
    /// A download of which there is no row.
    init(unclaimed name: String, variant: Int = 1, _ caller: Caller, _ selection: RangeSelection?) {
        let now = WallClock.milliseconds
        self.init(
            id: 0, requester: .nobody, key: Variant.key(name, variant), variant: variant, url: caller.url.redacted,
            selection: selection, destination: caller.destination?.path, isPinned: false,
            times: .init(created: now, used: now), isInUse: true)
    }
}
