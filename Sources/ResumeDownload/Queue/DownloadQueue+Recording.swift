import ResumeHTTP
import ResumeStore

/// Keeping the rows in the store up to date with the state.
extension DownloadQueue {
    var hasWork: Bool {
        state.hasChanges || !recording.isEmpty
    }

    /// Records changes and starts runs, unless that is already in progress.
    func settle() {
        guard !isSettling else { return }
        guard hasWork else { return tellIdle() }
        isSettling = true
        Task {
            while hasWork { await settleOnce() }
            isSettling = false
            tellIdle()
        }
    }

    private func settleOnce() async {
        let (unstarted, recording) = (unstarted, recording)
        (self.unstarted, self.recording) = ([], [])
        let failure = await record()
        for key in unstarted { launch(key) }
        for continuation in recording {
            if let failure { continuation.resume(throwing: failure) } else { continuation.resume() }
        }
    }

    /// Waits until everything is recorded.
    func recorded() async throws {
        try await withCheckedThrowingContinuation { continuation in
            recording.append(continuation)
            settle()
        }
    }

    /// Writes changed rows in one transaction.
    ///
    /// - Returns: The error if that failed. Then deliveries without a row are rejected, and the others are written with
    ///   the next change.
    private func record() async -> (any Error)? {
        let keys = state.takeChanges().union(unrecorded)
        unrecorded = []
        // Another queue may own the rows by now.
        if isReleased { return DownloadError.queueClosed }
        var changes: [Change] = []
        for key in keys {
            changes += self.changes(of: key)
            // A run that is about to begin may be for a file that the last one has left.
            if let item = state.items[key], item.work != nil || !item.isUnderWay { dropSign(of: key) }
        }
        let removed = state.removals
        guard !changes.isEmpty || !removed.isEmpty else { return nil }
        do {
            let ids = try await table.record(changes.map(\.row), removing: removed)
            state.removals.subtract(removed)
            for ((delivery, row, delivered), id) in zip(changes, ids) {
                if state.items[row.key]?[delivery]?.rowsDelivered != delivered {
                    // Cancelled or delivered while it was being recorded; if it is to run again, it gets another row.
                    state.removals.insert(id)
                } else {
                    state.items[row.key]?[delivery]?.row = row
                    state.items[row.key]?[delivery]?.row?.id = id
                }
            }
            return nil
        } catch {
            unrecorded = keys
            let rejected = Dictionary(grouping: changes.filter { $0.row.id == 0 }, by: \.row.key)
            for (key, changes) in rejected { step(.failure(error)) { $0.reject(key, Set(changes.map(\.delivery))) } }
            return error
        }
    }

    /// A row to be written, with how often the delivery of that number had been delivered before.
    private typealias Change = (delivery: Int, row: Job, rowsDelivered: Int)

    /// Returns the rows of an item that are not recorded as they should be.
    private func changes(of key: String) -> [Change] {
        guard let item = state.items[key] else { return [] }
        let isPaused = item.wish == .paused
        return item.deliveries.compactMap { delivery in
            var row = Job(
                id: delivery.row?.id ?? 0, key: key,
                url: delivery.request?.url.redacted ?? delivery.row?.url ?? item.url,
                destination: delivery.destination,
                state: delivery.failure != nil ? .failed : isPaused ? .paused : item.isRunning ? .running : .waiting,
                priority: Int64(item.place.priority.rawValue), isExclusive: state.forced == key,
                position: item.place.rank, terms: delivery.row?.terms, failure: delivery.failure)
            if var request = delivery.request {
                // If the process dies during a requested restart, the restart is not repeated.
                if item.isRunning { request.restarts = false }
                row.terms = JobTerms.text(for: request)
            }
            return row == delivery.row ? nil : (delivery.number, row, delivery.rowsDelivered)
        }
    }
}
