public import HTTPTypes
public import ResumeHTTP

/// One download under its lease in a ``MemoryStore``: what to ask, what to do with the answer, bytes in, data out.
///
/// It is used like a ``Transfer``. Whichever way it ends, also when it is just let go, what came is kept.
public actor MemoryTransfer: PartialTransfer {
    /// What names the download in the store, whichever of its variants this is.
    public nonisolated let key: String
    private nonisolated let store: MemoryStore
    nonisolated let writer: BodyWriter
    private(set) var entry: MemoryPartial
    var isClosed = false
    /// Who asks.
    let caller: Caller
    /// Whether the caller may have what is held.
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

    /// What is held so far.
    public var partial: HeldPartial {
        var entry = entry
        entry.length = held
        return entry.held(access)
    }

    /// How many bytes were received.
    nonisolated var held: Int64 { writer.account.received }

    /// Whether every byte is there, and the caller may have them, so that it can be taken without a request.
    public var isComplete: Bool { entry.blob != nil && partial.isComplete }

    /// Whether the body goes on, but nothing more of it is wanted.
    public nonisolated var hasAllWanted: Bool { writer.course(\.hasAllWanted) ?? false }

    /// Decides what to ask for next.
    ///
    /// - Parameter avoidsRange: Why all is to be asked for whatever is held; nil to ask for the rest where possible.
    /// - Returns: What to ask for, with the fields to send.
    public func plan(avoidsRange: Reason? = nil) -> Plan {
        Plan(for: partial, policy: caller.policy, avoidsRange: avoidsRange)
    }

    /// Takes the head of a response, after redirects, and prepares the store for its body.
    ///
    /// - Parameters:
    ///   - response: Status and fields.
    ///   - plan: What was asked for.
    /// - Returns: What to do. Where it says so (`usesBody`) the body is to be written, else to be discarded.
    /// - Throws: ``StoreError`` with `tooLarge` where more is announced than an entry may have: what was held stays.
    public func receive(_ response: HTTPResponse, to plan: Plan) throws -> Verdict {
        try requireOpen()
        writer.end()
        let verdict = Verdict(for: response, to: plan, held: partial, policy: caller.policy)
        switch verdict {
        case .append(let continuation):
            // Until they were compared, bytes that are added to another caller's are nobody's.
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

    /// Takes the next part of a body: compares what is held already, keeps the rest.
    ///
    /// - Parameter bytes: The part.
    /// - Throws: ``StoreError``: `heldBytesDiffer`, `surplusBytes`; `tooLarge` where an entry may not have so many,
    ///   `noSpace` where all memory is in use.
    public func write(_ bytes: [UInt8]) throws {
        try requireOpen()
        _ = try unsafe writer.append(bytes.span.bytes)
    }

    /// Ends a body.
    ///
    /// - Parameter ending: How it ended.
    /// - Returns: Whether every byte is there now. Only coverage of every byte of the complete length counts.
    /// - Throws: ``StoreError``
    public func endBody(_ ending: Transfer.BodyEnding) throws -> Bool {
        try requireOpen()
        let body = writer.end()
        learn(body?.completeLength(after: ending))
        if body?.hasComparedHeld == true { grantAccess() }
        return isComplete
    }

    /// Reads bytes that are held.
    ///
    /// - Parameter range: Offsets in what will be handed over.
    /// - Returns: All bytes of the range.
    /// - Throws: ``StoreError`` with `notHeld` where some of the range is not.
    public func read(_ range: Range<Int64>) throws -> [UInt8] {
        try requireOpen()
        if range.isEmpty { return [] }
        guard let blob = entry.blob, access != .foreign, range.lowerBound >= 0, range.upperBound <= held else {
            throw StoreError.notHeld(range)
        }
        return blob.bytes(in: Int(range.lowerBound)..<Int(range.upperBound))
    }

    /// Drops all that is held, since it is wrong.
    ///
    /// - Parameter reason: What was found. A store in memory keeps no log of it.
    /// - Throws: ``StoreError``
    public func discard(reason: Reason) throws {
        try requireOpen()
        // Wrong for this caller: whoever it was fetched for may find it right.
        if access == .foreign { return try takeOwnVariant() }
        drop()
    }

    /// Gives up what was held last, since it was found to be wrong; what came before stays.
    ///
    /// - Parameters:
    ///   - length: How many bytes stay.
    ///   - reason: What was found. A store in memory keeps no log of it.
    /// - Throws: ``StoreError``
    public func rewind(to length: Int64, reason: Reason) throws {
        try requireOpen()
        writer.end()
        if access == .foreign { return length < held ? try takeOwnVariant() : () }
        guard length > 0 else { return drop() }
        truncate(to: min(length, held))
    }

    /// Hands a complete download over as bytes, and takes it out of the store.
    ///
    /// While somebody else waits for the same download, it stays for him.
    ///
    /// - Parameter limit: How many bytes there may be at most.
    /// - Returns: All of them.
    /// - Throws: ``StoreError``: `tooLarge`, `misuse` where bytes are missing; then the download stays.
    public func takeData(upTo limit: Int) throws -> [UInt8] {
        try requireOpen()
        guard isComplete, let blob = entry.blob else { throw StoreError.incomplete }
        guard held <= limit else { throw StoreError.tooLarge(held, limit: Int64(limit)) }
        let bytes = blob.bytes(count: Int(held))
        release(goes: true)
        return bytes
    }

    /// Lets go of the entry; what is held is kept, and an entry of which nothing is goes.
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
        // What is given away with the last reference needs no room of its own.
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

    /// Leaves the entry to whoever it was fetched for, and goes on with an empty one for the same download.
    private func takeOwnVariant() throws {
        let own = try store.takeVariant(of: entry, at: caller.url)
        Self.giveBack(entry, held: held, to: store)
        entry = own
        truncate(to: 0)
        access = .granted
    }

    /// Takes note that the server has confirmed to this caller what is held.
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

    /// How many bytes are wanted of a representation, as far as that is known.
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

    /// Gives up the bytes from an offset on.
    private func truncate(to length: Int64) {
        writer.end()
        writer.account.update { $0.truncate(to: length) }
    }

    private func drop() {
        entry.blob = nil
        truncate(to: 0)
        store.giveUp(entry.key)
    }
}
