public import HTTPTypes
public import ResumeHTTP

extension PartialStore {
    /// Downloads into memory with the caller's HTTP client: resumes from the stored bytes, retries after a dropped
    /// connection or a temporary server error, and restarts if the file has changed.
    ///
    /// If it fails or its task is cancelled, the received bytes are kept for the next call. The digest of the policy is
    /// compared before any byte is returned.
    ///
    /// ```swift
    /// let image = try await store.fetch(url) { fields in
    ///     request.headerFields = fields  // Range and If-Range when resuming
    ///     return try await send(request)  // your client: returns the response head and a stream of body parts
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: The URL to request.
    ///   - headerFields: The caller's fields, with credentials, which `send` must also send. For the same fields,
    ///     complete data is returned without a request; nil asks the server in any case.
    ///   - key: The key of the download; nil for the URL without user info and signature.
    ///   - selection: The ranges of the representation to download; nil for all of it.
    ///   - policy: The conditions for resuming.
    ///   - limit: The maximum number of bytes.
    ///   - retries: How often requests are repeated without progress, and the delays between them.
    ///   - onProgress: Called after each part of a body with the number of stored bytes, and of all bytes if known. The next
    ///     part is received when it returns.
    ///   - send: Sends a GET request with these fields added, follows redirects, and returns the response head and a
    ///     sequence of body parts: arrays, slices, `Data` or any other sequence of bytes. The body must throw if it is
    ///     cut and the client can detect that. It may be left unread, or not be read to its end: the client ends the
    ///     request when the body and its iterator are released. A ``DownloadError`` ends the fetch at once. Other errors
    ///     of the client count as temporary, and are thrown after the last retry.
    /// - Returns: All bytes, how many of them were stored before, and their digest.
    /// - Throws: ``DownloadError``, ``StoreError``, the errors of `send` and its body, `CancellationError`.
    public func fetch<Body: AsyncSequence>(
        _ url: DownloadURL, headerFields: HTTPFields? = nil, key: String? = nil, selection: RangeSelection? = nil,
        policy: ResumePolicy = ResumePolicy(), limit: Int = 32 << 20,
        retries: RetryPolicy = RetryPolicy(retries: 2),
        onProgress: (@Sendable (_ receivedBytes: Int64, _ totalBytes: Int64?) async -> Void)? = nil,
        sending send: (HTTPFields) async throws -> FetchResponse<Body>
    ) async throws -> FetchResult where Body.Element: Sequence<UInt8> {
        let caller = Caller(url: url, headerFields: headerFields, policy: policy)
        var fetch = Fetch<Body>(
            caller: caller, key: key, selection: selection, retries: retries, limit: limit, onProgress: onProgress)
        if let store = self as? DownloadStore { return try await fetch.run(in: store, send) }
        let transfer = try await open(
            url, headerFields: headerFields, key: key, selection: selection, policy: policy, waits: true)
        return try await fetch.run(transfer, send, fetch.finish)
    }
}
