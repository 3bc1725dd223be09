public import HTTPTypes
public import ResumeHTTP

extension PartialStore {
    /// Downloads into memory with the caller's own HTTP client: goes on with what is held, asks again where a body is cut
    /// or the server says so, and begins anew where the file has changed.
    ///
    /// Whatever way it ends, by an error or because its task is cancelled, what came is kept for the next time. A digest,
    /// the server's or another one, is the caller's to compare.
    ///
    /// ```swift
    /// let image = try await store.fetch(url) { fields in
    ///     request.headerFields = fields  // Range and If-Range when resuming
    ///     return try await send(request)  // your client: returns the response head and a stream of body parts
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: What is asked for.
    ///   - headerFields: The caller's own fields of the request, with credentials, which `send` must send as well: who sends
    ///     the same ones is given what is complete without a request. nil where the server is to be asked in any case.
    ///   - key: What names the download; nil for the URL without user info and signature.
    ///   - selection: What is wanted of the representation; nil for all of it.
    ///   - policy: On which terms it is continued.
    ///   - limit: How many bytes there may be at most.
    ///   - retries: How often it is asked again without having got anything new, and after what waits.
    ///   - send: Sends a GET request with these fields added, follows redirects, and returns the head of the answer, and
    ///     its body as it comes: arrays, slices, `Data` or whatever has bytes. A body that is cut must throw, where the
    ///     client can tell. A body may be left unread, where the answer is of no use or another one is asked for, and need
    ///     not be read to its end: the client ends the request when the body and its iterator go away. Errors of the client
    ///     are taken as passing ones; after the last try they are thrown.
    /// - Returns: Every byte.
    /// - Throws: ``FetchError``, ``StoreError``, what `send` and its body throw, `CancellationError`.
    public func fetch<Body: AsyncSequence>(
        _ url: DownloadURL, headerFields: HTTPFields? = nil, key: String? = nil, selection: RangeSelection? = nil,
        policy: ResumePolicy = ResumePolicy(), limit: Int = 32 << 20,
        retries: RetryBudget.Limits = RetryBudget.Limits(retries: 2),
        sending send: (HTTPFields) async throws -> (HTTPResponse, Body)
    ) async throws -> [UInt8] where Body.Element: Sequence<UInt8> {
        let transfer = try await begin(
            url, headerFields: headerFields, key: key, selection: selection, policy: policy, waits: true)
        return try await transfer.run(policy: policy, limit: Int64(limit), retries: retries, send) {
            try await $0.takeData(upTo: limit)
        }
    }
}

extension DownloadStore {
    /// Downloads into a file with the caller's own HTTP client.
    ///
    /// As ``PartialStore/fetch(_:headerFields:key:selection:policy:limit:retries:sending:)`` does, but of any length.
    ///
    /// - Parameters:
    ///   - url: What is asked for.
    ///   - destination: The file, which appears whole or not at all.
    ///   - headerFields: The caller's own fields of the request, with credentials, which `send` must send as well: who sends
    ///     the same ones is given what is complete without a request. nil where the server is to be asked in any case.
    ///   - key: What names the download; nil for the URL without user info and signature.
    ///   - selection: What is wanted of the representation; nil for all of it.
    ///   - policy: On which terms it is continued.
    ///   - retries: How often it is asked again without having got anything new, and after what waits.
    ///   - send: Sends a GET request with these fields added, on the same terms as there.
    /// - Throws: ``FetchError``, ``StoreError``, what `send` and its body throw, `CancellationError`.
    public func fetch<Body: AsyncSequence>(
        _ url: DownloadURL, to destination: Destination, headerFields: HTTPFields? = nil, key: String? = nil,
        selection: RangeSelection? = nil, policy: ResumePolicy = ResumePolicy(),
        retries: RetryBudget.Limits = RetryBudget.Limits(retries: 2),
        sending send: (HTTPFields) async throws -> (HTTPResponse, Body)
    ) async throws where Body.Element: Sequence<UInt8> {
        let transfer = try await begin(
            url, headerFields: headerFields, key: key, selection: selection, policy: policy)
        try await transfer.run(policy: policy, limit: .max, retries: retries, send) {
            try await $0.deliver(to: destination)
        }
    }
}

extension PartialTransfer {
    /// Runs a fetch, and lets go of the entry whatever happens.
    fileprivate nonisolated func run<Body: AsyncSequence, Result>(
        policy: ResumePolicy, limit: Int64, retries: RetryBudget.Limits,
        _ send: (HTTPFields) async throws -> (HTTPResponse, Body),
        finish: (Self) async throws -> Result
    ) async throws -> Result where Body.Element: Sequence<UInt8> {
        var run = FetchRun(self, policy: policy, limit: limit, retries: retries)
        do {
            return try await run.run(send, finish: finish)
        } catch {
            // What came is recorded as it comes; a failure here does not hide the first one.
            try? await close()
            throw error
        }
    }
}
