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
    ///   - onProgress: Called after each part of a body with the number of stored bytes, and of all bytes if known.
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
        onProgress: (@Sendable (_ receivedBytes: Int64, _ totalBytes: Int64?) -> Void)? = nil,
        sending send: (HTTPFields) async throws -> FetchResponse<Body>
    ) async throws -> FetchResult where Body.Element: Sequence<UInt8> {
        var first: Result<FetchResponse<FetchBody<Body>>, any Error>?
        let transfer: Transfer
        if let store = self as? DownloadStore {
            let caller = Caller(url: url, headerFields: headerFields, policy: policy)
            var start = FetchStart<Body>(
                store: store, caller: caller, queue: try TransferQueue(of: store), limit: Int64(limit),
                onProgress: onProgress)
            if let result = try await start.run(key, selection, send) { return result }
            first = start.first
            transfer = try await start.open(key, selection)
        } else {
            transfer = try await open(
                url, headerFields: headerFields, key: key, selection: selection, policy: policy, waits: true)
        }
        let client = FetchClient<Body>(
            transfer: transfer, policy: policy, first: first, limit: Int64(limit), onProgress: onProgress)
        return try await transfer.run(client, retries: retries, send) { transfer, reused in
            let bytes = try await transfer.takeData(upTo: limit)
            return FetchResult(
                totalBytes: Int64(bytes.count), reusedBytes: reused, digest: policy.digest, bytes: bytes)
        }
    }
}

extension DownloadStore {
    /// Downloads into a file of any length with the caller's HTTP client.
    ///
    /// ``PartialStore/fetch(_:headerFields:key:selection:policy:limit:retries:onProgress:sending:)`` describes the
    /// parameters and errors. The file appears at the destination complete or not at all.
    ///
    /// - Returns: The length of the file, how much of it was stored before, and its digest.
    @discardableResult
    public func fetch<Body: AsyncSequence>(
        _ url: DownloadURL, to path: String, headerFields: HTTPFields? = nil, key: String? = nil,
        selection: RangeSelection? = nil, policy: ResumePolicy = ResumePolicy(),
        retries: RetryPolicy = RetryPolicy(retries: 2),
        onProgress: (@Sendable (_ receivedBytes: Int64, _ totalBytes: Int64?) -> Void)? = nil,
        sending send: (HTTPFields) async throws -> FetchResponse<Body>
    ) async throws -> FetchResult where Body.Element: Sequence<UInt8> {
        let destination = try Destination(checking: path)
        let caller = Caller(url: url, headerFields: headerFields, policy: policy, destination: destination)
        var start = FetchStart<Body>(
            store: self, caller: caller, queue: try TransferQueue(of: self), limit: .max, onProgress: onProgress)
        if let result = try await start.run(key, selection, send) { return result }
        let transfer = try await start.open(key, selection)
        let client = FetchClient<Body>(
            transfer: transfer, policy: policy, first: start.first, limit: .max, onProgress: onProgress)
        return try await transfer.run(client, retries: retries, send) { transfer, reused in
            let length = await transfer.partial.length
            try await transfer.deliver(to: destination)
            return FetchResult(totalBytes: length, reusedBytes: reused, digest: policy.digest)
        }
    }
}

extension Transfer {
    /// Runs the request loop of a fetch, and closes the transfer if that fails.
    fileprivate nonisolated func run<Body: AsyncSequence, Result>(
        _ client: FetchClient<Body>, retries: RetryPolicy,
        _ send: (HTTPFields) async throws -> FetchResponse<Body>,
        finish: (_ transfer: Transfer, _ reused: Int64) async throws -> Result
    ) async throws -> Result where Body.Element: Sequence<UInt8> {
        var loop = RequestLoop(client, retries)
        do {
            loop.client.reused = await receivedBytes
            while true {
                try await loop.run { client, plan in
                    if let first = client.first.take() { return try first.get() }
                    // The caller's client sends no HEAD. If-Range serves the same purpose.
                    return try await RequestOutcome.of { try await send(plan.conditional.fields).begun }
                }
                if try await insist(unless: loop.client.isOfOneAnswer) {
                    loop.client.reused = 0
                    loop.client.isOfOneAnswer = true
                    continue
                }
                do {
                    return try await finish(self, min(loop.client.reused, held))
                } catch let error as StoreError where error.code == .heldBytesDiffer {
                    try await loop.restart(because: .heldBytesDiffer(error))
                }
            }
        } catch {
            let resumeData = await resumeData
            // The received bytes are recorded already. A failure here must not hide the first one.
            try? await close()
            guard var failure = error as? DownloadError else { throw error }
            failure.resumeData = resumeData
            throw failure
        }
    }
}
