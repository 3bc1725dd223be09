public import HTTPTypes
public import ResumeHTTP

extension DownloadStore {
    /// Opens a download: takes its lease, and checks which of its stored bytes can be relied on.
    ///
    /// - Parameters:
    ///   - url: The URL to request.
    ///   - headerFields: The caller's header fields of the request, including credentials. If they and the URL are the
    ///     same as before, complete data is used without a request. Otherwise, or if they are unknown (nil), the server
    ///     is asked first. Only a keyed hash of them is stored.
    ///   - key: The key of the download; nil for the URL without user info and signature.
    ///   - selection: The requested ranges; nil for all of the representation. Each selection is a separate download.
    ///   - policy: The conditions for resuming.
    ///   - path: The path of the destination file, if it is known; an unusable one is refused at once.
    ///   - waits: Whether to wait if another task or process is using the download, or to throw an error.
    /// - Returns: The transfer. When it is closed or released, others can open the download.
    /// - Throws: ``StoreError``, with `inUse` if it does not wait; `CancellationError`.
    public func open(
        _ url: DownloadURL, headerFields: HTTPFields? = nil, key: String? = nil, selection: RangeSelection? = nil,
        policy: ResumePolicy = ResumePolicy(), destination path: String? = nil, waits: Bool = true
    ) async throws -> Transfer {
        let destination = try path.map { try Destination(checking: $0) }
        let caller = Caller(url: url, headerFields: headerFields, policy: policy, destination: destination)
        return try await TransferOpener(self).open(
            caller, key: key, selection: selection, waits: waits, on: TransferQueue(of: self))
    }
}

extension DownloadStore: PartialStore {
    /// Opens a download without a known destination.
    ///
    /// - Throws: ``StoreError``, with `inUse` if it does not wait; `CancellationError`.
    public func open(
        _ url: DownloadURL, headerFields: HTTPFields?, key: String?, selection: RangeSelection?, policy: ResumePolicy,
        waits: Bool
    ) async throws -> Transfer {
        try await open(
            url, headerFields: headerFields, key: key, selection: selection, policy: policy, destination: nil,
            waits: waits)
    }
}
