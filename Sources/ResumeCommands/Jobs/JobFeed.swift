internal import ResumeHTTP
internal import Synchronization

/// The jobs of a run that have been recorded and wait for their turn.
///
/// It holds ranges of IDs, not jobs: a list may have millions of lines, which the store has as rows, mostly with
/// consecutive IDs.
final class JobFeed: Sendable {
    /// A job as it was recorded.
    struct Given {
        let url: DownloadURL
        /// The absolute path of the destination.
        let destination: String
    }

    private struct State {
        var ranges: ArraySlice<ClosedRange<Int64>> = []
        /// The jobs whose URLs are not stored, since they have secrets, and the next ones.
        var given: [Int64: Given] = [:]
        var isEnded = false
    }

    /// How many URLs with secrets may wait.
    private static let mostSecrets = 10_000
    /// How many jobs without secrets are kept.
    private static let mostOthers = 1000

    private let state = Mutex(State())
    /// One element at most: something was added, taken or ended.
    private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let (spaces, space) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Adds a job; those that are added in the order of their IDs cost no memory.
    func add(_ id: Int64, _ given: Given) {
        state.withLock { state in
            if let last = state.ranges.last, last.upperBound < .max, last.upperBound + 1 == id {
                state.ranges[state.ranges.endIndex - 1] = last.lowerBound...id
            } else {
                state.ranges.append(id...id)
            }
            if state.given.count < Self.mostOthers || given.url.hasSecrets { state.given[id] = given }
        }
        change.yield()
    }

    /// Adds all jobs with IDs in a range.
    func add(_ ids: ClosedRange<Int64>) {
        state.withLock { $0.ranges.append(ids) }
        change.yield()
    }

    /// Ends the feed: nothing is added anymore.
    func end() {
        state.withLock { $0.isEnded = true }
        change.yield()
    }

    /// Waits until there is space for URLs with secrets, or the task is cancelled.
    func waitForSpace() async {
        var iterator = spaces.makeAsyncIterator()
        while state.withLock({ $0.given.count >= Self.mostSecrets }), await iterator.next() != nil {}
    }

    /// Returns the next IDs; nil at the end, or if the task is cancelled.
    func next() async -> ClosedRange<Int64>? {
        var iterator = changes.makeAsyncIterator()
        while true {
            let (range, isEnded) = state.withLock { state in
                (state.ranges.popFirst(), state.isEnded)
            }
            if let range { return range }
            guard !isEnded, await iterator.next() != nil else { return nil }
        }
    }

    /// Takes a job as it was recorded; nil for one whose row says all.
    func take(_ id: Int64) -> Given? {
        let given = state.withLock { $0.given.removeValue(forKey: id) }
        if given != nil { space.yield() }
        return given
    }
}
