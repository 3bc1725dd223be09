public import HTTPTypes
public import ResumeHTTP

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
        onProgress: (@Sendable (_ receivedBytes: Int64, _ totalBytes: Int64?) async -> Void)? = nil,
        sending send: (HTTPFields) async throws -> FetchResponse<Body>
    ) async throws -> FetchResult where Body.Element: Sequence<UInt8> {
        let destination = try Destination(checking: path)
        let caller = Caller(url: url, headerFields: headerFields, policy: policy, destination: destination)
        var fetch = Fetch<Body>(
            caller: caller, key: key, selection: selection, retries: retries, limit: .max, onProgress: onProgress)
        return try await fetch.run(in: self, send)
    }

    /// Downloads a file of any length with the caller's HTTP client, and leaves its delivery to the caller.
    ///
    /// ``PartialStore/fetch(_:headerFields:key:selection:policy:limit:retries:onProgress:sending:)`` describes the
    /// parameters and errors.
    ///
    /// - Returns: The complete transfer, whose bytes were compared with the digest of the policy. Deliver it with
    ///   ``Transfer/deliver(to:replaces:)``, or close it: then the next call returns it without a request for bytes.
    public func fetchTransfer<Body: AsyncSequence>(
        _ url: DownloadURL, headerFields: HTTPFields? = nil, key: String? = nil, selection: RangeSelection? = nil,
        policy: ResumePolicy = ResumePolicy(), retries: RetryPolicy = RetryPolicy(retries: 2),
        onProgress: (@Sendable (_ receivedBytes: Int64, _ totalBytes: Int64?) async -> Void)? = nil,
        sending send: (HTTPFields) async throws -> FetchResponse<Body>
    ) async throws -> Transfer where Body.Element: Sequence<UInt8> {
        let caller = Caller(url: url, headerFields: headerFields, policy: policy)
        let fetch = Fetch<Body>(
            caller: caller, key: key, selection: selection, retries: retries, limit: .max, onProgress: onProgress)
        let transfer = try await TransferOpener(self).open(
            caller, key: key, selection: selection, waits: true, on: TransferQueue(of: self))
        return try await fetch.run(transfer, send) { transfer in
            try await transfer.requireVerified()
            return transfer
        }
    }
}
