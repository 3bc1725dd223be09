import ResumeFiles
import Synchronization

/// Creates rows for small downloads that take long.
final class BriefWatch: Sendable {
    private struct Watched {
        weak var transfer: Transfer?
        let due: Duration
    }

    private struct State {
        /// The downloads in the order in which they are due.
        var watched: [Watched] = []
        var isRunning = false
    }

    /// How long a small download may take before its row is created.
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

    /// Waits for one download after another until there are none.
    private func run() async {
        while let next = next() {
            try? await clock.sleep(next.due)
            // In a separate task, since the transfer's queue may be blocked by a progress handler.
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
    /// Creates the row of the download, since it takes long.
    fileprivate func outgrow() async {
        guard !isClosed, !isDelivering else { return }
        do {
            if isClaimed { try checkpoint() } else { try becomeOrdinary() }
        } catch let error as StoreError where [.busy, .database, .noSpace].contains(error.code) {
            disk?.briefWatch.add(self)
        } catch {
            // The next call reports the error.
        }
    }
}
