import ResumeHTTP
import Synchronization

/// The jobs of a run that have been recorded and wait for their turn.
///
/// It holds ranges of IDs, not jobs: a list may have millions of lines, which the store has as rows, mostly with
/// consecutive IDs.
final class JobFeed: Sendable {
    /// A job as it was recorded: its URL, and the absolute path of the destination.
    typealias Given = (url: DownloadURL, destination: String)

    /// How many URLs with secrets may wait.
    private static let mostSecrets = 10_000
    /// How many jobs without secrets are kept.
    private static let mostOthers = 1000

    /// The jobs to run, in their order.
    let (ranges, added) = AsyncStream.makeStream(of: ClosedRange<Int64>.self)
    /// The jobs whose URLs are not stored, since they have secrets, and the next ones.
    private let given = Mutex<[Int64: Given]>([:])

    func add(_ jobs: [(id: Int64, given: Given)]) {
        given.withLock { given in
            for (id, job) in jobs where given.count < Self.mostOthers || job.url.hasSecrets { given[id] = job }
        }
        var ids = jobs.map(\.id)[...]
        while let first = ids.popFirst() {
            var last = first
            while ids.first == last &+ 1, let next = ids.popFirst() { last = next }
            added.yield(first...max(first, last))
        }
    }

    /// Waits until there is space for URLs with secrets, or the task is cancelled.
    func waitForSpace() async {
        while given.withLock({ $0.count >= Self.mostSecrets }), !Task.isCancelled {
            // The others last much longer.
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Takes a job as it was recorded; nil for one whose row says all.
    func take(_ id: Int64) -> Given? { given.withLock { $0.removeValue(forKey: id) } }
}
