import Synchronization

extension QueueState {
    /// The event listeners of one download in a queue, and its latest progress.
    final class Listeners: Sendable {
        /// The progress of a download.
        struct Progress {
            var receivedBytes: Int64 = 0
            var totalBytes: Int64?
            /// Whether the run has started far enough that a requested restart has taken place.
            var hasBegun = false
        }

        private struct State {
            var listeners: [QueueState.Caller: (delivery: Int, listener: DownloadEvent.Listener)] = [:]
            /// Those that the present run began with, and whether it answers only them.
            var first: Set<QueueState.Caller> = []
            var answersFirst = false
            var progress: Progress
        }

        private let state: Mutex<State>

        init(_ progress: Progress = Progress()) { state = Mutex(State(progress: progress)) }

        var progress: Progress { state.withLock(\.progress) }

        func add(_ caller: QueueState.Caller, to delivery: Int, _ listener: @escaping DownloadEvent.Listener) {
            state.withLock { $0.listeners[caller] = (delivery, listener) }
        }

        /// Sets whether the present run answers only those that it began with.
        func answersFirst(_ onlyFirst: Bool) {
            state.withLock { $0.answersFirst = onlyFirst }
        }

        func remove(_ caller: QueueState.Caller) {
            state.withLock { _ = $0.listeners.removeValue(forKey: caller) }
        }

        /// Prepares for a new run for callers.
        func begin(for callers: Set<QueueState.Caller>) {
            state.withLock { ($0.progress.hasBegun, $0.answersFirst, $0.first) = (false, false, callers) }
        }

        /// Sets the received bytes to 0 because the partial data was removed.
        func reset() {
            state.withLock { $0.progress = Progress(totalBytes: $0.progress.totalBytes) }
        }

        /// Sends an event to all listeners in the order in which they were added; the final event only to those of a
        /// delivery that it answers.
        func tell(_ event: DownloadEvent, of delivery: Int) {
            let callers = state.withLock { state in
                state.progress.note(event)
                return state.listeners.filter { caller, listener in
                    guard case .finished = event else { return true }
                    return listener.delivery == delivery && (!state.answersFirst || state.first.contains(caller))
                }.keys.sorted()
            }
            for caller in callers {
                // Outside the lock because listeners may be slow. A listener that has been removed in between is skipped.
                state.withLock { $0.listeners[caller]?.listener }?(event)
            }
        }
    }
}

extension QueueState.Listeners.Progress {
    fileprivate mutating func note(_ event: DownloadEvent) {
        switch event {
        case .waiting, .retrying, .damaged, .resumeDataOutdated: return
        case .started(let total): (receivedBytes, totalBytes) = (0, total)
        case .resumed(_, let total): totalBytes = total ?? totalBytes
        case .restarted(_, let total): (receivedBytes, totalBytes) = (0, total ?? totalBytes)
        case .progress(let received, let total): (receivedBytes, totalBytes) = (received, total ?? totalBytes)
        case .finished(let result): (receivedBytes, totalBytes) = (result.totalBytes, result.totalBytes)
        }
        hasBegun = true
    }
}
