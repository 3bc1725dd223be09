internal import Synchronization

/// Calls closures from time to time: one task and one timer for all downloads of the process.
///
/// It sleeps while there are none.
final class Ticker: Sendable {
    static let shared = Ticker()

    /// How exact it is.
    private static let step: Duration = .milliseconds(50)

    private struct Entry {
        let interval: Duration
        var due: ContinuousClock.Instant
        let body: @Sendable () -> Void
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var last = 0
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Stands for a closure, until it is cancelled.
    struct Registration: Sendable {
        fileprivate let number: Int
        fileprivate let ticker: Ticker

        /// No call begins after this, but one may be under way.
        func cancel() { ticker.remove(number) }
    }

    /// Has a closure called each time an interval has passed, about.
    ///
    /// - Parameters:
    ///   - interval: The interval; the first call comes after one.
    ///   - body: Must not block.
    /// - Returns: What ends the calls.
    func every(_ interval: Duration, _ body: @escaping @Sendable () -> Void) -> Registration {
        let (number, isFirst) = state.withLock { state in
            state.last &+= 1
            state.entries[state.last] = Entry(interval: interval, due: .now + interval, body: body)
            defer { state.isRunning = true }
            return (state.last, !state.isRunning)
        }
        if isFirst { Task { await run() } }
        return Registration(number: number, ticker: self)
    }

    private func remove(_ number: Int) {
        state.withLock { _ = $0.entries.removeValue(forKey: number) }
    }

    private func run() async {
        repeat {
            try? await Task.sleep(for: Self.step)
        } while tick()
    }

    /// Calls what is due.
    ///
    /// - Returns: Whether there is anything to call later.
    private func tick() -> Bool {
        let (due, goesOn) = state.withLock { state -> ([@Sendable () -> Void], Bool) in
            let now = ContinuousClock.now
            var due: [@Sendable () -> Void] = []
            for (number, entry) in state.entries where entry.due <= now {
                state.entries[number]?.due = now + entry.interval
                due.append(entry.body)
            }
            state.isRunning = !state.entries.isEmpty
            return (due, state.isRunning)
        }
        for body in due { body() }
        return goesOn
    }
}
