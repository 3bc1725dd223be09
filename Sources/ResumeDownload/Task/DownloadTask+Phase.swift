extension DownloadTask {
    /// What a task does, and what becomes of it when its run ends.
    ///
    /// A run is one call of ``Downloader/download(_:onEvent:)``. Suspending interrupts it, and resuming begins another
    /// one, which goes on from what is held.
    package enum Phase: Sendable, Hashable {
        /// Why a run was interrupted, or what was asked for since.
        package enum Interruption: Sendable, Hashable {
            case toSuspend, toResume, toCancel
        }

        /// What the caller of the phase is to do.
        package enum Action: Sendable, Hashable {
            case nothing, begin, interrupt, finish
        }

        case suspended
        case running
        /// Until the run has recorded what came, and given its lease back.
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

        /// The run has ended.
        ///
        /// - Parameter isDelivered: Whether it was successful, for which an interruption may have come too late.
        /// - Returns: What to do.
        package mutating func ended(isDelivered: Bool) -> Action {
            switch self {
            // Whatever an interrupted run failed with: if it was another failure, the next run meets it again.
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
