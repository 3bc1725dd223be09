package import HTTPTypes
import ResumeFiles
package import ResumeHTTP
import ResumeSQLite
import Synchronization

/// One download that this process has exclusive use of, on disk or in memory: plans requests, judges responses, receives
/// bytes, delivers the file.
///
/// This is the API for programs with their own HTTP client; the engine uses it too. Call in this order, for each
/// request: ``nextRequest(avoidingRange:)``, send the request, ``receive(_:from:)``, ``write(_:)`` for each part of the body,
/// ``endBody(_:)``; when that returns true, ``deliver(to:replaces:)`` or ``takeData(upTo:)``. Call ``close()`` at the
/// end, also after an error: received bytes are kept for the next request.
///
/// It runs on a separate queue, since writing to files blocks.
public actor Transfer {
    /// The key of the download in the store, which all of its variants share.
    public nonisolated let key: String
    nonisolated let home: Home
    /// What it holds until ``close()``, or the delivery.
    var state: State
    private nonisolated let executor: QueueExecutor

    var entry: Entry
    var blob: (any BodyStorage)?
    /// The stream that starts at the first missing byte.
    package nonisolated let main: PartStream
    /// Additional parallel streams.
    var segments: [PartStream] = []
    nonisolated let writer: BlobWriter
    var earlier: EarlierBytes
    var caller: Caller
    var exchange: Exchange

    /// The executor of this transfer's queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    init(
        _ stored: Recovered, in home: Home, on queue: TransferQueue? = nil, caller: Caller,
        holding hold: State.Hold = .row(), access: HeldPartial.Access = .granted
    ) {
        self.caller = caller
        exchange = Exchange(access: access)
        earlier = EarlierBytes(
            count: stored.entry.receivedBytes, damage: stored.damage,
            check: HeldCheck(of: stored.blob, blocks: stored.unread))
        key = stored.entry.name
        self.home = home
        state = .open(hold)
        entry = stored.entry
        blob = stored.blob
        let isMarked = stored.entry.chunks.isMarked(upTo: 0)
        writer = BlobWriter(
            stored.entry, stored.blob, in: home.disk, unread: stored.unread,
            isWithheld: exchange.access != .granted || isMarked)
        main = PartStream(nil, writer)
        executor = queue?.executor ?? QueueExecutor(label: "resume-store.transfer")
    }

    deinit {
        if state.isOpen { giveBack(entry, blob) }
        disk?.room.end(writer)
    }

    /// Whether another task or process waits for this download.
    var isAwaited: Bool { state.hold?.isAwaited == true }

    /// Whether there is a row, or none is needed because the store is in memory.
    var isClaimed: Bool { if case .row = state.hold { true } else { false } }

    /// Whether the caller may use the stored bytes.
    var access: HeldPartial.Access {
        get { exchange.access }
        set { exchange.access = newValue }
    }

    /// The number of bytes in the blob from offset 0, recorded or not.
    nonisolated var held: Int64 { main.held }

    /// The current state of the stored bytes.
    package var partial: HeldPartial {
        var partial = entry.held(upTo: held, access)
        partial.isUnderDigest = isUnderDigest
        partial.isUnproved = partial.isUnproved || isMarked && !policy.hasProof
        return partial
    }

    /// How many of the stored bytes an earlier transfer, or another program, has received.
    package var reused: Int64 { earlier.count }

    /// Why some stored bytes were discarded when they were opened or confirmed; nil if none were.
    package var damage: Reason? { earlier.damage }

    /// The key of the current entry: the transfer's ``key`` and the number of the variant.
    package var entryKey: String { entry.key }

    /// The number of stored bytes, including those behind a gap.
    public var receivedBytes: Int64 { parts.heldBytes }

    /// Whether every byte is stored and the caller may use them, so that the file can be delivered without a request.
    public var isComplete: Bool { blob != nil && partial.isComplete }

    /// Runs a closure on the transfer's queue, so that its calls of the transfer need no thread switch.
    package func run<Result: Sendable>(
        _ body: @Sendable (isolated Transfer) async throws -> Result
    ) async rethrows -> Result {
        try await body(self)
    }

    /// Prepares for a verdict, which has changed nothing yet: for its body, or records why there is none.
    ///
    /// - Throws: ``StoreError``: `noSpace` or `tooLarge` if the announced length does not fit, `superseded`, `io`,
    ///   `database`. Then the stored bytes are kept.
    package func prepare(for verdict: Verdict, of response: HTTPResponse) async throws {
        try requireOpen()
        try await noteAbsence(response)
        if let use = verdict.continuation {
            try await requireRoom(
                for: entry.length(of: use.representation), replacing: verdict.replaces ? receivedBytes : 0)
        }
        switch verdict {
        case .append(let continuation):
            try await setSightings(nil)
            if continuation.reason.code == .resumedUnvalidated { exchange.bodies.isSpliced = true }
            if isUnderDigest || continuation.reason.code == .resumedUnderDigest {
                try await beginMarked()
                try beginBody(continuation, of: response)
            } else {
                try await leaveOwnerless()
                try await recordResource()
                try await learn(digestOf: continuation.representation)
                try beginBody(continuation, of: response)
                // The server sends these bytes to this caller too.
                writer.grant()
            }
            try await disk?.record(.resumed, key: entry.key, reason: continuation.reason, bytes: continuation.offset)
        case .startOver, .startRange:
            guard let use = verdict.continuation else { return }
            try await startOver(with: use.representation, reason: use.reason)
            try beginBody(use, of: response)
        case .complete(let representation, let reason):
            try await setSightings(nil)
            try await learn(representation)
            try await recordResource()
            try await grantAccess()
            try await disk?.record(.resumed, key: entry.key, reason: reason, bytes: held)
        case .askForWhole(let reason), .retry(let reason, _), .refuse(let reason):
            try await note(reason)
            try await noteContradiction(response, reason)
        }
    }

    private func beginBody(_ continuation: Verdict.Continuation, of response: HTTPResponse) throws {
        guard let blob else { return }
        exchange.bodies.begin(after: receivedBytes)
        let awaitsDigest = HTTPDigest(contentDigestIn: response.headerFields) != nil
        if awaitsDigest, entry.grows {
            // The blob may soon contain bytes that are discarded.
            try checkpoint()
            try disk?.writeNow { [entry] connection in try connection.stopGrowing(id: entry.id) }
            entry.content?.grows = false
            writer.withLedger { $0.commit(.often) }
        }
        try main.begin(
            continuation, of: blob, upTo: entry.representation?.completeLength, awaitsDigest: awaitsDigest)
    }

    /// Handles the next part of a body: compares bytes that are stored already, and writes the others at their offset.
    ///
    /// - Parameter bytes: The part; it is not retained.
    /// - Throws: ``StoreError``: `heldBytesDiffer`, `surplusBytes`, `noSpace`, `tooLarge`, `superseded`, `io`.
    public func write(_ bytes: [UInt8]) async throws {
        try requireOpen()
        let body = exchange.bodies.begun
        for start in stride(from: 0, to: bytes.count, by: PartStream.pieceSize) {
            // Other calls may have come in between.
            try requireOpen()
            guard body == exchange.bodies.begun else {
                throw StoreError(.misuse, Reason("response-early"))
            }
            let piece = unsafe bytes.span.bytes.extracting(start..<min(start + PartStream.pieceSize, bytes.count))
            if try !main.append(piece) { try await main.catchUp() }
        }
    }

    /// Whether all requested bytes have been received although the body continues.
    ///
    /// The rest of the body need not be read then.
    public nonisolated var hasAllWanted: Bool { main.hasAllWanted }

    func requireOpen() throws(StoreError) {
        if !state.isOpen { throw .closed }
    }
}

extension Transfer: BlockingActor {}
