internal import Synchronization

/// Those who are told what happens to one download of a queue, and what they were told last.
final class Listeners: Sendable {
    typealias Listener = @Sendable (DownloadEvent) -> Void

    /// How far a download is.
    struct Progress: Sendable {
        var receivedBytes: Int64 = 0
        var totalBytes: Int64?
        /// Whether the run has come so far that a new start that was asked for is made.
        var hasBegun = false
    }

    private struct State {
        var listeners: [QueueState.Caller: (delivery: Int, listener: Listener)] = [:]
        var progress: Progress
    }

    private let state: Mutex<State>

    init(receivedBytes: Int64 = 0, totalBytes: Int64? = nil) {
        state = Mutex(State(progress: Progress(receivedBytes: receivedBytes, totalBytes: totalBytes)))
    }

    var progress: Progress { state.withLock { $0.progress } }

    func add(_ caller: QueueState.Caller, to delivery: Int, _ listener: @escaping Listener) {
        state.withLock { $0.listeners[caller] = (delivery, listener) }
    }

    func remove(_ caller: QueueState.Caller) {
        state.withLock { _ = $0.listeners.removeValue(forKey: caller) }
    }

    /// A run begins.
    func begin() {
        state.withLock { $0.progress.hasBegun = false }
    }

    /// Nothing is held any more.
    func reset() {
        state.withLock { $0.progress = Progress(totalBytes: $0.progress.totalBytes) }
    }

    /// Tells all, but of an end only those who wait for this delivery; in the order in which they came.
    func tell(_ event: DownloadEvent, of delivery: Int) {
        let callers = state.withLock { state in
            state.progress.note(event)
            return state.listeners.filter { _, listener in
                if case .finished = event { listener.delivery == delivery } else { true }
            }.keys.sorted()
        }
        for caller in callers {
            // Outside the lock, since it may take long; who has left meanwhile is not told.
            state.withLock { $0.listeners[caller]?.listener }?(event)
        }
    }
}

extension Listeners.Progress {
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
