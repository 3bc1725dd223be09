package import ResumeHTTP
public import ResumeStore

/// The other ways to run a download.
extension Downloader {
    /// Downloads one file and returns its events.
    ///
    /// Iterate to the end: the last element is ``DownloadEvent/finished(_:)``, or the sequence throws what
    /// ``download(_:onEvent:)`` throws. Leaving the loop early cancels the download and keeps its partial data. Of
    /// several progress events in a row, a slow reader gets only the last one; all others arrive.
    ///
    /// - Parameter request: What to download, where to, and how.
    /// - Returns: The events, in order.
    public func events(_ request: DownloadRequest) -> some AsyncSequence<DownloadEvent, any Error> & Sendable {
        DownloadEvents { onEvent in _ = try await download(request, onEvent: onEvent) }
    }

    /// Makes a task for a download that can be paused; start it with ``DownloadTask/resume()``.
    ///
    /// To resume an earlier download, use a `DownloadRequest(resuming:to:at:)`.
    ///
    /// - Parameter request: What to download, where to, and how.
    /// - Returns: The task, suspended.
    public func makeTask(_ request: DownloadRequest) -> DownloadTask {
        DownloadTask(request, downloader: self)
    }

    /// Returns the data to resume a download later, in this or another process.
    ///
    /// Use it after errors other than `DownloadError`, which contains the data, such as `CancellationError`.
    ///
    /// - Parameter request: The download.
    /// - Returns: nil if nothing was received or it cannot be resumed.
    /// - Throws: `StoreError`
    public func resumeData(for request: DownloadRequest) async throws -> ResumeData? {
        try await EntryReader(store).entry(named: request.storeKey, for: request.identity)
            .flatMap { ResumeData(of: $0, policy: request.policy) }
    }

    /// Returns what the next request for a download will ask for; nil if nothing was received.
    ///
    /// Also works in a cancelled task, where it is typically called.
    package func plan(for request: DownloadRequest) async throws -> Plan? {
        guard let entry = try await EntryReader(store).entry(named: request.storeKey, for: request.identity),
            entry.receivedBytes > 0
        else { return nil }
        return Plan(for: entry.held, policy: request.policy)
    }

    /// Downloads one file and returns its bytes while they are received.
    ///
    /// The download starts at once and does not wait for the reader: unread bytes stay on disk.
    ///
    /// - Parameters:
    ///   - request: What to download, where to, and how.
    ///   - onEvent: Called with each event, in order; the download waits for it to return.
    /// - Returns: The bytes, and random access to those received so far.
    public func makeStream(
        _ request: DownloadRequest, onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) -> DownloadStream {
        DownloadStream(request, downloader: self, onEvent: onEvent)
    }
}
