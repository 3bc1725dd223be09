public import HTTPTypes
public import ResumeHTTP

/// A store of partial downloads, wherever it keeps them: on disk (``DownloadStore``) or in memory (``MemoryStore``).
///
/// ``fetch(_:headerFields:key:selection:policy:limit:retries:sending:)`` does a whole download with the HTTP client of the caller;
/// ``begin(_:headerFields:key:selection:policy:waits:)`` is the door for who makes each request himself.
public protocol PartialStore: Sendable {
    /// One download of this store under its lease.
    associatedtype Partial: PartialTransfer

    /// Opens one download for work, of which nobody else has the lease then.
    ///
    /// - Parameters:
    ///   - url: What will be asked for.
    ///   - headerFields: The caller's own fields of the request, with credentials. Whoever sends the same ones to the same
    ///     URL is given what is complete without a request; all others, and callers who do not tell (nil), ask the server
    ///     first.
    ///   - key: What names the download; nil for the URL without user info and signature.
    ///   - selection: What is wanted of the representation; nil for all of it. Each selection is a download of its own.
    ///   - policy: On which terms it is continued.
    ///   - waits: Whether to wait for somebody who works on it already, or to fail.
    /// - Returns: The transfer. Close it, or let it go: then the next one may work on the entry.
    /// - Throws: ``StoreError``, with `inUse` where it is not waited for; `CancellationError`.
    func begin(
        _ url: DownloadURL, headerFields: HTTPFields?, key: String?, selection: RangeSelection?, policy: ResumePolicy,
        waits: Bool
    ) async throws -> Partial
}

/// One download under its lease, in the store's own place: what to ask, what to do with the answer, bytes in, data out.
///
/// Call in this order, for each request: ``plan(avoidsRange:)``, send, ``receive(_:to:)``, ``write(_:)`` for each part
/// of the body, ``endBody(_:)``; and when that says that everything is there, ``takeData(upTo:)``. ``close()`` at the
/// end, whatever happened: what came is kept for the next request.
public protocol PartialTransfer: Actor {
    /// What names the download in the store.
    nonisolated var key: String { get }
    /// What is held so far.
    var partial: HeldPartial { get }
    /// Whether every byte is there, and the caller may have them, so that they can be had without a request.
    var isComplete: Bool { get }
    /// Whether the body goes on, but nothing more of it is wanted.
    nonisolated var hasAllWanted: Bool { get }

    /// Decides what to ask for next.
    ///
    /// - Parameter avoidsRange: Why all is to be asked for whatever is held; nil to ask for the rest where possible.
    /// - Returns: What to ask for, with the fields to send.
    func plan(avoidsRange: Reason?) -> Plan

    /// Takes the head of a response, after redirects, and prepares for its body.
    ///
    /// - Parameters:
    ///   - response: Status and fields.
    ///   - plan: What was asked for.
    /// - Returns: What to do. Where it says so (`usesBody`) the body is to be written, else to be discarded.
    /// - Throws: ``StoreError``: `noSpace` and `tooLarge` where the announced length does not fit.
    func receive(_ response: HTTPResponse, to plan: Plan) async throws -> Verdict

    /// Takes the next part of a body: compares what is held already, keeps the rest.
    ///
    /// - Parameter bytes: The part.
    /// - Throws: ``StoreError``: `heldBytesDiffer`, `surplusBytes`, `noSpace`, `tooLarge`.
    func write(_ bytes: [UInt8]) async throws

    /// Ends a body.
    ///
    /// - Parameter ending: How it ended.
    /// - Returns: Whether every byte is there now. Only coverage of every byte of the complete length counts.
    /// - Throws: ``StoreError``
    func endBody(_ ending: Transfer.BodyEnding) async throws -> Bool

    /// Reads bytes that are held, such as those to be compared with what the server has.
    ///
    /// - Parameter range: Offsets in what will be handed over.
    /// - Returns: All bytes of the range.
    /// - Throws: ``StoreError``: `notHeld` where some of the range is not; `heldBytesDiffer` where the disk did not keep it.
    func read(_ range: Range<Int64>) async throws -> [UInt8]

    /// Drops all that is held, since it is wrong.
    ///
    /// - Throws: ``StoreError``
    func discard(reason: Reason) async throws

    /// Gives up what was held last, since it was found to be wrong; what came before stays.
    ///
    /// - Parameters:
    ///   - length: How many bytes stay.
    ///   - reason: What was found.
    /// - Throws: ``StoreError``
    func rewind(to length: Int64, reason: Reason) async throws

    /// Hands a complete download over as bytes, and ends the transfer: the store does not hold it any more.
    ///
    /// While somebody else waits for the same download, it stays for him.
    ///
    /// - Parameter limit: How many bytes there may be at most.
    /// - Returns: All of them.
    /// - Throws: ``StoreError``: `tooLarge`, `misuse` where bytes are missing; then the download stays. `heldBytesDiffer`
    ///   where bytes that were held before are not those that were recorded any more: they were dropped, and the next
    ///   plan asks for them.
    func takeData(upTo limit: Int) async throws -> [UInt8]

    /// Lets go of the entry; what is held is kept.
    ///
    /// - Throws: ``StoreError``; the lease is given back all the same.
    func close() async throws
}

extension PartialTransfer {
    /// Decides what to ask for next, the rest where possible.
    public func plan() -> Plan { plan(avoidsRange: nil) }
}

extension PartialStore {
    /// Opens the download of all that a URL names, on the usual terms, and waits for somebody who works on it already.
    ///
    /// - Parameters:
    ///   - url: What will be asked for.
    ///   - headerFields: The caller's own fields of the request; nil where the server is to be asked in any case.
    /// - Returns: The transfer.
    /// - Throws: ``StoreError``, `CancellationError`.
    public func begin(_ url: DownloadURL, headerFields: HTTPFields? = nil) async throws -> Partial {
        try await begin(
            url, headerFields: headerFields, key: nil, selection: nil, policy: ResumePolicy(), waits: true)
    }
}

extension DownloadStore: PartialStore {
    /// Opens one download for work, without a destination that is known before.
    ///
    /// - Throws: ``StoreError``, with `inUse` where it is not waited for; `CancellationError`.
    public func begin(
        _ url: DownloadURL, headerFields: HTTPFields?, key: String?, selection: RangeSelection?, policy: ResumePolicy,
        waits: Bool
    ) async throws -> Transfer {
        try await begin(
            url, headerFields: headerFields, key: key, selection: selection, policy: policy, destination: nil,
            waits: waits)
    }
}

extension Transfer: PartialTransfer {}
