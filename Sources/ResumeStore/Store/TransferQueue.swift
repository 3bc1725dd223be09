import ResumeFiles
import ResumeSQLite

/// The queue of one transfer, whose thread may block.
///
/// It exists before the transfer, so that everything from the check of the destination to the delivery runs on one
/// queue: waking up another thread takes longer than most of these steps.
package actor TransferQueue: BlockingActor {
    nonisolated let executor: QueueExecutor

    /// Makes a queue for a transfer of a store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - isPreferred: Whether the transfer is mostly used in ``run(_:)``.
    /// - Throws: ``StoreError`` with `forkedChild`, since a forked child has no threads for it.
    package init(of store: DownloadStore, isPreferred: Bool = false) throws {
        try StoreError.refuseForkedChild()
        executor = QueueExecutor(
            label: "resume-store.transfer", sharesThreads: store.configuration.sharesThreads, isPreferred: isPreferred)
    }

    /// Runs a closure whose task stays on this queue whenever it has waited for something.
    package func run<Result: Sendable>(
        _ body: @Sendable (isolated TransferQueue) async throws -> Result
    ) async rethrows -> Result {
        try await withTaskExecutorPreference(executor) { try await body(self) }
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }
}
