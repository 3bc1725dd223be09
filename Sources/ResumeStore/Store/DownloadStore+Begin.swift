public import HTTPTypes
internal import ResumeFiles
public import ResumeHTTP
internal import ResumeSQLite

extension DownloadStore {
    /// Opens one download for work: takes its lease, and finds out what of it can be relied on.
    ///
    /// - Parameters:
    ///   - url: What will be asked for.
    ///   - headerFields: The caller's own fields of the request, with credentials. Whoever sends the same ones to the same
    ///     URL is given what is complete without a request; all others, and callers who do not tell (nil), ask the server
    ///     first. They are stored as a keyed hash only.
    ///   - key: What names the download; nil for the URL without user info and signature.
    ///   - selection: What is wanted of the representation; nil for all of it. Each selection is a download of its own.
    ///   - policy: On which terms it is continued.
    ///   - destination: The file that it is to become, where that is known; see ``Transfer/setDestination(_:)``.
    ///   - waits: Whether to wait for somebody who works on it already, in this process or another, or to fail.
    /// - Returns: The transfer. Close it, or let it go: then the next one may work on the entry.
    /// - Throws: ``StoreError``, with `inUse` where it is not waited for; `CancellationError`.
    public func begin(
        _ url: DownloadURL, headerFields: HTTPFields? = nil, key: String? = nil, selection: RangeSelection? = nil,
        policy: ResumePolicy = ResumePolicy(), destination: Destination? = nil, waits: Bool = true
    ) async throws -> Transfer {
        try await begin(
            Caller(url: url, headerFields: headerFields, policy: policy, destination: destination), key: key,
            selection: selection, waits: waits)
    }

    /// Does what ``begin(_:headerFields:key:selection:policy:destination:waits:)`` does.
    func begin(_ caller: Caller, key: String?, selection: RangeSelection?, waits: Bool) async throws -> Transfer {
        let name = Self.key(of: caller.url, named: key, selection: selection)
        let (identityKey, folder, number) = (identityKey, folder, Lease.number(of: name, in: self))
        var keyLease: Lease?
        for _ in 0..<Self.mostAttempts {
            try Task.checkCancellation()
            let lease: Lease
            let variant: Int
            do {
                // Before the look: nobody makes the first row of a key without this lease.
                keyLease = try keyLease ?? Lease.take(number, in: folder)
                let row = try await read { connection in
                    let variant = try connection.variants(of: name).best(for: caller.identity, key: identityKey) ?? 1
                    return (id: try connection.id(ofKey: Variant.key(name, variant)), variant: variant)
                }
                guard let id = row.id else {
                    if let keyLease {
                        let entry = Entry(unclaimed: name, caller, selection)
                        return Transfer(
                            store: self, name: name, caller: caller, lease: nil, keyLease: keyLease, entry: entry)
                    }
                    guard waits else { throw StoreError.inUse(name) }
                    keyLease = try await Lease.wait(for: number, in: folder)
                    continue
                }
                // Whoever waits for the key is to be seen by who delivers next.
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
            // The entry may have been delivered or removed while the lease was waited for.
            let adopted = try await adopt(lease, keyLease, name: name, variant: variant, selection, for: caller)
            guard let transfer = adopted else { continue }
            try await transfer.noteDestination()
            // Coded bytes are no answer for who asks for the file itself, however complete they are.
            let isCoded = await transfer.partial.representation?.contentCoding != nil
            if isCoded, !caller.policy.storesCoded { try await transfer.discard(reason: .codedHeld) }
            return transfer
        }
        throw StoreError(
            .damaged, "the entry \(StoreError.shown(name)) disappears each time it is opened",
            advice: "Run 'resumectl verify' to check the database.")
    }

    /// Does what ``write(durability:_:)`` does, for a body that may add an entry.
    func writeEntry<Result: Sendable>(
        _ body: @Sendable (borrowing Connection) throws -> Result
    ) async throws -> Result {
        do {
            return try await write(body)
        } catch let error as StoreError where error.code == .noSpace {
            // SQLite says the same of a full disk and of numbers that are used up.
            guard try await write({ try $0.restoreNumbers() }) else { throw error }
            return try await write(body)
        }
    }

    /// How often an entry may be gone when its lease is had: more often than others can deliver or remove it meanwhile.
    private static let mostAttempts = 1000

    /// What names a download in the store.
    ///
    /// A URL has no fragment here, so that no other download has this key.
    static func key(_ key: String, _ selection: RangeSelection?) -> String {
        selection.map { "\(key)#\($0)" } ?? key
    }

    /// The key as the caller gave it.
    ///
    /// - Returns: nil where the key is not one of this selection.
    package static func callersKey(_ key: String, _ selection: RangeSelection?) -> String? {
        let suffix = self.key("", selection)
        return key.hasSuffix(suffix) ? String(key.dropLast(suffix.count)) : nil
    }

    /// The same for a URL, unless its caller names it.
    package static func key(of url: DownloadURL, named key: String?, selection: RangeSelection?) -> String {
        self.key(key.map { Variant.withoutNumber(DownloadURL.redactedKey($0)) } ?? url.redacted, selection)
    }

    /// Clamps an entry to what the disk can be trusted to hold, and opens its blob.
    private func adopt(
        _ lease: Lease, _ keyLease: Lease?, name: String, variant: Int, _ selection: RangeSelection?, for caller: Caller
    ) async throws -> Transfer? {
        let (found, blocks) = try await read { connection in
            (try connection.entry(id: lease.id), try connection.blocks(of: lease.id))
        }
        guard let entry = found else {
            // Gone; or there and unreadable, and then of no use to anyone.
            try await write { connection in _ = try connection.removeRow(lease.id) }
            return nil
        }
        // A row that was lost, since SQLite's locks do not work: another one has its number.
        guard entry.key == Variant.key(name, variant) else { return nil }
        guard entry.selection == selection, entry.variant == variant else {
            // A key of the caller's own that reads like that of other ranges or variants, or a planted row.
            try removeBlobs(try await write { connection in try connection.remove(entry) })
            return nil
        }
        // Whatever becomes of the entry now, its next destination may be another one.
        try await Blocking.run { Self.removeLeftovers(of: entry) }
        let folder = folder
        let access = caller.access(to: entry, identityKey)
        // Until the server has said that this caller may have it, nothing of another one's entry changes.
        let shown = access == .foreign ? entry.url : caller.url.redacted
        let lastBlocks = Trusted.last(of: entry, among: blocks)
        let trusted: Trusted
        do {
            trusted = try await Blocking.run { try Trusted(entry, in: folder, comparing: lastBlocks) }
        } catch {
            throw StoreError(wrapping: error)
        }
        let adopted: Entry? = try await write { connection in
            // With locks that do not work somebody may have started it over meanwhile.
            guard try connection.entry(id: entry.id) == entry else { return nil }
            try connection.adopt(entry, url: shown, now: WallClock.milliseconds)
            // Parts that several streams left beside one another become one.
            let chunks = trusted.chunks.joined
            if chunks != entry.chunks {
                _ = try connection.reduceChunks(of: entry.id, generation: entry.generation) { _ in chunks }
            }
            if trusted.stopsGrowing { try connection.stopGrowing(id: entry.id) }
            if let growth = trusted.growth {
                _ = try connection.checkpoint(entry.part, received: growth.end, durable: 0, blocks: growth.blocks)
            }
            if entry.state == .complete, trusted.chunks.contiguousEnd != entry.totalBytes {
                try connection.run("UPDATE download SET state = 'partial' WHERE id = ?", .integer(entry.id))
            }
            let lost = entry.receivedBytes - trusted.chunks.heldBytes
            if lost > 0 {
                try connection.record(
                    Event(
                        key: entry.key, at: WallClock.milliseconds, kind: .damaged, reason: trusted.reason, bytes: lost)
                )
            }
            return try connection.entry(id: entry.id)
        }
        guard let adopted else { return nil }
        let known = Set(lastBlocks)
        let unread = blocks.within(adopted.chunks).filter { !known.contains($0) }
        // A folder of that name, which only somebody else can have made, is left: no row names it any more.
        for blob in trusted.abandoned { _ = try? folder.blobs.remove(blob.fileName) }
        return Transfer(
            store: self, name: name, caller: caller, lease: lease, keyLease: keyLease, entry: adopted,
            blob: trusted.blob, access: access,
            damage: adopted.receivedBytes < entry.receivedBytes ? trusted.reason : nil, unread: unread)
    }
}

/// An entry that was made just now, so that there is nothing to look at.
struct Fresh: Sendable {
    let entry: Entry
    let lease: Lease
}
