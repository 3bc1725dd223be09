public import ResumeHTTP
internal import ResumeStore

/// What a queue does at one moment: what runs, what waits, what is paused, and how far each is.
///
/// Nothing in it is secret.
public struct QueueReport: Sendable, Hashable {
    /// What becomes of a download.
    public enum State: String, Sendable, Hashable {
        /// It is being downloaded.
        case downloading
        /// It waits for its turn.
        case waiting
        /// It was paused, or failed for now while nobody waited for it.
        case paused
        /// It failed for good while nobody waited for it, such as with 404: ``DownloadQueue/resume(_:)`` or another
        /// request tries it again.
        case failed
        /// It was cancelled softly: the next request goes on with it.
        case cancelled
        /// An earlier process left it; see ``DownloadQueue/resumeRestored(_:)``.
        case restored
        /// It was cancelled, and what came of it is being dropped.
        case dropping
    }

    /// One download.
    public struct Item: Sendable, Hashable {
        /// What names it in the store.
        public var key: String
        /// Its URL, without user info and signature.
        public var url: String
        /// The files that it becomes.
        public var destinations: [String]
        /// What becomes of it.
        public var state: State
        /// How many bytes are there, as far as the queue knows.
        public var receivedBytes: Int64
        /// How many bytes the store's collector removed since it ran last; 0 where it has kept them.
        public var evictedBytes: Int64
        /// How many there are in all; nil where that is not known.
        public var totalBytes: Int64?
        /// How much it matters.
        public var priority: QueuePriority
        /// Whether it runs alone.
        public var isForced: Bool
        /// How many callers wait for it.
        public var callers: Int
        /// Why it failed last; nil where it did not, or has been resumed since.
        public var failure: Reason?

        /// How much of it is there, from 0 to 1; nil where that is not known.
        public var fraction: Double? {
            guard let totalBytes else { return receivedBytes == 0 ? 0 : nil }
            return totalBytes == 0 ? 1 : min(Double(receivedBytes) / Double(totalBytes), 1)
        }
    }

    /// How many may run at a time: 1 while one is forced.
    public var maximumRunning: Int
    /// Whether all of it is paused.
    public var isPaused: Bool
    /// First what runs, then what waits, the next one first, then the rest.
    public var items: [Item]

    /// The downloads of a state.
    public func items(in state: State) -> [Item] { items.filter { $0.state == state } }
}

extension QueueReport: CustomStringConvertible {
    /// The report for a person: counts, then a line for each download.
    public var description: String {
        let head = [
            "-------------------------------", "-       Download Report       -", "-------------------------------",
            "Number of possible concurrent downloads: \(maximumRunning)\(isPaused ? " (paused)" : "")",
            "Number of items downloading: \(items(in: .downloading).count)",
            "Number of items waiting for download: \(items(in: .waiting).count)",
            "Number of items cancelled for download: \(items(in: .cancelled).count)",
            "Number of items paused for download: \(items(in: .paused).count)",
            "Number of items failed: \(items(in: .failed).count)",
            "Number of items left by an earlier process: \(items(in: .restored).count)", "", "Items:",
        ]
        let lines = items.isEmpty ? ["Empty"] : items.map(\.description)
        return (head + lines).map { $0 + "\n" }.joined()
    }
}

extension QueueReport.Item: CustomStringConvertible {
    /// The URL, how much is there, the state, whether it is forced, and what went wrong.
    public var description: String {
        let share = fraction.map { "\(($0 * 10_000).rounded() / 100)%" } ?? "\(receivedBytes) bytes"
        let why = failure.map { ": \(Printable.escaped($0.text))" } ?? ""
        let loss = evictedBytes > 0 ? "; \(Reason.evicted(evictedBytes).text)" : ""
        return
            "\(StoreError.shown(url)) (\(share)) \(state.rawValue) \(isForced ? "forced" : "unforced")\(why)\(loss)"
    }
}
