public import HTTPTypes
public import ResumeHTTP
internal import ResumeSQLite

/// One download under its lease: what to ask, what to do with the answer, bytes in, file out.
///
/// This is the door for programs with an HTTP client of their own, and the one the engine uses. Call in this order,
/// for each request: ``plan(overlap:avoidsRange:)``, send, ``receive(_:to:)``, ``write(_:)`` for each part of the
/// body, ``endBody(_:)``; and when that says that everything is there, ``deliver(to:)``. ``close()`` at the end,
/// whatever happened.
///
/// It runs on a queue of its own, since writing to files blocks.
public actor Transfer {
    /// What names the download in the store.
    public nonisolated let key: String
    nonisolated let store: DownloadStore
    /// Given back by ``close()`` and after the delivery.
    var lease: Lease?
    private nonisolated let executor: QueueExecutor

    var entry: Entry
    var blob: OpenFile?
    /// Bytes from 0 on that lie in the blob, committed or not.
    var held: Int64
    /// Bytes from 0 on that a commit has recorded.
    var committed: Int64
    private var body: Body?
    var lastCommit = ContinuousClock.now
    /// The commit that runs beside the transfer, if one does.
    var commit: Task<Void, any Error>?
    let synchronizer: Synchronizer
    var isClosed = false

    /// Where the next byte of a response's body belongs.
    private struct Body {
        var position: Int64
        let compareUntil: Int64
        let end: Int64?
        /// The complete length that the answer told, believed once what is held was compared.
        let learned: Int64?
    }

    /// The executor of this transfer's queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    init(store: DownloadStore, lease: Lease, entry: Entry, blob: OpenFile?) {
        key = entry.key
        self.store = store
        self.lease = lease
        self.entry = entry
        self.blob = blob
        held = entry.held.length
        committed = held
        executor = QueueExecutor(label: "resume-store.transfer")
        synchronizer = Synchronizer(durable: entry.durableBytes, interval: store.configuration.durableInterval)
    }

    /// What is held so far.
    public var partial: HeldPartial {
        HeldPartial(representation: entry.representation, length: held)
    }

    /// Whether every byte is there, so that it can be delivered without a request.
    public var isComplete: Bool {
        blob != nil && partial.isComplete
    }

    /// Decides what to ask for next.
    ///
    /// - Parameters:
    ///   - overlap: Bytes to fetch again and compare; 0 turns it off.
    ///   - avoidsRange: Why the whole is to be asked for whatever is held; nil to ask for the rest where possible.
    /// - Returns: What to ask for, with the fields to send.
    public func plan(overlap: Int64 = Plan.defaultOverlap, avoidsRange: Reason? = nil) -> Plan {
        Plan(for: partial, overlap: overlap, avoidsRange: avoidsRange)
    }

    /// Takes the head of a response, after redirects, and prepares the store for its body.
    ///
    /// - Parameters:
    ///   - response: Status and fields.
    ///   - plan: What was asked for.
    /// - Returns: What to do. After `append` and `startOver` the body is to be written; after anything else it is
    ///   to be discarded.
    /// - Throws: ``StoreError``: `noSpace` where the announced length does not fit, `superseded`, `io`, `database`.
    public func receive(_ response: HTTPResponse, to plan: Plan) async throws -> Verdict {
        try requireOpen()
        body = nil
        let verdict = Verdict(for: response, to: plan, held: partial)
        switch verdict {
        case .append(let continuation):
            body = Body(
                position: continuation.bodyStart, compareUntil: continuation.offset, end: continuation.bodyEnd,
                learned: continuation.representation.completeLength)
            try await store.record(.resumed, key: key, reason: continuation.reason, bytes: continuation.offset)
        case .startOver(let representation, let reason):
            try await startOver(with: representation, reason: reason)
            body = Body(position: 0, compareUntil: 0, end: representation.completeLength, learned: nil)
        case .complete(let representation, let reason):
            try await learn(representation)
            try await store.record(.resumed, key: key, reason: reason, bytes: held)
        case .askForWhole(let reason), .retry(let reason, _), .refuse(let reason):
            try await store.record(.refused, key: key, reason: reason, bytes: held)
        }
        return verdict
    }

    /// Takes the next part of a body: compares what is held already, writes the rest at its offset.
    ///
    /// - Parameter bytes: The part; nothing is kept of it.
    /// - Throws: ``StoreError``: `heldBytesDiffer`, `surplusBytes`, `noSpace`, `superseded`, `io`.
    public func write(_ bytes: [UInt8]) async throws {
        let isDue = try unsafe bytes.withUnsafeBytes { try unsafe append($0) }
        if isDue { try await checkpoint() }
    }

    /// Does what ``write(_:)`` does but for the commit.
    ///
    /// - Returns: Whether ``checkpoint()`` is due now.
    package func append(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        try requireOpen()
        guard var body, let blob else {
            throw StoreError(.misuse, "Bytes were written before a response that may be used.")
        }
        var rest = unsafe bytes
        do {
            if body.position < body.compareUntil {
                let count = Int(min(Int64(rest.count), body.compareUntil - body.position))
                try unsafe compare(UnsafeRawBufferPointer(rebasing: rest[..<count]), with: blob, at: body.position)
                body.position += Int64(count)
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            let room = body.end.map { max($0 - body.position, 0) } ?? Int64.max - body.position
            let isSurplus = Int64(rest.count) > room
            if isSurplus { unsafe rest = UnsafeRawBufferPointer(rebasing: rest[..<Int(room)]) }
            if unsafe !rest.isEmpty {
                try unsafe blob.write(rest, at: body.position)
                body.position += Int64(rest.count)
                held = max(held, body.position)
            }
            self.body = body
            if isSurplus {
                throw StoreError(.surplusBytes, "The server sent more bytes than it announced.")
            }
        } catch let error as SystemError {
            throw StoreError(wrapping: error)
        }
        try synchronizer.rethrow()
        return isCheckpointDue
    }

    private func compare(_ bytes: UnsafeRawBufferPointer, with blob: OpenFile, at offset: Int64) throws {
        try unsafe withUnsafeTemporaryAllocation(byteCount: min(bytes.count, 65536), alignment: 16) { buffer in
            var done = 0
            while done < bytes.count {
                let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[done..<min(done + buffer.count, bytes.count)])
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<part.count])
                let count = try unsafe blob.read(into: target, at: offset + Int64(done))
                guard count == part.count, unsafe part.elementsEqual(target) else {
                    let reason = Reason.heldBytesDiffer(at: offset + Int64(done))
                    throw StoreError(.heldBytesDiffer, reason.text)
                }
                done += count
            }
        }
    }

    /// Ends a body.
    ///
    /// - Parameter ending: How it ended.
    /// - Returns: Whether every byte is there now. Only coverage of every byte of the complete length counts.
    /// - Throws: ``StoreError``
    public func endBody(_ ending: BodyEnding) async throws -> Bool {
        try requireOpen()
        if let body, entry.representation?.completeLength == nil, body.position >= body.compareUntil {
            if let length = body.learned {
                try await learnLength(length)
            } else if ending != .cut, body.end == nil {
                try await learnLength(body.position)
            }
        }
        body = nil
        try await settle()
        try await checkpoint()
        return isComplete
    }

    /// How the body of a response ended.
    public enum BodyEnding: Sendable, Hashable {
        /// At its announced length, or with its last chunk.
        case whole
        /// With the connection, which for a body without length and chunks is the end, or a cut: nobody can tell.
        case closeDelimited
        /// Before its end, or it was not read to its end.
        case cut
    }

    static let superseded = StoreError(
        .superseded, "Somebody else started this download over or removed it meanwhile.", advice: "Run it again.")

    /// Ends the transfer and lets the next one work on the entry.
    func release() {
        isClosed = true
        lease = nil
        // An open file keeps its blocks, also when the collector has removed its name.
        blob = nil
    }

    func requireOpen() throws(StoreError) {
        if isClosed { throw StoreError(.misuse, "The transfer is closed.") }
    }

    /// Lets go of the entry: records what is held, and removes an entry of which nothing is.
    ///
    /// - Throws: ``StoreError``; the lease is given back all the same.
    public func close() async throws {
        guard !isClosed else { return }
        defer { release() }
        isClosed = true
        // What these failed with shows in the checkpoint, or was told before.
        try? await settle()
        try? await synchronizer.finish()
        try await checkpoint()
        // A clean stop loses nothing to a later power cut.
        if held > 0 { try? await synchronize() }
        guard held == 0, !isComplete, !entry.isPinned else { return }
        let entry = entry
        let blobs = try await store.write { connection in try connection.remove(entry) }
        try store.removeBlobs(blobs)
    }
}
