public import HTTPTypes
public import ResumeHTTP

/// A download in a ``MemoryStore`` with its lease: decides on requests, evaluates responses, and stores and returns
/// bytes.
///
/// It is used like a ``Transfer``. However it ends, even if it is just released, the received bytes are kept.
public actor MemoryTransfer: PartialTransfer {
    /// The key of the download in the store, without the variant.
    public nonisolated let key: String
    private nonisolated let store: MemoryStore
    nonisolated let writer: BodyWriter
    private(set) var entry: MemoryPartial
    var isClosed = false
    /// The caller and its request.
    let caller: Caller
    /// Whether the caller may read the received bytes.
    private(set) var access: HeldPartial.Access

    init(store: MemoryStore, partial: MemoryPartial, caller: Caller, access: HeldPartial.Access) {
        key = DownloadStore.key(partial.name, partial.selection)
        self.store = store
        entry = partial
        writer = BodyWriter(PartAccount(ledger: SharedLedger(BlobLedger(inMemory: partial.length)), offset: nil))
        self.caller = caller
        self.access = access
    }

    deinit {
        if !isClosed { Self.giveBack(entry, held: held, to: store) }
    }

    /// The partial data received so far.
    public var partial: HeldPartial {
        var entry = entry
        entry.length = held
        return entry.held(access)
    }

    /// The number of received bytes.
    nonisolated var held: Int64 { writer.account.received }

    /// Whether every byte is stored and the caller may use them, so that no request is needed.
    public var isComplete: Bool { entry.blob != nil && partial.isComplete }

    /// Whether all requested bytes have been received although the body continues.
    public nonisolated var hasAllWanted: Bool { writer.course(\.hasAllWanted) ?? false }

    /// Decides what to request next.
    ///
    /// - Parameter avoidsRange: Why the whole file is requested in any case; nil to request the rest if possible.
    /// - Returns: The plan, with the fields to send.
    public func plan(avoidsRange: Reason? = nil) -> Plan {
        Plan(for: partial, policy: caller.policy, avoidsRange: avoidsRange)
    }

    /// Evaluates the head of a response, after redirects, and prepares the store for its body.
    ///
    /// - Parameters:
    ///   - response: The status and header fields.
    ///   - plan: What was requested.
    /// - Returns: What to do. If `usesBody` is true, write the body; otherwise discard it.
    /// - Throws: ``StoreError`` with `tooLarge` if the announced length exceeds that of an entry. Then the data is
    ///   kept.
    public func receive(_ response: HTTPResponse, to plan: Plan) throws -> Verdict {
        try requireOpen()
        writer.end()
        let verdict = Verdict(for: response, to: plan, held: partial, policy: caller.policy)
        switch verdict {
        case .append(let continuation):
            // Bytes appended to those of another caller have no owner until they have been compared.
            if access == .foreign { (entry.identity, entry.requester) = (nil, .nobody) }
            try beginBody(continuation)
        case .startOver(let representation, let reason):
            try startOver(with: Verdict.Continuation(whole: representation, reason: reason))
        case .startRange(let continuation):
            try startOver(with: continuation)
        case .complete(let representation, _):
            learn(representation.completeLength)
            grantAccess()
        case .askForWhole, .retry, .refuse: break
        }
        return verdict
    }

    /// Writes the next part of a body: compares bytes received earlier and stores the others.
    ///
    /// - Parameter bytes: The part.
    /// - Throws: ``StoreError``: `heldBytesDiffer`, `surplusBytes`; `tooLarge` if an entry may not have that many
    ///   bytes, `noSpace` if all memory is in use.
    public func write(_ bytes: [UInt8]) throws {
        try requireOpen()
        _ = try unsafe writer.append(bytes.span.bytes)
    }

    /// Ends a body.
    ///
    /// - Parameter ending: How it ended.
    /// - Returns: Whether all bytes of the complete length have been received.
    /// - Throws: ``StoreError``
    public func endBody(_ ending: Transfer.BodyEnding) throws -> Bool {
        try requireOpen()
        let body = writer.end()
        learn(body?.completeLength(after: ending))
        if body?.hasComparedHeld == true { grantAccess() }
        return isComplete
    }

    /// Reads received bytes.
    ///
    /// - Parameter range: Offsets in the data that will be delivered.
    /// - Returns: All bytes of the range.
    /// - Throws: ``StoreError`` with `notHeld` if some of the range has not been received.
    public func read(_ range: Range<Int64>) throws -> [UInt8] {
        try requireOpen()
        if range.isEmpty { return [] }
        guard let blob = entry.blob, access != .foreign, range.lowerBound >= 0, range.upperBound <= held else {
            throw StoreError.notHeld(range)
        }
        return blob.bytes(in: Int(range.lowerBound)..<Int(range.upperBound))
    }

    /// Discards all received bytes because they are wrong.
    ///
    /// - Parameter reason: The reason, which a store in memory does not log.
    /// - Throws: ``StoreError``
    public func discard(reason: Reason) throws {
        try requireOpen()
        // The bytes are wrong for this caller, but may be right for the one that they were fetched for.
        if access == .foreign { return try takeOwnVariant() }
        drop()
    }

    /// Discards the last received bytes because they are wrong, and keeps those before.
    ///
    /// - Parameters:
    ///   - length: The number of bytes to keep.
    ///   - reason: The reason, which a store in memory does not log.
    /// - Throws: ``StoreError``
    public func rewind(to length: Int64, reason: Reason) throws {
        try requireOpen()
        writer.end()
        if access == .foreign { return length < held ? try takeOwnVariant() : () }
        guard length > 0 else { return drop() }
        writer.truncate(to: min(length, held))
    }

    /// Returns the bytes of a complete download and removes it from the store.
    ///
    /// If another task waits for the same download, it gets the entry.
    ///
    /// - Parameter limit: The maximum number of bytes.
    /// - Returns: All bytes.
    /// - Throws: ``StoreError``: `tooLarge`, `misuse` if bytes are missing. Then the download is kept.
    public func takeData(upTo limit: Int) throws -> [UInt8] {
        try requireOpen()
        guard isComplete, let blob = entry.blob else { throw StoreError.incomplete }
        guard held <= limit else { throw StoreError.tooLarge(held, limit: Int64(limit)) }
        let bytes = blob.bytes(count: Int(held))
        release(goes: true)
        return bytes
    }

    /// Releases the entry; its received bytes are kept, and an empty entry is removed.
    public func close() {
        if !isClosed { release(goes: false) }
    }

    func requireOpen() throws(StoreError) {
        if isClosed { throw .closed }
    }

    func release(goes: Bool) {
        isClosed = true
        writer.end()
        Self.giveBack(entry, held: held, to: store, goes: goes)
        entry.blob = nil
    }

    private static func giveBack(
        _ entry: MemoryPartial, held: Int64, to store: MemoryStore, goes: Bool = false
    ) {
        var entry = entry
        entry.length = held
        // An entry that is removed with its last reference needs no trimming.
        let size = goes ? entry.blob?.room : entry.blob?.trim()
        store.giveBack(entry.key, entry, size: size ?? 0, goes: goes)
    }
}

extension MemoryTransfer {
    private func startOver(with continuation: Verdict.Continuation) throws {
        try checkLength(of: continuation.representation)
        if access == .foreign, caller.leaves(partial, of: entry.requester, store.identityKey) {
            try takeOwnVariant()
        } else {
            drop()
            access = .granted
            entry.url = caller.url
        }
        entry.representation = continuation.representation
        setRequester()
        entry.blob = MemoryBlob()
        try beginBody(continuation)
    }

    /// Releases the entry for other callers and continues with an empty one for the same download.
    private func takeOwnVariant() throws {
        let own = try store.takeVariant(of: entry, at: caller.url)
        Self.giveBack(entry, held: held, to: store)
        entry = own
        writer.truncate(to: 0)
        access = .granted
    }

    /// Records that the server has confirmed the received bytes for this caller.
    private func grantAccess() {
        guard access == .foreign else { return access = .granted }
        access = .granted
        entry.url = caller.url
        setRequester()
    }

    private func setRequester() {
        entry.identity = caller.identity
        entry.requester = caller.requester(for: entry.representation, store.identityKey)
    }

    private func beginBody(_ continuation: Verdict.Continuation) throws {
        guard let blob = entry.blob else { return }
        try checkLength(of: continuation.representation)
        let most = store.configuration.maximumEntrySize
        let announced = length(of: continuation.representation).flatMap { Int(exactly: $0) }
        let storage = MemoryBody(blob: blob, store: store, key: entry.key, limit: min(announced ?? most, most))
        try writer.begin(continuation, of: storage)
    }

    /// Returns the number of requested bytes of a representation, if it is known.
    private func length(of representation: Representation) -> Int64? {
        HeldPartial(representation: representation, length: 0, selection: entry.selection).totalLength
    }

    private func checkLength(of representation: Representation) throws {
        guard let length = length(of: representation), length > store.configuration.maximumEntrySize else { return }
        throw StoreError.tooLarge(length, limit: Int64(store.configuration.maximumEntrySize))
    }

    private func learn(_ length: Int64?) {
        if let length, entry.representation?.completeLength == nil { entry.representation?.completeLength = length }
    }

    private func drop() {
        entry.blob = nil
        writer.truncate(to: 0)
        store.giveUp(entry.key)
    }
}
