internal import ResumeFiles
package import ResumeHTTP
internal import ResumeSQLite

/// For whom what is held was fetched, and who may have it.
extension Transfer {
    /// Whose bytes an answer brings.
    func requester(for representation: Representation?) -> Requester {
        caller.requester(for: representation, store.identityKey)
    }

    /// Takes note that what is held is this caller's: the server has confirmed it, or sent it in the place of something else.
    func grantAccess() async throws {
        guard access != .granted else { return }
        access = .granted
        readable.grant()
        let requester = requester(for: entry.representation)
        if requester != entry.requester {
            let (id, generation, url) = (entry.id, entry.generation, caller.url.redacted)
            try await store.write { connection in
                try connection.setRequester(id: id, generation: generation, requester, url: url)
            }
            entry.url = url
            entry.requester = requester
        }
        try await noteDestination()
    }

    /// Before bytes for this caller are added to another one's: until they were compared, and this caller has access, they
    /// are nobody's, also after a crash.
    func leaveOwnerless() async throws {
        guard access == .foreign, entry.requester != Requester.nobody else { return }
        let (id, generation, url) = (entry.id, entry.generation, entry.url)
        try await store.write { connection in
            try connection.setRequester(id: id, generation: generation, .nobody, url: url)
        }
        entry.requester = .nobody
    }

    /// Remembers where the download is to go, where that is known and the entry is this caller's.
    func noteDestination() async throws {
        guard access != .foreign, let destination = caller.destination else { return }
        try await setDestination(destination)
    }

    /// Before another representation takes the place of what is held: leaves that to whoever it was fetched for, where it
    /// is complete, or may still be what the server sends to requests with those fields that it named in `Vary`.
    func leaveForeignEntry() async throws {
        guard access == .foreign,
            caller.leaves(partial, of: entry.requester, store.identityKey)
        else { return }
        _ = try await takeOwnVariant()
    }

    /// Has the server asked whether it has these bytes, although they are this caller's.
    package func requireAnswer() {
        if access == .granted { access = .unconfirmed }
    }

    /// The digest that these bytes were found not to have; nil where none was asked for in vain.
    package var refusedDigest: HTTPDigest? {
        get async throws {
            guard isClaimed else { return nil }
            let id = entry.id
            return try await store.read { connection in try connection.refusedDigest(id: id) }
        }
    }

    /// Keeps the bytes although they do not have a digest that was asked for: it may be the digest that is wrong.
    ///
    /// Those that were fetched since, beside others that do not have it, are no better, and go.
    package func refuse(_ digest: HTTPDigest, because reason: Reason) async throws {
        try claim()
        let (id, generation, name, entry) = (entry.id, entry.generation, key, entry)
        let isSecond = try await store.read { connection in
            try connection.hasRefused(digest, of: name, beside: entry)
        }
        if isSecond { return try await discard(reason: reason) }
        try await note(reason)
        try await store.write { connection in try connection.refuse(digest, id: id, generation: generation) }
    }

    /// Goes on with an empty entry of its own beside the one that is there.
    package func fetchAgainBeside(because reason: Reason) async throws {
        try await note(reason)
        let own = try await takeOwnVariant()
        if !own.isEmpty || own.hasAllBytes { try await discard(reason: reason) }
    }

    /// Leaves the entry to whoever it was fetched for, and goes on with one of its own for the same download.
    ///
    /// - Returns: What that one holds, which is nothing where it is new.
    func takeOwnVariant() async throws -> HeldPartial {
        try claim()
        try? await sync.finish()
        let own = try await store.claimVariant(of: key, selection: entry.selection, for: caller)
        main.stop()
        lease = own.lease
        heldCheck = nil
        damage = nil
        isSpliced = nil
        uncompared = 0
        entry = own.entry
        begin(with: nil)
        access = .granted
        readable.grant()
        return partial
    }
}

extension DownloadStore {
    /// Makes an entry for another representation of a download; where there are as many as there may be, takes the one
    /// that was used longest ago and is neither in use nor pinned.
    ///
    /// - Throws: ``StoreError`` with `inUse` where all are.
    fileprivate func claimVariant(
        of name: String, selection: RangeSelection?, for caller: Caller
    ) async throws -> Fresh {
        let folder = folder
        let claimed: Fresh? = try await writeEntry { connection in
            let variants = try connection.variants(of: name).map(\.number)
            for number in (1...Variant.most) where !variants.contains(number) {
                let id = try connection.claim(
                    key: Variant.key(name, number), variant: number, url: caller.url.redacted, selection: selection,
                    destination: caller.destination?.path, now: WallClock.milliseconds)
                // A key of a caller's own may read like that of a variant.
                guard let id, let lease = try Lease.take(id, in: folder), let entry = try connection.entry(id: id)
                else {
                    continue
                }
                return Fresh(entry: entry, lease: lease)
            }
            for number in variants.reversed() {
                guard let entry = try connection.entry(key: Variant.key(name, number)), !entry.isPinned,
                    let lease = try Lease.take(entry.id, in: folder)
                else { continue }
                return Fresh(entry: entry, lease: lease)
            }
            return nil
        }
        guard let claimed else { throw StoreError.inUse(name) }
        return claimed
    }
}
