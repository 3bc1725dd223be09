#if ServiceLifecycle
@_exported public import ResumeDownload
public import ServiceLifecycle

/// A queue in a `ServiceGroup`, which closes it on SIGTERM or when the program asks for it.
///
/// Open the queue before the group runs, and list it before the services that use it: a group ends the last one first.
/// Close the store and shut down the transport after the group has ended.
extension DownloadQueue: Service {
    /// Waits for the graceful shutdown or the cancellation of the group, then closes the queue.
    ///
    /// Running downloads are paused, and the next process restores all unfinished ones.
    public func run() async throws {
        // It throws only if the task is cancelled, which ends the service as well.
        try? await gracefulShutdown()
        await close()
    }
}
#endif
