#if os(Linux)
@unsafe @preconcurrency import Dispatch
#else
import Dispatch
#endif

/// Runs blocking calls outside of event loops and the cooperative pool, which has only one thread per core.
package enum Blocking {
    /// A new queue, and therefore a thread, for each call.
    ///
    /// On Linux, a concurrent queue would use the threads of the cooperative pool, and two blocking calls would stop
    /// every task of the process.
    private static var queue: DispatchQueue { DispatchQueue(label: "resume-store.blocking") }
    /// A queue for work of low priority; it has few threads, none of them from the cooperative pool.
    private static let laterQueue = DispatchQueue(label: "resume-store.later", qos: .utility, attributes: .concurrent)

    /// Runs a closure that may block.
    ///
    /// - Parameters:
    ///   - isLater: Whether it has low priority.
    ///   - body: The closure.
    /// - Returns: The closure's result.
    /// - Throws: The closure's error.
    package static func run<Result: Sendable>(
        later isLater: Bool = false, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        let chosen = isLater ? laterQueue : queue
        return try await withCheckedThrowingContinuation { continuation in
            chosen.async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }

    /// Runs a closure that may block, and can ask whether the task has been cancelled.
    package static func run<Result: Sendable>(
        later isLater: Bool = false, cancellable body: @escaping @Sendable (CancellationFlag) throws -> Result
    ) async throws -> Result {
        let flag = CancellationFlag()
        return try await withCancellation {
            try await run(later: isLater) { try body(flag) }
        } onCancel: {
            flag.set()
        }
    }

    /// Starts a closure that may block, without waiting for it.
    package static func begin(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }
}

/// An actor whose queue may block.
package protocol BlockingActor: Actor {}
