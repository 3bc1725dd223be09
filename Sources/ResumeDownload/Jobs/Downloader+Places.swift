import ResumeFiles
package import ResumeHTTP

/// Places of downloads among those that run.
extension Downloader {
    /// Waits until a download has a place, to begin or to go on.
    ///
    /// It looks again and again, since what opens an origin is no change of the places.
    ///
    /// - Parameters:
    ///   - url: The URL of the download.
    ///   - patience: The longest wait that its server may ask for.
    ///   - start: Takes a place if there is one, and returns whether there was. It receives whether a download may begin
    ///     at the origin.
    /// - Returns: False if the task is cancelled.
    package func waitForPlace(
        at url: DownloadURL, patience: Duration, _ start: (_ mayBegin: Bool) async -> Bool
    ) async -> Bool {
        while !Task.isCancelled {
            let now = StoreClock.awake.now()
            let mayBegin = origins.with(url.origin) { $0.mayBegin(at: now, patience: patience) }
            if await start(mayBegin) { return true }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return false
    }
}
