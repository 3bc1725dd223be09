import Synchronization

/// The running downloads of a process in a store, and those that wait until others leave room.
final class StoreRoom: Sendable {
    struct Running {
        let receiver: any Receiver
        /// The bytes of the whole download; nil if that is unknown.
        let length: Int64?
        /// The bytes that are missing; 0 if that is unknown.
        var rest: Int64 { max((length ?? 0).addingSaturating(-receiver.held), 0) }
    }

    private struct State {
        var running: [ObjectIdentifier: Running] = [:]
        /// In the order of their turns.
        var waiting: [any Receiver] = []
        /// Those that have left their room for a while.
        var left: Set<ObjectIdentifier> = []

        mutating func remove(_ receiver: any Receiver) {
            running[ObjectIdentifier(receiver)] = nil
            left.remove(ObjectIdentifier(receiver))
            waiting.removeAll { $0 === receiver }
        }
    }

    private let state = Mutex(State())

    var running: [Running] { state.withLock { Array($0.running.values) } }

    /// Whether a download runs, with this length.
    func isRunning(_ receiver: any Receiver, length: Int64?) -> Bool {
        state.withLock { state in state.running[ObjectIdentifier(receiver)].map { $0.length == length } ?? false }
    }

    /// Adds a download that is running from now on, or changes its length.
    func begin(_ receiver: any Receiver, length: Int64?) {
        state.withLock { state in
            state.remove(receiver)
            state.running[ObjectIdentifier(receiver)] = Running(receiver: receiver, length: length)
        }
    }

    /// Lets others have the room of a download that comes back, and is then the first one that waits.
    func leave(_ receiver: any Receiver) {
        state.withLock { state in
            guard state.running.removeValue(forKey: ObjectIdentifier(receiver)) != nil else { return }
            state.left.insert(ObjectIdentifier(receiver))
        }
    }

    /// Whether no other download runs or comes back.
    func isAlone(_ receiver: any Receiver) -> Bool {
        state.withLock { state in
            let id = ObjectIdentifier(receiver)
            return state.running.isEmpty && state.left.allSatisfy { $0 == id }
        }
    }

    /// Removes a download that does not run or wait any more.
    func end(_ receiver: any Receiver) { state.withLock { $0.remove(receiver) } }

    /// Adds a download that waits unless it does, and returns whether it is the first one.
    func isFirst(_ receiver: any Receiver) -> Bool {
        state.withLock { state in
            let first = state.left.contains(ObjectIdentifier(receiver)) ? 0 : state.waiting.count
            if !state.waiting.contains(where: { $0 === receiver }) { state.waiting.insert(receiver, at: first) }
            return state.waiting.first === receiver
        }
    }

    /// A download that is being received.
    protocol Receiver: AnyObject, Sendable {
        /// The bytes that have been received.
        var held: Int64 { get }
        /// Records these bytes; blocks.
        func recordAll() throws
        /// Permits more bytes to be received.
        func allow(_ bytes: Int64)
    }
}
