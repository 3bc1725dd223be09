import Synchronization

/// Holds answers back at a ``Step/gate(_:)`` until a test opens it.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
        var waiters: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Creates a closed gate.
    public init() {}

    /// The number of answers that have reached the gate, whether it was open or not.
    public var arrivals: Int { state.withLock { $0.arrivals } }

    /// Opens the gate, for waiting and later answers.
    public func open() {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            state.isOpen = true
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }

    /// Calls back once the gate is open.
    ///
    /// - Parameter action: The callback, which runs on the thread that opens the gate; immediately if the gate is open.
    func pass(_ action: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            state.arrivals += 1
            if !state.isOpen { state.waiters.append(action) }
            return state.isOpen
        }
        if isOpen { action() }
    }
}
