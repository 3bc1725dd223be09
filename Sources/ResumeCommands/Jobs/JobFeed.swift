internal import ResumeHTTP
internal import Synchronization

/// The jobs of a run that have been recorded and wait for their turn.
///
/// It holds ranges of IDs, not jobs: a list may have millions of lines, which the store has as rows, mostly with
/// consecutive IDs.
final class JobFeed: Sendable {
    private struct State {
        var ranges: ArraySlice<ClosedRange<Int64>> = []
        /// The URLs that are not stored, since they have secrets, and those of the next jobs, which need not be parsed
        /// again.
        var urls: [Int64: DownloadURL] = [:]
        var isEnded = false
    }

    /// How many URLs with secrets may wait.
    private static let mostURLs = 10_000
    /// How many others are kept.
    private static let mostOthers = 1000

    private let state = Mutex(State())
    /// One element at most: something was added, taken or ended.
    private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let (spaces, space) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Adds a job; those that are added in the order of their IDs cost no memory.
    func add(_ id: Int64, at url: DownloadURL) {
        state.withLock { state in
            if let last = state.ranges.last, last.upperBound < .max, last.upperBound + 1 == id {
                state.ranges[state.ranges.endIndex - 1] = last.lowerBound...id
            } else {
                state.ranges.append(id...id)
            }
            if state.urls.count < Self.mostOthers || url.hasSecrets { state.urls[id] = url }
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
        while state.withLock({ $0.urls.count >= Self.mostURLs }), await iterator.next() != nil {}
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

    /// Takes the URL of a job; nil if the one that is stored is complete.
    func takeURL(of id: Int64) -> DownloadURL? {
        let url = state.withLock { $0.urls.removeValue(forKey: id) }
        if url != nil { space.yield() }
        return url
    }
}
