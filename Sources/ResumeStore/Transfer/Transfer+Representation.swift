internal import ResumeFiles
public import ResumeHTTP
internal import ResumeSQLite

extension Transfer {
    /// Gives the entry a new representation and a new, empty blob; the old blob is removed after the commit.
    func startOver(with representation: Representation, reason: Reason) async throws {
        try await leaveForeignEntry()
        if try beginBrief(with: representation, reason: reason) { return }
        try claim()
        let length = HeldPartial(representation: representation, length: 0, selection: entry.selection).totalLength
        if let length { try await store.makeRoom(for: length) }
        // Nothing of the old representation may be committed after this.
        try? await sync.finish()
        let (old, id, key, lost) = (entry.generation, entry.id, entry.key, receivedBytes)
        let (store, requester, url) = (store, requester(for: representation), caller.url.redacted)
        // The blob has a separate lock, taken before its name exists and kept across the commit until a row names it.
        let (file, begun): (OpenFile, Rewritten?) = try await creatingBlob { name in
            try store.writeNow { connection in
                let now = WallClock.milliseconds
                let blobs = try connection.startOver(
                    id: id, generation: old, with: representation, for: requester, url: url, length: length,
                    blob: name, grows: store.trustsLengths, now: now)
                guard let blobs else { return nil }
                let kind: Event.Kind = lost > 0 ? .restarted : .started
                try connection.record(Event(key: key, at: now, kind: kind, reason: reason, bytes: lost))
                return Rewritten(abandoned: blobs, entry: try connection.entry(id: id))
            }
        }
        guard let begun else { throw Self.superseded }
        isSpliced = false
        KillPoint.reached(.startedOver)
        try store.removeBlobs(begun.abandoned)
        try take(begun.entry)
        begin(with: file)
        try await grantAccess()
    }

    /// Records what a continuation says about the representation, which is the complete length if it was unknown.
    func learn(_ representation: Representation) async throws {
        guard entry.representation?.completeLength == nil, let length = representation.completeLength else { return }
        try claim()
        try await learnLength(length)
    }

    func learnLength(_ length: Int64) async throws {
        let (id, generation) = (entry.id, entry.generation)
        try await store.write { connection in
            try connection.learnLength(id: id, generation: generation, length: length)
        }
        entry.representation?.completeLength = length
        readable.learn(totalLength: entry.totalBytes)
    }

    /// Discards all stored bytes because they are wrong, and records the reason.
    ///
    /// The next plan requests the whole file.
    ///
    /// - Throws: ``StoreError``
    public func discard(reason: Reason) async throws {
        try requireOpen()
        try claim()
        // The bytes are wrong for this caller, but may be right for the one that they were fetched for.
        if access == .foreign, try await takeOwnVariant().isEmpty { return try await note(reason) }
        try? await sync.finish()
        let entry = entry
        let lost = receivedBytes
        let emptied: Rewritten? = try await store.write { connection in
            let blobs = try connection.blobs(of: entry.id)
            guard try connection.reduceChunks(of: entry.id, generation: entry.generation, { _ in [] }) else {
                return nil
            }
            try connection.record(
                Event(key: entry.key, at: WallClock.milliseconds, kind: .restarted, reason: reason, bytes: lost))
            return Rewritten(abandoned: blobs, entry: try connection.entry(id: entry.id))
        }
        guard let emptied else { throw Self.superseded }
        try store.removeBlobs(emptied.abandoned)
        try take(emptied.entry)
        begin(with: nil)
    }

    /// Discards the last stored bytes because they are wrong; keeps those before, and those behind a gap.
    ///
    /// - Parameters:
    ///   - length: The number of bytes to keep.
    ///   - reason: Why the others are wrong.
    /// - Throws: ``StoreError``
    public func rewind(to length: Int64, reason: Reason) async throws {
        try requireOpen()
        main.writer.end()
        try claim()
        if access == .foreign {
            // Bytes that are wrong for this caller stay for the one that they were fetched for.
            return length < held ? try await discard(reason: reason) : try await note(reason)
        }
        guard length > 0 || partial.nextHeld != nil else { return try await discard(reason: reason) }
        try? await sync.finish()
        let (entry, end) = (entry, max(length, held))
        let shortened: Entry?
        do {
            shortened = try await store.write { connection in
                try connection.record(
                    Event(
                        key: entry.key, at: WallClock.milliseconds, kind: .damaged, reason: reason,
                        bytes: end - length))
                let isCurrent = try connection.reduceChunks(of: entry.id, generation: entry.generation) {
                    $0.removing(length..<end)
                }
                return isCurrent ? try connection.entry(id: entry.id) : nil
            }
        } catch {
            // The row still claims wrong bytes; without the blob they are not trusted.
            try? store.removeBlobs(entry.chunks.compactMap { BlobName(path: $0.path) })
            throw error
        }
        try take(shortened)
        begin(with: blob, givesUp: end > length)
    }

    /// Continues with a blob whose contents the entry describes, or without one.
    ///
    /// - Parameters:
    ///   - blob: The blob.
    ///   - givesUp: Whether bytes were discarded that the entry no longer shows.
    func begin(with blob: OpenFile?, givesUp: Bool = false) {
        if self.blob !== blob { heldCheck = nil }
        self.blob = blob
        let before = parts.disjoint.extents
        for segment in segments { segment.stop() }
        segments = []
        let extents = entry.chunks.disjoint.extents
        let givesUp = givesUp || !before.allSatisfy { old in extents.contains { $0.contains(old) } }
        main.restart()
        sync.reset(to: entry, blob: blob, keepsLedger: false)
        readable.begin(with: blob, totalLength: entry.totalBytes, givesUp: givesUp)
    }

    /// Records the destination, for `list` and for a delivery after a crash.
    ///
    /// - Throws: ``StoreError``
    public func setDestination(_ destination: Destination) async throws {
        guard entry.destination != destination.path else { return }
        let id = entry.id
        if isClaimed {
            try await store.write { connection in
                _ = try connection.run(
                    "UPDATE download SET destination = ? WHERE id = ?", .text(destination.path), .integer(id))
            }
        }
        entry.destination = destination.path
    }

    /// Continues with the current state of the entry in the store.
    func reload() async throws {
        let (id, generation) = (entry.id, entry.generation)
        let current = try await store.read { connection in try connection.entry(id: id) }
        guard current?.generation == generation else { throw Self.superseded }
        try take(current)
    }

    /// Continues with an entry as it was read in the transaction that changed it.
    ///
    /// If it were read later and locks do not work, it might be another process's: its generation and its blob would
    /// replace those being written, and the wrong blob would be recorded and delivered.
    func take(_ current: Entry?) throws(StoreError) {
        guard let current, current.key == entry.key, current.selection == entry.selection else { throw Self.superseded }
        entry = current
    }

    /// The stored bytes, for reading elsewhere, since that may take long.
    package var heldBytes: HeldBytes {
        HeldBytes(blob: blob)
    }
}

/// The result of a transaction that rewrote an entry.
struct Rewritten: Sendable {
    /// Blobs that the entry no longer names.
    let abandoned: [BlobName]
    let entry: Entry?
}

/// The bytes of a blob, for computing a digest.
package struct HeldBytes: Sendable {
    let blob: OpenFile?

    /// Passes the bytes to a closure in order; blocks until it has read them.
    ///
    /// - Throws: ``StoreError``, or any error of `body`.
    package func forEachBuffer(in range: Range<Int64>, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard let blob else { return }
        let size = 256 * 1024
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        defer { unsafe buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = Int(min(Int64(size), range.upperBound - offset))
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            let count: Int
            do {
                count = try unsafe blob.read(into: target, at: offset)
            } catch {
                throw StoreError(wrapping: error)
            }
            guard count == wanted else {
                throw StoreError.blobShort
            }
            try unsafe body(UnsafeRawBufferPointer(target))
            offset += Int64(count)
        }
    }
}

extension Transfer {
    /// Creates a blob and commits the row that names it; orphaned blobs are not removed in between.
    ///
    /// - Parameters:
    ///   - fill: Fills the file before the commit; it may block.
    ///   - commit: Commits a row that names the blob.
    /// - Returns: The blob's file, and what `commit` returned.
    /// - Throws: ``StoreError``
    func creatingBlob<Result: Sendable>(
        filling fill: (OpenFile) throws -> Void = { _ in }, _ commit: (BlobName) async throws -> Result
    ) async throws -> (OpenFile, Result) {
        do {
            let creation = try BlobCreation(in: store.folder)
            do {
                try fill(creation.file)
            } catch {
                _ = try? store.folder.blobs.remove(creation.name.fileName)
                throw error
            }
            try await FolderSynchronizer.shared.synchronize(store.folder.blobs)
            KillPoint.reached(.blobCreated)
            let result = try await commit(creation.name)
            return withExtendedLifetime(creation) { (creation.file, result) }
        } catch {
            throw StoreError(wrapping: error)
        }
    }
}

extension DownloadStore {
    /// Removes blobs that no row names.
    package func removeBlobs(_ names: [BlobName]) throws {
        do {
            for name in names { try folder.blobs.remove(name.fileName) }
        } catch {
            throw StoreError(wrapping: error)
        }
    }
}
