import Synchronization

/// A download that is being received.
protocol Receiver: AnyObject, Sendable {
    /// The bytes that have been received.
    var held: Int64 { get }
    /// Records these bytes; blocks.
    func recordAll() throws
}

/// The running downloads of a process in a store, and those that wait until others leave room.
final class StoreRoom: Sendable {
    /// A running download.
    struct Running: Sendable {
        let receiver: any Receiver
        /// The bytes of the whole download; nil if that is unknown.
        let length: Int64?
        /// Whether others may have its room: it waits for a place that one of them may have.
        var isPaused = false
        /// The bytes that are missing; 0 if that is unknown.
        var rest: Int64 { max((length ?? 0).addingSaturating(-receiver.held), 0) }
    }

    private struct State {
        var running: [ObjectIdentifier: Running] = [:]
        /// In the order of their turns.
        var waiting: [any Receiver] = []

        mutating func remove(_ receiver: any Receiver) {
            running[ObjectIdentifier(receiver)] = nil
            waiting.removeAll { $0 === receiver }
        }
    }

    private let state = Mutex(State())

    /// The running downloads.
    var running: [Running] { state.withLock { $0.running.values.filter { !$0.isPaused } } }

    /// Whether a download runs, with this length.
    func isRunning(_ receiver: any Receiver, length: Int64?) -> Bool {
        state.withLock { state in
            state.running[ObjectIdentifier(receiver)].map { $0.length == length } ?? false
        }
    }

    /// Adds a download that is running from now on, or changes its length.
    func begin(_ receiver: any Receiver, length: Int64?) {
        state.withLock { state in
            state.remove(receiver)
            // Those must be admitted again.
            state.running = state.running.filter { !$0.value.isPaused }
            state.running[ObjectIdentifier(receiver)] = Running(receiver: receiver, length: length)
        }
    }

    /// Lets others have the room of a download, or takes it back if it is still there.
    func pause(_ receiver: any Receiver, _ isPaused: Bool) {
        state.withLock { $0.running[ObjectIdentifier(receiver)]?.isPaused = isPaused }
    }

    /// Removes a download that does not run or wait any more.
    func end(_ receiver: any Receiver) { state.withLock { $0.remove(receiver) } }

    /// Adds a download that waits unless it does, and returns whether it is the first one.
    func isFirst(_ receiver: any Receiver) -> Bool {
        state.withLock { state in
            if !state.waiting.contains(where: { $0 === receiver }) { state.waiting.append(receiver) }
            return state.waiting.first === receiver
        }
    }
}
