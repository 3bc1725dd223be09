#if os(Linux)
@unsafe @preconcurrency import Dispatch
#else
import Dispatch
#endif
import ResumeFiles

/// A serial executor on a private dispatch queue.
///
/// It is for blocking calls, which must not run on the cooperative pool: that has only one thread per core.
/// `DispatchSerialQueue` is a serial executor itself, but does not exist on Linux.
///
/// It can also be the preferred executor of the tasks that use its actor. Continuations resume on the preferred
/// executor of their task, and reach an actor from there with another thread change; with this executor for both, they
/// are on the actor at once.
package final class QueueExecutor: SerialExecutor, TaskExecutor {
    private let queue: DispatchQueue
    /// Whether nearly all jobs are those of tasks that prefer this executor; each hop of other tasks costs more then.
    private let isPreferred: Bool

    /// Creates an executor with its own queue.
    ///
    /// - Parameters:
    ///   - label: The queue's name in debuggers.
    ///   - sharesThreads: Whether the queues of all such executors share a few threads, about as many as there are
    ///     processors. Waking up a separate thread for each would cost more than most of their work. If all of the
    ///     threads block, other queues wait for a second until the system adds a thread. On Linux, tasks of high
    ///     priority use the same threads.
    ///   - isPreferred: Whether the tasks that use it also prefer it (`withTaskExecutorPreference`).
    package init(label: String, sharesThreads: Bool = false, isPreferred: Bool = false) {
        self.isPreferred = isPreferred
        queue = DispatchQueue(label: label, target: sharesThreads ? .global(qos: .userInitiated) : nil)
    }

    /// Enqueues a job of an actor; stops the program in a forked child.
    ///
    /// A forked child has no threads to run it. Running it on the calling thread was tried, but does not resume the
    /// caller, which waits for a thread of the pool in the parent. Without the error the child would wait forever.
    package func enqueue(_ job: UnownedJob) {
        guard !ForkedChild.isCurrent else {
            fatalError(
                "A store was used in a forked child. Use it in the parent, or run a program (exec) in the child first.")
        }
        queue.async {
            let executor = unsafe self.asUnownedSerialExecutor()
            if self.isPreferred {
                unsafe job.runSynchronously(isolatedTo: executor, taskExecutor: self.asUnownedTaskExecutor())
            } else {
                unsafe job.runSynchronously(on: executor)
            }
        }
    }

    /// Runs a closure on the calling thread, exclusively, after all closures that were enqueued before.
    func sync<Result>(_ body: () throws -> Result) rethrows -> Result {
        try queue.sync(execute: body)
    }

    /// Stops the program if the current code does not run on this executor.
    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}

/// A closure with a connection, which it must not keep.
package typealias ConnectionUse<Result> = @Sendable (borrowing Connection) throws -> Result

/// A connection that is isolated on its own executor.
///
/// Closures with the connection run to completion before the next one begins: they are synchronous, so reentrancy of
/// the actor cannot split a transaction.
package actor Database {
    private let executor: QueueExecutor
    private var opened: Box<Connection>?

    /// The executor of this connection's queue.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Creates an actor without a connection; use ``open(_:)`` to set it.
    ///
    /// - Parameter label: The queue's name in debuggers.
    package init(label: String) {
        executor = QueueExecutor(label: label)
    }

    /// Opens the connection on the actor's queue, since that blocks.
    ///
    /// - Throws: The error of `make`.
    package func open(_ make: @Sendable () throws -> Connection) throws {
        opened = Box(try make())
    }

    /// Closes the connection; later calls fail with `SQLITE_MISUSE`.
    package func close() {
        opened = nil
    }

    /// Runs a closure with the connection to completion, even if the task is cancelled.
    ///
    /// - Throws: The error of `body`.
    package func withConnection<Result: Sendable>(_ body: ConnectionUse<Result>) throws -> Result {
        guard let opened else { throw SQLiteError.closed }
        return try body(opened.value)
    }

    /// Runs a closure like ``withConnection(_:)``, but on the calling thread, which is blocked while other closures
    /// run.
    ///
    /// Waking up a thread costs more than a commit. Do not call this from the cooperative pool, whose threads must not
    /// block.
    ///
    /// - Throws: The error of `body`.
    package nonisolated func withConnectionNow<Result: Sendable>(
        _ body: ConnectionUse<Result>
    ) throws -> Result {
        try executor.sync { try assumeIsolated { try $0.withConnection(body) } }
    }

    /// Runs a closure that only reads and may take long; if the task is cancelled, the query is interrupted.
    ///
    /// - Throws: The error of `body`; `SQLITE_INTERRUPT` after a cancellation.
    package func read<Result: Sendable>(_ body: ConnectionUse<Result>) throws -> Result {
        try withConnection { connection in try connection.interruptible { try body(connection) } }
    }
}
