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
        onProgress: (@Sendable (_ receivedBytes: Int64, _ totalBytes: Int64?) -> Void)? = nil,
        sending send: (HTTPFields) async throws -> FetchResponse<Body>
    ) async throws -> FetchResult where Body.Element: Sequence<UInt8> {
        let destination = try Destination(checking: path)
        let caller = Caller(url: url, headerFields: headerFields, policy: policy, destination: destination)
        var fetch = Fetch<Body>(
            caller: caller, key: key, selection: selection, retries: retries, limit: .max, onProgress: onProgress)
        return try await fetch.run(in: self, send)
    }
}
