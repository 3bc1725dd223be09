import ResumeDownload
import Synchronization

/// The outcomes reported to a queue's owner.
final class Outcomes: Sendable {
    private let outcomes = Mutex<[(key: String, isFailure: Bool)]>([])

    func note(_ key: String, _ result: Result<DownloadResult, any Error>) {
        let isFailure = if case .failure = result { true } else { false }
        outcomes.withLock { $0.append((key, isFailure)) }
    }

    var keys: [String] { outcomes.withLock { $0.map(\.key) }.sorted() }
    var failures: [String] { outcomes.withLock { $0.filter(\.isFailure).map(\.key) } }
}
