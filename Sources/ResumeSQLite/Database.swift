#if os(Linux)
@unsafe @preconcurrency internal import Dispatch
#else
internal import Dispatch
#endif
internal import ResumeFiles

/// A serial executor on a private dispatch queue.
///
/// Blocking calls belong here and never on the cooperative pool, which has a thread a core and no more.
/// (`DispatchSerialQueue`, which could do this by itself, does not exist on Linux.)
public final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// Makes an executor with a queue of its own.
    ///
    /// - Parameters:
    ///   - label: The queue's name, seen in debuggers.
    ///   - sharesThreads: Whether all such queues share a few threads, about as many as there are processors: to wake a
    ///     thread for each costs more than most of what they do. If all of them block, the others wait for a second, until
    ///     the system adds a thread. On Linux, tasks of high priority share them as well.
    public init(label: String, sharesThreads: Bool = false) {
        queue = DispatchQueue(label: label, target: sharesThreads ? .global(qos: .userInitiated) : nil)
    }

    /// Takes a job of an actor.
    ///
    /// A forked child has no thread for it, and running it here would not bring its caller back, who waits on a thread
    /// of the pool that stayed with the parent as well (tried). So the child is stopped, since it would wait for ever.
    public func enqueue(_ job: UnownedJob) {
        guard !ForkedChild.isCurrent else {
            fatalError(
                "A store was used in a forked child. Use it in the parent, or run a program (exec) in the child first.")
        }
        queue.async {
            unsafe job.runSynchronously(on: self.asUnownedSerialExecutor())
        }
    }

    /// Runs a closure on the calling thread with the queue to itself, after what was enqueued before.
    func sync<Result>(_ body: () throws -> Result) rethrows -> Result {
        try queue.sync(execute: body)
    }

    /// The reference that an actor returns as its executor.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    /// Stops the program where the current code does not run on this executor.
    public func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}

/// One connection on an executor of its own.
///
/// A closure handed to it runs from beginning to end without another one in between: it is synchronous,
/// so the actor's re-entrancy cannot split a transaction.
public actor Database {
    private let executor: QueueExecutor
    private var opened: OpenConnection?

    /// A box, since an optional noncopyable property cannot be borrowed from.
    private final class OpenConnection {
        let connection: Connection
        init(_ connection: consuming Connection) { self.connection = connection }
    }

    /// The executor of this connection's queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Makes an actor without a connection, to be given one with ``open(_:)``.
    ///
    /// - Parameter label: The queue's name, seen in debuggers.
    public init(label: String) {
        executor = QueueExecutor(label: label)
    }

    /// Opens the connection, on the actor's own queue since that blocks.
    ///
    /// - Throws: Whatever `make` throws.
    public func open(_ make: @Sendable () throws -> Connection) throws {
        opened = OpenConnection(try make())
    }

    /// Closes the connection.
    ///
    /// What is called later fails with `SQLITE_MISUSE`.
    public func close() {
        opened = nil
    }

    /// Runs a closure with the connection, to its end, whether the task is cancelled or not.
    ///
    /// - Throws: Whatever `body` throws.
    public func withConnection<Result: Sendable>(
        _ body: @Sendable (borrowing Connection) throws -> Result
    ) throws -> Result {
        try body(try current().connection)
    }

    /// Does what ``withConnection(_:)`` does on the calling thread, which it blocks while another closure runs.
    ///
    /// Waking a thread costs more than a commit does. Not on the cooperative pool, whose threads must not block.
    ///
    /// - Throws: Whatever `body` throws.
    public nonisolated func withConnectionNow<Result: Sendable>(
        _ body: @Sendable (borrowing Connection) throws -> Result
    ) throws -> Result {
        try executor.sync { try assumeIsolated { try $0.withConnection(body) } }
    }

    /// Runs a closure that only reads and may take long; cancelling the task interrupts the query.
    ///
    /// - Throws: Whatever `body` throws; `SQLITE_INTERRUPT` after a cancellation.
    public func read<Result: Sendable>(
        _ body: @Sendable (borrowing Connection) throws -> Result
    ) async throws -> Result {
        let flag = CancellationFlag()
        return try await withTaskCancellationHandler {
            // A call without `await`: the compiler then proves that this closure runs on the actor. One that did not
            // mention the actor would run elsewhere, beside the actor's own work.
            try readNow(flag, body)
        } onCancel: {
            flag.set()
        }
    }

    private func readNow<Result: Sendable>(
        _ flag: CancellationFlag, _ body: @Sendable (borrowing Connection) throws -> Result
    ) throws -> Result {
        let connection = try current()
        return try connection.connection.interruptible(by: flag) { try body(connection.connection) }
    }

    private func current() throws(SQLiteError) -> OpenConnection {
        guard let opened else { throw .closed }
        return opened
    }
}
