import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

/// Bytes that are copied into a store on disk: from memory, or from the file of another program.
extension Transfer {
    /// Moves the received bytes from a store in memory to one on disk, and ends this transfer.
    ///
    /// Use it for downloads that turn out to be too large for memory, or that must survive the process. The bytes are
    /// synced before a row refers to them, and they replace the data in the store on disk in one transaction. If the
    /// process dies, the store on disk has either its previous data or all of the new data.
    ///
    /// - Parameter disk: The store.
    /// - Returns: The download in that store, with its lease, ready to be continued.
    /// - Throws: ``StoreError``: `misuse` if the bytes are on disk already, or were fetched for another request and the
    ///   server has not confirmed them for this one; `inUse` if the download is in use there, `holdsMore` if more has
    ///   been received there, `noEntry` if nothing has been received here, and other errors of a store on disk. Then
    ///   the data here is kept.
    package func promote(to disk: DownloadStore) async throws -> Transfer {
        try requireOpen()
        guard memory != nil else { throw StoreError(.misuse, "the download is on disk already") }
        guard access != .foreign else {
            throw StoreError(.misuse, Reason("not-confirmed"))
        }
        guard let representation = entry.representation, let blob, held > 0 || hasAllBytes else {
            throw StoreError.nothingHeld(key)
        }
        // Prevents further writes.
        main.stop()
        state.close()
        do {
            // What only a digest proves would lose its mark.
            let bytes = try blob.bytes(count: Int(entry.chunks.first { $0.mark != nil }?.offset ?? held))
            // The hashes have another key there.
            var caller = caller
            caller.provenance = nil
            caller.code = nil
            let transfer = try await TransferOpener(disk).open(
                caller, key: DownloadName.callersKey(entry.name, entry.selection), selection: entry.selection,
                waits: false, on: TransferQueue(of: disk))
            do {
                try await transfer.replace(with: representation, bytes: bytes)
            } catch {
                try? await transfer.close()
                throw error
            }
            release(removing: true)
            return transfer
        } catch {
            state.reopen()
            throw error
        }
    }

    /// Replaces the entry's blob with one that contains bytes from memory.
    ///
    /// The bytes are synced before a row names them, and the row changes from the old to the new blob in one
    /// transaction. If the process dies, the store has either the old bytes or all of the new ones.
    ///
    /// - Parameters:
    ///   - representation: The representation of the bytes.
    ///   - bytes: The bytes from offset 0.
    /// - Throws: ``StoreError``: `holdsMore`, `noSpace`, `superseded`, `io`, `database`; the entry is unchanged then.
    func replace(with representation: Representation, bytes: [UInt8]) async throws {
        try requireOpen()
        try await leaveForeignEntry()
        try claim()
        guard !hasAllBytes, receivedBytes <= bytes.count else {
            throw StoreError(.holdsMore, Reason("disk-has-more", with: StoreError.shown(key)))
        }
        let count = Int64(bytes.count)
        try await Collector(store).makeRoom(forCopy: count)
        try await rewrite(
            with: representation, because: .promoted, replacing: receivedBytes, bytes: count, holding: [0..<count],
            committed: .promotionCommitted
        ) { file in
            try unsafe file.write(bytes.span.bytes, at: 0)
            try file.synchronizeData()
            // The checksums are those of what is read back.
            guard try unsafe file.checksum(of: 0..<count) == bytes.span.bytes.crc32c() else {
                throw SystemError(number: EIO, call: "write", path: file.path)
            }
            KillPoint.reached(.promotionSynced)
        }
        try await grantAccess()
    }

    /// Copies the bytes of a partial file into the store, as the beginning of this download.
    ///
    /// The file itself is only read. The bytes are synced before a row names them; if the process dies, the store has
    /// all of them or none. Unless the caller's digest of the whole file proves them, they are compared with the server's
    /// file before they are used. A digest in the file's name proves nothing, since its writer has named it;
    /// but if the complete file does not have it, the file has changed.
    ///
    /// - Parameters:
    ///   - foreign: The partial file.
    ///   - digest: The digest that the whole file must have; nil if the caller knows none.
    /// - Returns: Whether the file is complete and has the caller's digest.
    /// - Throws: ``StoreError``: `holdsMore` if the store has bytes of this download, `misuse` for a download of ranges
    ///   or in memory, `noEntry` if nothing can be adopted, `noSpace`, `superseded`, `io`, `database`.
    package func adopt(_ foreign: ForeignPartial, digest: HTTPDigest? = nil) async throws -> Bool {
        try requireOpen()
        guard entry.selection == nil else {
            throw StoreError(.misuse, Reason("foreign-ranges"))
        }
        guard receivedBytes == 0, !hasAllBytes else {
            let reason = Reason("holds", with: receivedBytes, StoreError.shown(key))
            throw StoreError(.holdsMore, reason, remedy: .continueOrRemove)
        }
        let source = try await Blocking.run { try StoreError.wrapping { try foreign.source(expecting: digest) } }
        try claim()
        try await Collector(store).makeRoom(forCopy: source.length)
        try await rewrite(
            with: source.representation, because: .adopted(source.length, from: foreign), replacing: 0,
            bytes: source.length, holding: source.ranges, agreedSamples: source.isWhole ? nil : 0, mayGrow: false
        ) { file in
            for range in source.ranges { try source.file.copy(range, to: file) }
            try file.synchronizeData()
        }
        exchange.bodies.isSpliced = nil
        earlier.count = receivedBytes
        access = .granted
        writer.grant()
        try await noteDestination()
        return source.isWhole
    }
}
