import Synchronization

/// Calls closures periodically, with one task and one timer for all downloads of the process.
///
/// The task ends when there are none.
package final class Ticker: Sendable {
    package static let shared = Ticker()

    /// The precision of the intervals.
    private static let step: Duration = .milliseconds(50)

    private static let start = ContinuousClock.now
    /// The time since a fixed moment; a type of the system's library is slower to store.
    package static var now: Duration { start.duration(to: .now) }

    private struct Entry {
        let interval: Duration
        var due: Duration
        let body: @Sendable () -> Void
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var last = 0
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Calls a closure each time an interval has passed, approximately.
    ///
    /// - Parameters:
    ///   - interval: The interval; the first call is made after one interval.
    ///   - body: The closure, which must not block.
    /// - Returns: A closure that ends the calls; one that has already begun may still be running.
    package func every(_ interval: Duration, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let (number, isFirst) = state.withLock { state in
            state.last &+= 1
            state.entries[state.last] = Entry(interval: interval, due: Self.now + interval, body: body)
            defer { state.isRunning = true }
            return (state.last, !state.isRunning)
        }
        if isFirst { Task { await run() } }
        return { [self] in state.withLock { $0.entries[number] = nil } }
    }

    private func run() async {
        repeat {
            try? await Task.sleep(for: Self.step)
        } while tick()
    }

    /// Calls the closures that are due.
    ///
    /// - Returns: Whether closures are still registered.
    private func tick() -> Bool {
        let (due, goesOn) = state.withLock { state in
            let now = Self.now
            let due = state.entries.filter { $0.value.due <= now }
            for (number, entry) in due { state.entries[number]?.due = now + entry.interval }
            state.isRunning = !state.entries.isEmpty
            return (due.values, state.isRunning)
        }
        for entry in due { entry.body() }
        return goesOn
    }
}
