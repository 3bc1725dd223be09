import Synchronization
import Testing

@testable import ResumeDownload

/// Whom the end of a run is told.
struct ListenersTests {
    private static func ends(
        _ listeners: QueueState.Listeners, _ run: Set<Int>, adding steps: [(caller: Int, waits: Bool)]
    )
        -> [Int]
    {
        let told = Mutex<[Int]>([])
        let add = { (caller: Int, waits: Bool) in
            listeners.add(caller, to: 0) { _ in told.withLock { $0.append(caller) } }
            listeners.answersFirst(waits)
        }
        for caller in run { add(caller, false) }
        listeners.begin(for: run)
        for (caller, waits) in steps { add(caller, waits) }
        listeners.tell(.finished(DownloadResult(path: "/f", totalBytes: 1, fetchedBytes: 1)), of: 0)
        return told.withLock { $0 }
    }

    @Test("A run tells its end those whom it answers: all that asked for the same, or only those that it began with")
    func ends() {
        #expect(Self.ends(QueueState.Listeners(), [1], adding: [(2, false)]) == [1, 2])
        #expect(Self.ends(QueueState.Listeners(), [1], adding: [(2, true)]) == [1])
        #expect(Self.ends(QueueState.Listeners(), [1], adding: [(2, true), (3, false)]) == [1, 2, 3])
        #expect(Self.ends(QueueState.Listeners(), [1], adding: [(2, false), (3, true)]) == [1])
    }
}
