public import ResumeHTTP
public import ResumeStore

/// The other ways to run a download.
extension Downloader {
    /// Makes a download that can be paused; it begins with ``DownloadTask/resume()``.
    ///
    /// - Parameter request: What, to where, how.
    /// - Returns: The task, suspended.
    public func task(_ request: DownloadRequest) -> DownloadTask {
        DownloadTask(request, downloader: self)
    }

    /// Makes a download that goes on with what was interrupted; it begins with ``DownloadTask/resume()``.
    ///
    /// Where more than the defaults is wanted, make a `DownloadRequest(resuming:to:at:)` and set it there.
    ///
    /// - Parameters:
    ///   - resumeData: What to go on with.
    ///   - destination: The file that the download becomes.
    ///   - url: A fresh URL, where the first one was signed; nil for that of the data.
    /// - Returns: The task, suspended.
    public func task(
        resuming resumeData: ResumeData, to destination: String, at url: DownloadURL? = nil
    ) -> DownloadTask {
        task(DownloadRequest(resuming: resumeData, to: destination, at: url))
    }

    /// What names what is held of a download, to go on with it later, also in another process.
    ///
    /// For what ended with another error than a ``DownloadError``, which has it, such as `CancellationError`.
    ///
    /// - Parameter request: The download.
    /// - Returns: nil where nothing is held, or where it cannot be gone on with.
    /// - Throws: `StoreError`
    public func resumeData(for request: DownloadRequest) async throws -> ResumeData? {
        try await store.entry(named: request.storeKey, for: request.identity)
            .flatMap { ResumeData(of: $0, policy: request.policy) }
    }

    /// What the next request for a download will ask for; nil where nothing is held.
    ///
    /// Also for a task that was cancelled: that is when this is asked for.
    package func plan(for request: DownloadRequest) async throws -> Plan? {
        guard let entry = try await store.entry(named: request.storeKey, for: request.identity),
            entry.receivedBytes > 0
        else { return nil }
        return Plan(for: entry.held, policy: request.policy)
    }

    /// Downloads one file, and hands its bytes out while they come.
    ///
    /// It begins at once, and does not wait for the reader: what he has not read yet lies on the disk.
    ///
    /// - Parameters:
    ///   - request: What, to where, how.
    ///   - onEvent: Told what happens, in order; the download waits for it to return.
    /// - Returns: The bytes, and random access to those that are held.
    public func stream(
        _ request: DownloadRequest, onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) -> DownloadStream {
        DownloadStream(request, downloader: self, onEvent: onEvent)
    }
}
