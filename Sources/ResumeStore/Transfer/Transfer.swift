public import HTTPTypes
internal import ResumeFiles
public import ResumeHTTP
internal import ResumeSQLite

/// One download under its lease: what to ask, what to do with the answer, bytes in, file out.
///
/// This is the door for programs with an HTTP client of their own, and the one the engine uses. Call in this order,
/// for each request: ``plan(avoidsRange:)``, send, ``receive(_:to:)``, ``write(_:)`` for each part of the
/// body, ``endBody(_:)``; and when that says that everything is there, ``deliver(to:)``. ``close()`` at the end,
/// whatever happened.
///
/// It runs on a queue of its own, since writing to files blocks.
public actor Transfer {
    /// What names the download in the store, whichever of its variants this is.
    public nonisolated let key: String
    nonisolated let store: DownloadStore
    /// The right to work on the row; given back by ``close()`` and after the delivery.
    var lease: Lease?
    /// The right to work on the key, which was had before there was a row.
    var keyLease: Lease?
    /// Whether there is a row.
    var isClaimed: Bool
    /// Whether a file without a row has its name at the destination, which makes it its owner's.
    var isNamed = false
    /// Whether that name is being brought to disk: it gets no row meanwhile.
    var isDelivering = false
    /// Told when that has ended.
    var onDelivered: [CheckedContinuation<Void, Never>] = []
    /// A name in the store that no row has yet: the commit failed, and is to be tried again.
    var unclaimedName: BlobCreation?
    /// Whether a power loss may cost the row.
    var isRowUnsynced = false
    /// Makes room for the bytes of a download without a row.
    var makingRoom: Task<Void, any Error>?
    /// Told when there is.
    var onClaim: (@Sendable (isolated Transfer) -> Void)?
    /// Why a body without a row began.
    var startReason: Reason?
    private nonisolated let executor: QueueExecutor

    var entry: Entry
    var blob: OpenFile?
    /// The stream from the first missing byte on.
    package nonisolated let main: PartStream
    /// Streams that were opened beside it.
    var segments: [PartStream] = []
    nonisolated let sync: BlobSync
    /// What of the blob can be read meanwhile.
    nonisolated let readable: ReadableBlob
    var isClosed = false
    /// Compares what was held before; nil where that has ended, or nothing was.
    var heldCheck: HeldCheck?
    /// How often in a row an answer brought nothing but bytes up to a gap's end, so that they were not compared; twice
    /// counts who ended there by himself.
    var uncompared = 0
    /// Whether responses were put together without a validator; nil where only the log can tell.
    var isSpliced: Bool?
    /// How many bytes were held before the body.
    private(set) var receivedBefore: Int64 = 0
    /// Why some of what was held has been given up, when it was taken over or confirmed; nil where nothing was.
    public internal(set) var damage: Reason?
    /// On which terms it is continued.
    public var policy: ResumePolicy { caller.policy }
    /// Who asks.
    var caller: Caller
    /// Whether the caller may have what is held.
    var access: HeldPartial.Access

    /// The executor of this transfer's queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    init(
        store: DownloadStore, name: String, caller: Caller, lease: Lease?, keyLease: Lease? = nil, entry: Entry,
        blob: OpenFile? = nil,
        access: HeldPartial.Access = .granted, damage: Reason? = nil, unread: [Block] = []
    ) {
        self.caller = caller
        self.caller.policy = caller.policy.moving(from: entry.url, to: caller.url)
        self.access = access
        self.damage = damage
        if let blob, !unread.isEmpty { heldCheck = HeldCheck(of: blob, blocks: unread) }
        key = name
        self.store = store
        (self.lease, self.keyLease, isClaimed) = (lease, keyLease, lease != nil)
        self.entry = entry
        self.blob = blob
        sync = BlobSync(store: store, entry: entry, blob: blob)
        readable = ReadableBlob(
            blob, sync.ledger, totalLength: entry.totalBytes, unread: unread, isWithheld: access != .granted)
        main = PartStream(nil, of: store, sync: sync, readable: readable)
        executor = QueueExecutor(
            label: "resume-store.transfer", sharesThreads: store.configuration.sharesThreads)
    }

    /// Whether somebody waits for what is being fetched.
    var isAwaited: Bool { lease?.isAwaited == true || keyLease?.isAwaited == true }

    /// Bytes from 0 on that lie in the blob, recorded or not.
    package nonisolated var held: Int64 { main.held }

    /// What is held so far.
    public var partial: HeldPartial { entry.held(upTo: held, access) }

    /// What names the entry that is worked on: its ``key``, and which variant it is.
    package var entryKey: String { entry.key }

    /// How many bytes are held, also behind a gap.
    public var receivedBytes: Int64 { parts.heldBytes }

    /// Whether every byte is there, and the caller may have them, so that it can be delivered without a request.
    public var isComplete: Bool {
        blob != nil && partial.isComplete
    }

    /// Whether every byte is there.
    var hasAllBytes: Bool {
        blob != nil && partial.hasAllBytes
    }

    /// Runs a body on the transfer's own queue, where what it asks of the transfer costs no change of thread.
    package func run<Result: Sendable>(
        _ body: @Sendable (isolated Transfer) async throws -> Result
    ) async rethrows -> Result {
        try await body(self)
    }

    /// Decides what to ask for next.
    ///
    /// - Parameter avoidsRange: Why all is to be asked for whatever is held; nil to ask for the rest where possible.
    /// - Returns: What to ask for, with the fields to send.
    public func plan(avoidsRange: Reason? = nil) -> Plan {
        Plan(for: partial, policy: policy, avoidsRange: avoidsRange ?? (asksForWhole ? .gapNotCompared : nil))
    }

    /// Takes the head of a response, after redirects, and prepares the store for its body.
    ///
    /// - Parameters:
    ///   - response: Status and fields.
    ///   - plan: What was asked for.
    /// - Returns: What to do. Where it says so (`Verdict.usesBody`) the body is to be written, else to be discarded.
    /// - Throws: ``StoreError``: `noSpace` where the announced length does not fit, `superseded`, `io`, `database`.
    public func receive(_ response: HTTPResponse, to plan: Plan) async throws -> Verdict {
        let verdict = try judge(response, to: plan)
        try await follow(verdict, of: response)
        return verdict
    }

    /// The first half of ``receive(_:to:)``: nothing is given up yet, for who has more to say against a response.
    package func judge(_ response: HTTPResponse, to plan: Plan) throws -> Verdict {
        try requireOpen()
        guard main.writer.course(\.isAtBorder) != true else {
            throw StoreError(
                .misuse, "the previous response body was not ended", advice: "Call endBody(_:) after each body.")
        }
        main.writer.end()
        return Verdict(for: response, to: plan, held: partial, policy: policy)
    }

    /// The second half of ``receive(_:to:)``.
    package func follow(_ verdict: Verdict, of response: HTTPResponse) async throws {
        try requireOpen()
        try await noteAbsence(response)
        switch verdict {
        case .append(let continuation):
            if continuation.reason.code == Reason.resumedUnvalidatedCode { isSpliced = true }
            try await leaveOwnerless()
            try beginBody(continuation, of: response)
            // The server sends them to this caller too.
            readable.grant()
            try await store.record(.resumed, key: entry.key, reason: continuation.reason, bytes: continuation.offset)
        case .startOver(let representation, let reason):
            try await startOver(with: representation, reason: reason)
            try beginBody(Verdict.Continuation(whole: representation, reason: reason), of: response)
        case .startRange(let continuation):
            try await startOver(with: continuation.representation, reason: continuation.reason)
            try beginBody(continuation, of: response)
        case .complete(let representation, let reason):
            try await learn(representation)
            try await grantAccess()
            try await store.record(.resumed, key: entry.key, reason: reason, bytes: held)
        case .askForWhole(let reason), .retry(let reason, _), .refuse(let reason):
            try await store.record(.refused, key: entry.key, reason: reason, bytes: held)
        }
    }

    /// Records a decision about what is held, for people to read.
    package func note(_ reason: Reason) async throws {
        try await store.record(.refused, key: entry.key, reason: reason, bytes: held)
    }

    /// Goes on with another URL, or with other fields, for the same download.
    package func move(to url: DownloadURL, headerFields: HTTPFields) {
        caller.policy = policy.moving(from: entry.url, to: url)
        caller.url = url
        caller.identity = RequestIdentity(url, headerFields)
        // Its answers have not confirmed yet what the first one's brought.
        if access == .granted, !partial.isEmpty { access = .unconfirmed }
    }

    private func beginBody(_ continuation: Verdict.Continuation, of response: HTTPResponse) throws {
        guard let blob else { return }
        receivedBefore = receivedBytes
        let awaitsDigest = HTTPDigest(contentDigestIn: response.headerFields) != nil
        if awaitsDigest, entry.grows {
            // The blob may soon hold bytes that are given up.
            try checkpoint()
            let id = entry.id
            try store.writeNow { connection in try connection.stopGrowing(id: id) }
            entry.grows = false
            sync.ledger.withLock { $0.stopGrowing() }
        }
        try main.begin(
            continuation, of: blob, upTo: entry.representation?.completeLength, awaitsDigest: awaitsDigest)
    }

    /// Remembers since when the server says that there is no such resource: what is held is of use for a while yet,
    /// since such an answer may be a mistake that is mended.
    private func noteAbsence(_ response: HTTPResponse) async throws {
        let isGone = [404, 410].contains(response.status.code)
        guard isClaimed, isGone != (entry.goneAt != nil) else { return }
        let (id, since) = (entry.id, isGone ? WallClock.milliseconds : nil)
        try await store.write { connection in try connection.setGone(id: id, since: since) }
        entry.goneAt = since
    }

    /// Takes the next part of a body: compares what is held already, writes the rest at its offset.
    ///
    /// - Parameter bytes: The part; nothing is kept of it.
    /// - Throws: ``StoreError``: `heldBytesDiffer`, `surplusBytes`, `noSpace`, `superseded`, `io`.
    public func write(_ bytes: [UInt8]) async throws {
        try requireOpen()
        for start in stride(from: 0, to: bytes.count, by: PartStream.pieceSize) {
            let piece = unsafe bytes.span.bytes.extracting(start..<min(start + PartStream.pieceSize, bytes.count))
            if try !main.append(piece) { try await main.catchUp() }
        }
    }

    /// Whether a body is being received.
    package nonisolated var isReceiving: Bool { main.writer.hasBody }

    /// Whether the body goes on, but nothing more of it is wanted.
    ///
    /// Then the rest need not be read.
    public nonisolated var hasAllWanted: Bool { main.hasAllWanted }

    static let superseded = StoreError(
        .superseded, "another task or process restarted or removed this download", advice: "Run it again.")

    func requireOpen() throws(StoreError) {
        if isClosed { throw .closed }
    }
}
