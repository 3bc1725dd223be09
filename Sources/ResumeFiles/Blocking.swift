#if os(Linux)
@unsafe @preconcurrency internal import Dispatch
#else
internal import Dispatch
#endif

/// Runs blocking calls off the cooperative pool, which has a thread a core and no more, and off event loops.
package enum Blocking {
    /// A queue of its own for each call, since that has a thread of its own: a concurrent queue takes those of the
    /// cooperative pool on Linux, and two calls that block would hold up every task of the process.
    private static var queue: DispatchQueue { DispatchQueue(label: "resume-store.blocking") }
    /// What may wait for everything else; it has few threads, none of them the pool's.
    private static let laterQueue = DispatchQueue(label: "resume-store.later", qos: .utility, attributes: .concurrent)

    /// Runs a body that may block.
    ///
    /// - Returns: What it returned.
    /// - Throws: What it threw.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await run(on: queue, body)
    }

    /// Has a body run that may block, and does not wait for it.
    package static func begin(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

    /// Does what ``run(_:)`` does when nothing else is to be done.
    package static func runLater<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws
        -> Result
    {
        try await run(on: laterQueue, body)
    }

    private static func run<Result: Sendable>(
        on queue: DispatchQueue, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
