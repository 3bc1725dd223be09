import Synchronization

/// Runs an operation on the caller's executor, and calls a closure as soon as its task is cancelled.
///
/// `withTaskCancellationHandler` runs the operation on the cooperative pool if its caller is not statically isolated, as
/// in a function that only inherits the isolation of its caller; each call would then cost two thread changes.
package func withCancellation<Result>(
    isolation: isolated (any Actor)? = #isolation, _ operation: () async throws -> Result,
    onCancel: @Sendable () -> Void
) async rethrows -> Result {
    try await withTaskCancellationHandler {
        _ = isolation
        return try await operation()
    } onCancel: {
        onCancel()
    }
}

/// Tells work on another thread to stop because its result is no longer needed.
package final class CancellationFlag: Sendable {
    private let isSet = Atomic<Bool>(false)

    func set() { isSet.store(true, ordering: .relaxed) }

    package var value: Bool { isSet.load(ordering: .relaxed) }
}
