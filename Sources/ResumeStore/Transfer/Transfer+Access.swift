package import HTTPTypes
internal import ResumeFiles
package import ResumeHTTP
internal import ResumeSQLite

/// Records whom the stored bytes were fetched for, and decides who may use them.
extension Transfer {
    /// Returns the requester that the bytes of a response belong to.
    func requester(for representation: Representation?) -> Requester {
        caller.requester(for: representation, identityKey)
    }

    /// Records that the stored bytes belong to this caller: the server has confirmed them, or sent them in place of
    /// others.
    func grantAccess() async throws {
        guard access != .granted else { return }
        access = .granted
        // The bytes stay their requester's, and are withheld until the digest proves them.
        if isUnderDigest { return }
        readable.grant()
        try await setRequester(requester(for: entry.representation), url: caller.url.redacted)
        try await noteDestination()
    }

    /// Removes the owner of the entry before bytes for this caller are added to those of another one.
    ///
    /// Until the bytes have been compared and this caller has access, they belong to no caller, even after a crash.
    func leaveOwnerless() async throws {
        if access == .foreign { try await setRequester(entry.requester.ownerless, url: entry.url) }
    }

    func setRequester(_ requester: Requester, url: String) async throws {
        guard requester != entry.requester else { return }
        let (id, generation) = (entry.id, entry.generation)
        try await disk?.write { connection in
            try connection.setRequester(id: id, generation: generation, requester, url: url)
        }
        (entry.requester, entry.url) = (requester, url)
        (blob as? MemoryBlob)?.owner = requester.code == nil ? nil : caller.identity
    }

    /// Records the destination if it is known and the entry belongs to this caller.
    func noteDestination() async throws {
        guard access != .foreign, let destination = caller.destination else { return }
        try await setDestination(destination)
    }

    /// Moves to a separate entry before another representation replaces bytes that were fetched for another caller, or
    /// from another resource.
    ///
    /// Bytes of another caller are replaced if they are incomplete and the server did not name the header fields of the
    /// requests in `Vary`.
    func leaveForeignEntry() async throws {
        let isOther = caller.standing == .moved && !partial.isEmpty && !passesOn
        guard isOther || access == .foreign && caller.leaves(partial, of: entry.requester, identityKey) else { return }
        _ = try await takeOwnVariant()
    }

    /// Leaves the stored bytes in their entry until their replacement is delivered, and continues beside them.
    ///
    /// Bytes without a validator, which nothing can continue, are kept once only.
    func leaveReplaced() async throws {
        guard let disk, isClaimed, access != .foreign, receivedBytes > 0 else { return }
        let (old, name) = (entry, key)
        let isFirst = try await disk.read { connection in
            try connection.variants(of: name).allSatisfy {
                $0.id == old.id || $0.requester.code != old.requester.code
            }
        }
        guard isFirst || old.representation?.validator != nil else { return }
        // All of them stay, also those for which a commit was due later.
        try checkpoint()
        do {
            _ = try await takeOwnVariant()
        } catch let error as StoreError where error.code == .inUse {
            // All variants are in use or pinned: the replacement takes the place of the old bytes.
            return
        }
        guard old.isPinned else { return }
        let id = entry.id
        try await disk.write { connection in
            _ = try connection.run(
                "UPDATE download SET pinned = id = ?1 WHERE id IN (?1, ?2)", .integer(id), .integer(old.id))
        }
        entry.isPinned = true
    }

    /// Continues with older bytes of the representation that the server sends now, if they are stored.
    ///
    /// - Returns: Whether there are any, so that the rest of them is requested.
    package func goesBack(after response: HTTPResponse) async throws -> Bool {
        guard let disk, isClaimed, access != .foreign, !partial.isEmpty,
            response.status == .ok || response.status == .partialContent,
            let validator = Representation(announcedBy: response).validator,
            validator != entry.representation?.validator
        else { return false }
        let (current, name, folder) = (entry, key, disk.folder)
        let older: Fresh? = try await disk.read { connection in
            for variant in try connection.variants(of: name) where variant.id != current.id {
                guard variant.requester.code == current.requester.code,
                    let entry = try connection.entry(id: variant.id), entry.representation?.validator == validator,
                    entry.receivedBytes > 0, let lease = try Lease.take(variant.id, in: folder)
                else { continue }
                return Fresh(entry: entry, lease: lease)
            }
            return nil
        }
        guard let older else { return false }
        try checkpoint()
        try? await sync.finish()
        guard let recovered = try await disk.recover(older.entry, showing: caller.url.redacted) else { return false }
        main.stop()
        (lease, entry) = (older.lease, recovered.entry)
        (damage, isSpliced, uncompared) = (recovered.damage, nil, 0)
        begin(with: recovered.blob)
        if let file, !recovered.unread.isEmpty { heldCheck = HeldCheck(of: file, blocks: recovered.unread) }
        access = .granted
        if isMarked { readable.withhold() } else { readable.grant() }
        try await disk.record(.resumed, key: entry.key, reason: .olderVersion, bytes: receivedBytes)
        return true
    }

    /// Requires the server to confirm the bytes although they belong to this caller.
    package func requireAnswer() {
        if access == .granted { access = .unconfirmed }
    }

    /// A digest that the stored bytes were found not to match; nil if there is none.
    package var refusedDigest: HTTPDigest? {
        get async throws {
            guard isClaimed, memory == nil else { return nil }
            let id = entry.id
            return try await store.read { connection in try connection.refusedDigest(id: id) }
        }
    }

    /// Keeps the bytes although they do not match a requested digest, since the digest may be wrong.
    ///
    /// If this variant was fetched because another one did not match either, it is no better and is removed.
    package func refuse(_ digest: HTTPDigest, because reason: Reason) async throws {
        try claim()
        guard memory == nil else { return try await discard(reason: reason) }
        let (id, generation, name, entry) = (entry.id, entry.generation, key, entry)
        let isSecond = try await store.read { connection in
            try connection.hasRefused(digest, of: name, beside: entry)
        }
        if isSecond { return try await discard(reason: reason) }
        try await note(reason)
        try await store.write { connection in try connection.refuse(digest, id: id, generation: generation) }
    }

    /// Continues with an empty variant beside the current entry.
    package func fetchAgainBeside(because reason: Reason) async throws {
        try await note(reason)
        let own = try await takeOwnVariant()
        if !own.isEmpty || own.hasAllBytes { try await discard(reason: reason) }
    }

    /// Leaves the entry to the caller that it was fetched for, and continues with a separate variant of the same
    /// download.
    ///
    /// - Returns: The stored bytes of that variant; none if it is new.
    func takeOwnVariant() async throws -> HeldPartial {
        try claim()
        try? await sync.finish()
        if let memory {
            let own = try memory.takeVariant(of: entry, for: caller)
            main.stop()
            Self.giveBack(entry, blob, length: held, to: home)
            entry = own
        } else {
            let own = try await store.claimVariant(of: key, selection: entry.selection, for: caller)
            main.stop()
            (lease, entry) = (own.lease, own.entry)
        }
        (damage, isSpliced, uncompared) = (nil, nil, 0)
        (caller.standing, caller.proved) = (.same, nil)
        begin(with: nil)
        access = .granted
        readable.grant()
        return partial
    }
}

extension DownloadStore {
    /// Creates an entry for another variant of a download.
    ///
    /// If the limit of variants is reached, reuses the least recently used one that is neither in use nor pinned.
    ///
    /// - Throws: ``StoreError`` with `inUse` if all of them are in use or pinned.
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
                // A caller's own key may look like that of a variant.
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
