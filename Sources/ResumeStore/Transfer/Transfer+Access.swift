import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

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
        writer.grant()
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
        try await disk?.write { [entry] connection in
            let values = Connection.values(of: requester, url: url)
            try connection.update(entry, Connection.requesterAssignment, values)
        }
        entry.requester = requester
        entry.url = url
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
        let isOther = exchange.isOfOther && !partial.isEmpty && !passesOn
        guard isOther || access == .foreign && caller.leaves(partial, of: entry.requester, identityKey) else {
            return
        }
        try await takeOwnVariant()
    }

    /// Requires the server to confirm the bytes although they belong to this caller.
    package func requireConfirmation() {
        if access == .granted { access = .unconfirmed }
    }

    /// A digest that the stored bytes were found not to match; nil if there is none.
    package var refusedDigest: HTTPDigest? {
        get async throws {
            guard isClaimed, memory == nil else { return nil }
            return try await store.read { [entry] connection in try connection.refusedDigest(id: entry.id) }
        }
    }

    /// Keeps the bytes although they do not match a requested digest, since the digest may be wrong.
    ///
    /// If it was fetched because another variant did not match either, that one is no better and is removed; this one
    /// is if the other one is pinned or in use.
    package func refuse(_ digest: HTTPDigest, because reason: Reason) async throws {
        try claim()
        guard memory == nil else { return try await discard(reason: reason) }
        let name = key
        let entry = entry
        let folder = try store.folder
        let blobs: [BlobName]? = try await store.write { connection in
            try connection.update(entry, "refused_digest = ?", [digest.fieldValue])
            guard let other = try connection.refused(digest, of: name, beside: entry) else { return [] }
            guard let blobs = try connection.remove(other, beside: entry, in: folder) else { return nil }
            try connection.record(.restarted, key: other.key, reason: reason, bytes: other.receivedBytes)
            return blobs
        }
        guard let blobs else { return try await discard(reason: reason) }
        try await note(reason)
        try? store.folder.remove(blobs)
    }

    /// Leaves the entry to the caller that it was fetched for, and continues with a separate, empty variant of the same
    /// download.
    func takeOwnVariant() async throws {
        try claim()
        try? await writer.finish()
        if let memory {
            let own = try memory.takeVariant(of: entry, for: caller)
            main.stop()
            giveBack(entry, blob)
            entry = own
        } else {
            let own = try await TransferOpener(store).claimVariant(of: key, selection: entry.selection, for: caller)
            main.stop()
            _ = state.move(to: own.lease)
            entry = own.entry
        }
        earlier.damage = nil
        exchange.bodies.forget()
        exchange.resource = .same
        exchange.proved = nil
        begin(with: nil)
        access = .granted
        writer.grant()
    }

    // MARK: The row of a transfer

    // If a download has no stored bytes, its lease is a lock on its key. The row is created when there is something to
    // record.

    /// Calls a closure when there is a row, or at once if there is one already.
    package func whenClaimed(_ body: @escaping @Sendable (isolated Transfer) -> Void) {
        if case .open(.key(let lease, _)) = state { return state = .open(.key(lease, onClaim: body)) }
        if isClaimed { body(self) }
    }

    /// Creates the row.
    ///
    /// - Throws: ``StoreError``: `superseded`, `noSpace`, `io`, `database`.
    func claim() throws {
        if isClaimed { return }
        try requireOpen()
        let store = try store
        let entry = entry
        let url = caller.url.redacted
        // If nil, an earlier release of this program created the row in the meantime, and is using it.
        let claimed = try store.writeNow { connection in
            try connection.claim(entry, url: url, in: store.folder)
        }
        guard let claimed else { throw StoreError.superseded }
        self.entry = claimed.entry
        let onClaim = state.move(to: claimed.lease)
        begin(with: nil)
        onClaim?(self)
    }
}
