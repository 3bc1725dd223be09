extension DownloadTask {
    /// The state machine of a task.
    ///
    /// A run is one call of ``Downloader/download(_:onEvent:)``. Suspending interrupts the run; resuming starts another
    /// one, which continues from the partial data.
    package enum Phase: Sendable, Hashable {
        /// Why a run was interrupted, or what has been requested since.
        package enum Interruption: Sendable, Hashable {
            case toSuspend, toResume, toCancel
        }

        /// What the task must do after a transition.
        package enum Action: Sendable, Hashable {
            case nothing, begin, interrupt, finish
        }

        case suspended
        case running
        /// Until the run has recorded the received bytes and released its lease.
        case interrupted(Interruption)
        case finished

        package mutating func resume() -> Action {
            switch self {
            case .suspended:
                self = .running
                return .begin
            case .interrupted(.toSuspend):
                self = .interrupted(.toResume)
                return .nothing
            case .running, .interrupted, .finished:
                return .nothing
            }
        }

        package mutating func suspend() -> Action {
            switch self {
            case .running:
                self = .interrupted(.toSuspend)
                return .interrupt
            case .interrupted(.toResume):
                self = .interrupted(.toSuspend)
                return .nothing
            case .suspended, .interrupted, .finished:
                return .nothing
            }
        }

        package mutating func cancel() -> Action {
            switch self {
            case .suspended:
                self = .finished
                return .finish
            case .running:
                self = .interrupted(.toCancel)
                return .interrupt
            case .interrupted:
                self = .interrupted(.toCancel)
                return .nothing
            case .finished:
                return .nothing
            }
        }

        /// Handles the end of a run.
        ///
        /// - Parameter isDelivered: Whether it was successful; an interruption may have come too late.
        /// - Returns: What to do.
        package mutating func ended(isDelivered: Bool) -> Action {
            switch self {
            // Any error of an interrupted run is ignored: if it was a different failure, the next run meets it again.
            case .interrupted(.toSuspend) where !isDelivered:
                self = .suspended
                return .nothing
            case .interrupted(.toResume) where !isDelivered:
                self = .running
                return .begin
            case .running, .interrupted, .suspended, .finished:
                self = .finished
                return .finish
            }
        }
    }
}
