public import HTTPTypes
import ResumeFiles
public import ResumeHTTP
import ResumeSQLite

extension DownloadStore {
    /// Opens a download: takes its lease, and checks which of its stored bytes can be relied on.
    ///
    /// - Parameters:
    ///   - url: The URL to request.
    ///   - headerFields: The caller's header fields of the request, including credentials. If they and the URL are the
    ///     same as before, complete data is used without a request. Otherwise, or if they are unknown (nil), the server
    ///     is asked first. Only a keyed hash of them is stored.
    ///   - key: The key of the download; nil for the URL without user info and signature.
    ///   - selection: The requested ranges; nil for all of the representation. Each selection is a separate download.
    ///   - policy: The conditions for resuming.
    ///   - path: The path of the destination file, if it is known; an unusable one is refused at once.
    ///   - waits: Whether to wait if another task or process is using the download, or to throw an error.
    /// - Returns: The transfer. When it is closed or released, others can open the download.
    /// - Throws: ``StoreError``, with `inUse` if it does not wait; `CancellationError`.
    public func open(
        _ url: DownloadURL, headerFields: HTTPFields? = nil, key: String? = nil, selection: RangeSelection? = nil,
        policy: ResumePolicy = ResumePolicy(), destination path: String? = nil, waits: Bool = true
    ) async throws -> Transfer {
        let destination = try path.map { try Destination(checking: $0) }
        let caller = Caller(url: url, headerFields: headerFields, policy: policy, destination: destination)
        return try await open(caller, key: key, selection: selection, waits: waits, on: TransferQueue(of: self))
    }

    /// Opens a download that runs on a queue of the caller, and whose destination was checked before.
    ///
    /// Without a chosen variant, it is the one that the server is most likely to send.
    package func open(
        _ caller: Caller, key: String?, selection: RangeSelection?, variant chosen: Int? = nil,
        holding free: FreeKey? = nil, waits: Bool, on queue: isolated TransferQueue
    ) async throws -> Transfer {
        let name = Self.key(of: caller.url, named: key, selection: selection)
        let (identityKey, folder, number) = (identityKey, folder, Lease.number(of: name, identityKey))
        var keyLease = free?.lease
        for _ in 0..<Self.mostAttempts {
            // With a free key, bytes may have been received, which are kept.
            if free == nil { try Task.checkCancellation() }
            let lease: Lease
            let variant: Int
            do {
                // Before reading the row, since the first row of a key is created only with this lease.
                keyLease = try keyLease ?? Lease.take(number, in: folder)
                let row = try readNow { connection in
                    let best = try connection.variants(of: name).best(for: caller.identity, key: identityKey)
                    let variant = chosen ?? best ?? 1
                    return (id: try connection.id(ofKey: Variant.key(name, variant)), variant: variant)
                }
                guard let id = row.id else {
                    if let keyLease {
                        let fresh = Recovered(entry: Entry(unclaimed: name, caller, selection))
                        return Transfer(fresh, in: .disk(self), on: queue, caller: caller, holding: .key(keyLease))
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
            let adopted = try await adopt(
                lease, keyLease, name: name, variant: variant, selection, for: caller, on: queue)
            guard let transfer = adopted else { continue }
            try await transfer.noteDestination()
            try await transfer.leaveUnwantedCoding()
            return transfer
        }
        throw StoreError(
            .damaged, "the entry \(StoreError.shown(name)) disappears each time it is opened",
            remedy: .verify)
    }

    /// How often an entry may have disappeared when its lease is taken: more often than others can deliver or remove
    /// it.
    private static let mostAttempts = 1000

    /// Returns the name of a download in the store.
    ///
    /// URLs have no fragment here, so no other download has this name.
    static func key(_ key: String, _ selection: RangeSelection?) -> String {
        selection.map { "\(key)#\($0)" } ?? key
    }

    /// Returns the key that the caller specified.
    ///
    /// - Returns: The key; nil if the name is not one of this selection.
    package static func callersKey(_ key: String, _ selection: RangeSelection?) -> String? {
        let suffix = self.key("", selection)
        return key.hasSuffix(suffix) ? String(key.dropLast(suffix.count)) : nil
    }

    /// Returns the name of a download from the caller's key, or from the URL if there is none.
    package static func key(of url: DownloadURL, named key: String?, selection: RangeSelection?) -> String {
        self.key(key.map { Variant.withoutNumber(DownloadURL.redactedKey($0)) } ?? url.redacted, selection)
    }

    /// Opens the transfer of an entry after checking its row.
    private func adopt(
        _ lease: Lease, _ keyLease: Lease?, name: String, variant: Int, _ selection: RangeSelection?,
        for caller: Caller, on queue: isolated TransferQueue
    ) async throws -> Transfer? {
        let found = try await read { connection in try connection.entry(id: lease.id) }
        guard let entry = found else {
            // Removed, or unreadable; an unreadable row cannot be used.
            try await write { connection in _ = try connection.removeRow(lease.id) }
            return nil
        }
        // The row was lost because SQLite's locks do not work, and another row has its ID.
        guard entry.key == Variant.key(name, variant) else { return nil }
        guard entry.selection == selection, entry.variant == variant else {
            // The caller's key looks like that of other ranges or variants, or the row was manipulated.
            try removeBlobs(try await write { connection in try connection.remove(entry) })
            return nil
        }
        // The entry may get another destination from now on.
        try await Blocking.run { Self.removeLeftovers(of: entry) }
        let access = caller.access(to: entry, identityKey)
        // Another caller's entry is not changed until the server has confirmed that this caller may use it.
        let shown = access == .foreign ? entry.url : caller.url.redacted
        guard let recovered = try await recover(entry, showing: shown) else { return nil }
        return Transfer(
            recovered, in: .disk(self), on: queue, caller: caller, holding: .row(lease, key: keyLease), access: access)
    }

    /// Reduces a leased entry to the bytes that the disk can be trusted to have, and opens its blob.
    ///
    /// - Returns: nil if another process has changed the entry, because locks do not work.
    func recover(_ entry: Entry, showing shown: String) async throws -> Recovered? {
        let folder = folder
        let trustsLengths = trustsLengths
        let blocks = try await read { connection in try connection.blocks(of: entry.id) }
        let lastBlocks = Trusted.last(of: entry, among: blocks)
        let trusted = try await Blocking.run {
            try StoreError.wrapping { try Trusted(entry, in: folder, comparing: lastBlocks) }
        }
        let adopted: Entry? = try await write { connection in
            // If locks do not work, another process may have restarted the download in the meantime.
            guard try connection.entry(id: entry.id) == entry else { return nil }
            try connection.adopt(entry, url: shown, now: WallClock.milliseconds)
            // Adjacent parts of several streams are joined.
            let chunks = trusted.chunks.joined
            if chunks != entry.chunks {
                try connection.reduceChunks(of: entry) { _ in chunks }
            }
            if trusted.stopsGrowing || !trustsLengths { try connection.stopGrowing(id: entry.id) }
            if trustsLengths, let end = trusted.growth.last?.end {
                _ = try connection.checkpoint(entry.part, received: end, durable: 0, blocks: trusted.growth)
            }
            if entry.state == .complete, trusted.chunks.contiguousEnd != entry.totalBytes {
                try connection.run("UPDATE download SET state = 'partial' WHERE id = ?", entry.id)
            }
            let lost = entry.receivedBytes - trusted.chunks.heldBytes
            if lost > 0 {
                try connection.record(.damaged, key: entry.key, reason: trusted.reason, bytes: lost)
            }
            return try connection.entry(id: entry.id)
        }
        guard let adopted else { return nil }
        let known = Set(lastBlocks)
        let unread = blocks.within(adopted.chunks).filter { !known.contains($0) }
        // A folder with that name was created by another program and is kept; rows no longer refer to it.
        for blob in trusted.abandoned { _ = try? folder.remove(blob) }
        return Recovered(
            entry: adopted, blob: trusted.blob,
            damage: adopted.receivedBytes < entry.receivedBytes ? trusted.reason : nil, unread: unread)
    }

    /// An entry after its bytes were checked.
    struct Recovered: Sendable {
        var entry: Entry
        var blob: (any BodyStorage)?
        /// Why some bytes are no longer stored; nil if none were lost.
        var damage: Reason?
        /// The blocks that must be compared with their checksums.
        var unread: [Block] = []
    }
}

extension Entry {
    /// A download of which there is no row.
    init(unclaimed name: String, variant: Int = 1, _ caller: Caller, _ selection: RangeSelection?) {
        let now = WallClock.milliseconds
        self.init(
            id: 0, requester: .nobody, key: Variant.key(name, variant), variant: variant, url: caller.url.redacted,
            selection: selection, destination: caller.destination?.path, isPinned: false,
            times: Entry.Times(created: now, used: now), isInUse: true)
    }
}
