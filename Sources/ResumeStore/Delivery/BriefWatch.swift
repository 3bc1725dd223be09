internal import ResumeFiles
internal import Synchronization

/// Gives rows to small downloads that turn out to take long.
final class BriefWatch: Sendable {
    private struct Watched {
        weak var transfer: Transfer?
        let due: Duration
    }

    private struct State {
        /// In the order in which they are due.
        var watched: [Watched] = []
        var isRunning = false
    }

    /// How long a small download may take before it gets a row.
    static let patience: Duration = .milliseconds(250)

    private let state = Mutex(State())
    private let clock: StoreClock

    init(clock: StoreClock) {
        self.clock = clock
    }

    func add(_ transfer: Transfer) {
        let due = clock.now() + Self.patience
        let isFirst = state.withLock { state in
            state.watched.append(Watched(transfer: transfer, due: due))
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isFirst { Task { await run() } }
    }

    /// Waits for one after the other, until there is none.
    private func run() async {
        while let next = next() {
            try? await clock.sleep(next.due)
            // Each by itself: its queue may be blocked by whoever is told of its progress.
            if let transfer = next.transfer { Task { await transfer.outgrow() } }
        }
    }

    private func next() -> Watched? {
        state.withLock { state in
            let index = state.watched.firstIndex { $0.transfer != nil } ?? state.watched.endIndex
            state.watched.removeSubrange(..<index)
            state.isRunning = !state.watched.isEmpty
            return state.isRunning ? state.watched.removeFirst() : nil
        }
    }
}

extension Transfer {
    /// Gives the download a row, since it takes long.
    fileprivate func outgrow() async {
        guard !isClosed, !isDelivering else { return }
        do {
            if isClaimed { try checkpoint() } else { try await becomeOrdinary() }
        } catch let error as StoreError where [.busy, .database, .noSpace].contains(error.code) {
            store.briefWatch.add(self)
        } catch {
            // The next call tells it.
        }
    }
}
