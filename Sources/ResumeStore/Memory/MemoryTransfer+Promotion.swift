internal import ResumeHTTP

extension MemoryTransfer {
    /// Moves the received bytes to a store on disk and ends this transfer.
    ///
    /// Use it for downloads that turn out to be too large for memory, or that must survive the process. The bytes are
    /// synced before a row refers to them, and they replace the data in the store on disk in one transaction. If the
    /// process dies, the store on disk has either its previous data or all of the new data.
    ///
    /// - Parameter disk: The store.
    /// - Returns: The download in that store, with its lease, ready to be continued.
    /// - Throws: ``StoreError``: `misuse` if the bytes were fetched for another request and the server has not
    ///   confirmed them for this one, `inUse` if the download is in use there, `holdsMore` if more has been received
    ///   there, `noEntry` if nothing has been received here, and other errors of a store on disk. Then the data here is
    ///   kept.
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
        // Prevents further writes.
        writer.end()
        isClosed = true
        let bytes = blob.bytes(count: Int(held))
        do {
            let transfer = try await disk.begin(
                Caller(url: entry.url, identity: caller.identity, policy: caller.policy), key: entry.name,
                selection: entry.selection, waits: false, on: TransferQueue(of: disk))
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
    /// Moves a partial download to a store on disk, so that it survives the process.
    ///
    /// - Parameters:
    ///   - key: The key: ``Entry/key``, or the URL without user info and signature.
    ///   - disk: The store.
    ///   - waits: Whether to wait if another task is using the download, or to fail.
    /// - Returns: How many bytes were moved.
    /// - Throws: The errors of ``MemoryTransfer/promote(to:)``; also `inUse` if it is in use and `waits` is false. Then
    ///   the data in memory is kept.
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
