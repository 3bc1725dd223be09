extension DownloadTask {
    /// The state machine of a task.
    ///
    /// A run is one call of ``Downloader/download(_:onEvent:)``. Suspending interrupts the run; resuming starts another
    /// one, which continues from the partial data.
    enum Phase: Hashable {
        /// Why a run was interrupted, or what has been requested since.
        enum Interruption: Hashable {
            case toSuspend, toResume, toCancel
        }

        /// What the task must do after a transition.
        enum Action: Hashable {
            case nothing, begin, interrupt, finish
        }

        case suspended
        case running
        /// Until the run has recorded the received bytes and released its lease.
        case interrupted(Interruption)
        case finished

        mutating func resume() -> Action {
            switch self {
            case .suspended: become(.running, .begin)
            case .interrupted(.toSuspend): become(.interrupted(.toResume))
            case .running, .interrupted, .finished: .nothing
            }
        }

        mutating func suspend() -> Action {
            switch self {
            case .running: become(.interrupted(.toSuspend), .interrupt)
            case .interrupted(.toResume): become(.interrupted(.toSuspend))
            case .suspended, .interrupted, .finished: .nothing
            }
        }

        mutating func cancel() -> Action {
            switch self {
            case .suspended: become(.finished, .finish)
            case .running: become(.interrupted(.toCancel), .interrupt)
            case .interrupted: become(.interrupted(.toCancel))
            case .finished: .nothing
            }
        }

        /// Handles the end of a run.
        ///
        /// - Parameter isDelivered: Whether it was successful; an interruption may have come too late.
        /// - Returns: What to do.
        mutating func ended(isDelivered: Bool) -> Action {
            switch self {
            // Any error of an interrupted run is ignored: if it was a different failure, the next run meets it again.
            case .interrupted(.toSuspend) where !isDelivered: become(.suspended)
            case .interrupted(.toResume) where !isDelivered: become(.running, .begin)
            case .running, .interrupted, .suspended, .finished: become(.finished, .finish)
            }
        }

        private mutating func become(_ phase: Phase, _ action: Action = .nothing) -> Action {
            self = phase
            return action
        }
    }
}
