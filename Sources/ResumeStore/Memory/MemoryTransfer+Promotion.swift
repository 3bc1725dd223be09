internal import ResumeHTTP

extension MemoryTransfer {
    /// Moves what is held into a store on disk, and ends this transfer: for what turns out to be too much for memory, or
    /// is to survive the process.
    ///
    /// The bytes are synced before a row names them, and take the place of what the store on disk had in one
    /// transaction: whoever dies meanwhile leaves there what was there before, or all of it.
    ///
    /// - Parameter disk: The store.
    /// - Returns: The download in that store, under its lease, to be gone on with.
    /// - Throws: ``StoreError``: `misuse` where the bytes were fetched for another request and the server has not confirmed
    ///   them to this one, `inUse` where somebody works on it there, `holdsMore` where more of it is held there,
    ///   `noEntry` where nothing is held here, and what else a store on disk throws. What is held here stays.
    public func promote(to disk: DownloadStore) async throws -> Transfer {
        try requireOpen()
        guard access != .foreign else {
            throw StoreError(
                .misuse, "the stored bytes were downloaded with a different request",
                advice: "Let the server confirm them first: plan, send, receive, endBody.")
        }
        guard let representation = entry.representation, let blob = entry.blob, !entry.isEmpty || held > 0 else {
            throw StoreError.nothingHeld(key)
        }
        // Nobody writes to it meanwhile.
        writer.end()
        isClosed = true
        let bytes = blob.bytes(count: Int(held))
        do {
            let transfer = try await disk.begin(
                Caller(url: entry.url, identity: caller.identity, policy: caller.policy), key: entry.name,
                selection: entry.selection, waits: false)
            do {
                try await transfer.replace(with: representation, bytes: bytes)
            } catch {
                try? await transfer.close()
                throw error
            }
            release(goes: true)
            return transfer
        } catch {
            isClosed = false
            throw error
        }
    }
}

extension MemoryStore {
    /// Moves a partial into a store on disk, so that it survives the process.
    ///
    /// - Parameters:
    ///   - key: What names it: ``Entry/key``, or the URL without user info and signature.
    ///   - disk: The store.
    ///   - waits: Whether to wait for another task that works on it, or to fail.
    /// - Returns: How many bytes were moved.
    /// - Throws: As for ``MemoryTransfer/promote(to:)``; `inUse` also where it is not waited for. What is held in memory
    ///   stays there then.
    @discardableResult
    public func promote(_ key: String, to disk: DownloadStore, waits: Bool = true) async throws -> Int64 {
        guard let held = try await reopen(key, waits: waits) else {
            throw StoreError.nothingHeld(key)
        }
        do {
            let transfer = try await held.promote(to: disk)
            let count = await transfer.receivedBytes
            try await transfer.close()
            return count
        } catch {
            await held.close()
            throw error
        }
    }
}
