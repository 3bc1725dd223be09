public import HTTPTypes
public import ResumeHTTP

/// A store of partial downloads, on disk (``DownloadStore``) or in memory (``MemoryStore``).
///
/// ``fetch(_:headerFields:key:selection:policy:limit:retries:onProgress:sending:)`` runs a whole download with the
/// caller's HTTP client; ``open(_:headerFields:key:selection:policy:waits:)`` is for callers that issue each request
/// themselves.
public protocol PartialStore: Sendable {
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
    func open(
        _ url: DownloadURL, headerFields: HTTPFields?, key: String?, selection: RangeSelection?, policy: ResumePolicy,
        waits: Bool
    ) async throws -> Transfer
}

extension PartialStore {
    /// Opens the download of a URL with the default policy, and waits if it is in use.
    ///
    /// - Parameters:
    ///   - url: The URL to request.
    ///   - headerFields: The caller's header fields of the request; nil if the server must be asked in any case.
    /// - Returns: The transfer.
    /// - Throws: ``StoreError``, `CancellationError`.
    public func open(_ url: DownloadURL, headerFields: HTTPFields? = nil) async throws -> Transfer {
        try await open(
            url, headerFields: headerFields, key: nil, selection: nil, policy: ResumePolicy(), waits: true)
    }
}
