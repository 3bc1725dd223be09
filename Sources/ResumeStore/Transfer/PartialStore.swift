public import HTTPTypes
public import ResumeHTTP

/// A store of partial downloads, on disk (``DownloadStore``) or in memory (``MemoryStore``).
///
/// ``fetch(_:headerFields:key:selection:policy:limit:retries:sending:)`` runs a whole download with the caller's HTTP
/// client; ``begin(_:headerFields:key:selection:policy:waits:)`` is for callers that issue each request themselves.
public protocol PartialStore: Sendable {
    /// An open download of this store.
    associatedtype Partial: PartialTransfer

    /// Opens a download exclusively.
    ///
    /// - Parameters:
    ///   - url: The URL to request.
    ///   - headerFields: The caller's header fields of the request, including credentials. If they and the URL are the
    ///     same as before, complete data is used without a request. Otherwise, or if they are unknown (nil), the server
    ///     is asked first.
    ///   - key: The key of the download; nil for the URL without user info and signature.
    ///   - selection: The requested ranges; nil for all of the representation. Each selection is a separate download.
    ///   - policy: The conditions for resuming.
    ///   - waits: Whether to wait if the download is in use, or to throw an error.
    /// - Returns: The transfer. When it is closed or released, others can open the download.
    /// - Throws: ``StoreError``, with `inUse` if it does not wait; `CancellationError`.
    func begin(
        _ url: DownloadURL, headerFields: HTTPFields?, key: String?, selection: RangeSelection?, policy: ResumePolicy,
        waits: Bool
    ) async throws -> Partial
}

/// An open download: plans requests, judges responses, receives bytes and returns complete data.
///
/// Call in this order, for each request: ``plan(avoidsRange:)``, send the request, ``receive(_:to:)``, ``write(_:)``
/// for each part of the body, ``endBody(_:)``; when that returns true, ``takeData(upTo:)``. Call ``close()`` at the
/// end, also after an error: received bytes are kept for the next request.
public protocol PartialTransfer: Actor {
    /// The key of the download in the store.
    nonisolated var key: String { get }
    /// The current state of the stored bytes.
    var partial: HeldPartial { get }
    /// Whether every byte is stored and the caller may use them, so that no request is needed.
    var isComplete: Bool { get }
    /// Whether all requested bytes have been received although the body continues.
    nonisolated var hasAllWanted: Bool { get }

    /// Decides what to request next.
    ///
    /// - Parameter avoidsRange: Why the whole file is requested whatever is stored; nil to request the rest if
    ///   possible.
    /// - Returns: What to request, with the header fields to send.
    func plan(avoidsRange: Reason?) -> Plan

    /// Handles the head of a response, after redirects, and prepares for its body.
    ///
    /// - Parameters:
    ///   - response: The status and the header fields.
    ///   - plan: The plan of the request.
    /// - Returns: What to do: if `usesBody` is true, the body must be written, otherwise discarded.
    /// - Throws: ``StoreError``: `noSpace` and `tooLarge` if the announced length does not fit.
    func receive(_ response: HTTPResponse, to plan: Plan) async throws -> Verdict

    /// Handles the next part of a body: compares bytes that are stored already, and stores the others.
    ///
    /// - Parameter bytes: The part.
    /// - Throws: ``StoreError``: `heldBytesDiffer`, `surplusBytes`, `noSpace`, `tooLarge`.
    func write(_ bytes: [UInt8]) async throws

    /// Ends a body.
    ///
    /// - Parameter ending: How the body ended.
    /// - Returns: Whether every byte of the complete length is stored now.
    /// - Throws: ``StoreError``.
    func endBody(_ ending: Transfer.BodyEnding) async throws -> Bool

    /// Reads stored bytes, for example to compare them with the server's.
    ///
    /// - Parameter range: Offsets in the delivered data.
    /// - Returns: All bytes of the range.
    /// - Throws: ``StoreError``: `notHeld` if some of the range is not stored; `heldBytesDiffer` if it is damaged on
    ///   disk.
    func read(_ range: Range<Int64>) async throws -> [UInt8]

    /// Discards all stored bytes because they are wrong.
    ///
    /// - Throws: ``StoreError``.
    func discard(reason: Reason) async throws

    /// Discards the last stored bytes because they are wrong, and keeps those before.
    ///
    /// - Parameters:
    ///   - length: The number of bytes to keep.
    ///   - reason: Why the others are wrong.
    /// - Throws: ``StoreError``.
    func rewind(to length: Int64, reason: Reason) async throws

    /// Returns the bytes of a complete download, ends the transfer and removes the download from the store.
    ///
    /// If another task waits for the same download, it is kept in the store.
    ///
    /// - Parameter limit: The maximum number of bytes.
    /// - Returns: All bytes.
    /// - Throws: ``StoreError``: `tooLarge`; `misuse` if bytes are missing. In both cases the download is kept.
    ///   `heldBytesDiffer` if bytes that were stored before do not match their checksums: they were discarded, and the
    ///   next plan requests them again.
    func takeData(upTo limit: Int) async throws -> [UInt8]

    /// Closes the transfer; stored bytes are kept.
    ///
    /// - Throws: ``StoreError``; the lease is released even then.
    func close() async throws
}

extension PartialTransfer {
    /// Decides what to request next, which is the rest if possible.
    public func plan() -> Plan { plan(avoidsRange: nil) }
}

extension PartialStore {
    /// Opens the download of a URL with the default policy, and waits if it is in use.
    ///
    /// - Parameters:
    ///   - url: The URL to request.
    ///   - headerFields: The caller's header fields of the request; nil if the server must be asked in any case.
    /// - Returns: The transfer.
    /// - Throws: ``StoreError``, `CancellationError`.
    public func begin(_ url: DownloadURL, headerFields: HTTPFields? = nil) async throws -> Partial {
        try await begin(
            url, headerFields: headerFields, key: nil, selection: nil, policy: ResumePolicy(), waits: true)
    }
}

extension DownloadStore: PartialStore {
    /// Opens a download without a known destination.
    ///
    /// - Throws: ``StoreError``, with `inUse` if it does not wait; `CancellationError`.
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
