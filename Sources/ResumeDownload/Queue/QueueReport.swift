public import ResumeHTTP
import ResumeStore

extension DownloadQueue {
    /// A snapshot of a queue: what runs, waits or is paused, and the progress of each download.
    ///
    /// It contains no secrets.
    public struct Report: Sendable, Hashable {
        /// The state of a download.
        @nonexhaustive
        public enum State: String, Sendable, Hashable {
            /// It is running.
            case downloading
            /// It waits for its turn.
            case waiting
            /// It was paused, or it failed temporarily while no caller waited for it.
            case paused
            /// It failed permanently while no caller waited for it, such as with status 404. ``DownloadQueue/resume(_:)``
            /// or another request tries it again.
            case failed
            /// It was cancelled softly; the next request resumes it.
            case cancelled
            /// An earlier process left it; see ``DownloadQueue/resumeRestored(_:)``.
            case restored
            /// It was cancelled, and its partial data is being removed.
            case dropping
        }

        /// One download.
        public struct Item: Sendable, Hashable {
            /// The key in the store.
            public var key: String
            /// Its URL, without user info and signature.
            public var url: String
            /// The paths to which the download is delivered.
            public var destinations: [String]
            /// Its state.
            public var state: State
            /// The number of received bytes, as far as the queue knows.
            public var receivedBytes: Int64
            /// The number of bytes that the store's collector removed since the last run; 0 if it removed nothing.
            public var evictedBytes: Int64
            /// The total length in bytes; nil if unknown.
            public var totalBytes: Int64?
            /// Its priority.
            public var priority: Priority
            /// Whether it is forced to run alone.
            var isExclusive = false
            /// The number of callers that wait for it.
            var callers = 0
            /// Why its last run failed; nil if it did not fail or has been resumed since.
            public var failure: Reason?

            /// The received share, from 0 to 1; nil if the total length is unknown and bytes have been received.
            public var fraction: Double? {
                guard let totalBytes else { return receivedBytes == 0 ? 0 : nil }
                return totalBytes == 0 ? 1 : min(Double(receivedBytes) / Double(totalBytes), 1)
            }
        }

        /// How many downloads may run at a time: 1 while one is forced.
        var maximumRunning = 0
        /// Whether the whole queue is paused.
        public var isPaused: Bool
        /// Running downloads first, then waiting ones in the order in which they will run, then the rest.
        public var items: [Item]
    }
}

extension DownloadQueue.Report: CustomStringConvertible {
    /// A human-readable report: counts, then a line for each download.
    public var description: String {
        let rule = String(repeating: "-", count: 31)
        let states: KeyValuePairs<String, State> = [
            "downloading": .downloading, "waiting for download": .waiting, "cancelled for download": .cancelled,
            "paused for download": .paused, "failed": .failed, "left by an earlier process": .restored,
        ]
        let head =
            [
                rule, "-       Download Report       -", rule,
                "Number of possible concurrent downloads: \(maximumRunning)\(isPaused ? " (paused)" : "")",
            ]
            + states.map { name, state in
                "Number of items \(name): \(items.count { $0.state == state })"
            } + ["", "Items:"]
        let lines = items.isEmpty ? ["Empty"] : items.map(\.description)
        return (head + lines).map { $0 + "\n" }.joined()
    }
}

extension DownloadQueue.Report.Item: CustomStringConvertible {
    /// The URL, the received share, the state, whether it is forced, and the last failure.
    public var description: String {
        let share = fraction.map { "\(($0 * 10_000).rounded() / 100)%" } ?? "\(receivedBytes) bytes"
        let why = failure.map { ": \(Printable.escaped($0.text))" } ?? ""
        let loss = evictedBytes > 0 ? "; \(Reason.evicted(evictedBytes).text)" : ""
        return
            "\(StoreError.shown(url)) (\(share)) \(state.rawValue) \(isExclusive ? "forced" : "unforced")\(why)\(loss)"
    }
}
