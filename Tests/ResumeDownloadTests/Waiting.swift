import OriginServer
import ResumeDownload
import Synchronization
import TestSupport
import Testing

/// A flag that handlers and tests share.
final class Flag: Sendable {
    private let state = Mutex(false)

    var isSet: Bool { state.withLock(\.self) }

    func set() { state.withLock { $0 = true } }

    /// Sets the flag once a condition holds while a body runs, and stops checking after its end.
    func set(
        once condition: @escaping @Sendable () async throws -> Bool, during body: () async throws -> Void
    ) async throws {
        let watch = Task {
            try await wait(until: condition)
            set()
        }
        defer { watch.cancel() }
        try await body()
    }
}

/// How many downloads have waited for another one.
final class WaitingDownloads: Sendable {
    private let state = Mutex(0)

    var count: Int { state.withLock(\.self) }

    func note(_ event: DownloadEvent) {
        if case .waiting = event { state.withLock { $0 += 1 } }
    }
}

/// A number that handlers raise and other handlers wait for.
final class Maximum: Sendable {
    private let state = Mutex<Int64>(0)

    var value: Int64 { state.withLock(\.self) }

    func raise(to value: Int64) { state.withLock { $0 = max($0, value) } }

    /// Records the progress of a download.
    func note(_ event: DownloadEvent) {
        if case .progress(let received, _) = event { raise(to: received) }
    }
}

/// A clock that advances only when a test sets it, and counts how often it was read.
final class StoppedClock: Sendable {
    private let start = ContinuousClock.now
    private let state = Mutex((elapsed: Duration.zero, reads: 0))

    var reads: Int { state.withLock(\.reads) }

    func set(to elapsed: Duration) { state.withLock { $0.elapsed = elapsed } }

    func read() -> ContinuousClock.Instant {
        state.withLock { state in
            state.reads += 1
            return start + state.elapsed
        }
    }
}

extension Response {
    /// Holds back what follows a number of body bytes until a condition holds.
    func holding(after count: Int64 = 0, until condition: @escaping @Sendable () -> Bool) -> Response {
        var (steps, left) = ([Step](), count)
        var isDone = false
        for step in self.steps {
            if !isDone, case .body(let content, let range) = step {
                let border = min(range.lowerBound + left, range.upperBound)
                left -= border - range.lowerBound
                if left == 0 {
                    steps += [
                        .body(content, range.lowerBound..<border), .wait(until: condition),
                        .body(content, border..<range.upperBound),
                    ]
                    isDone = true
                    continue
                }
            }
            steps.append(step)
        }
        return Response(steps)
    }

    /// Holds back the whole answer until a condition holds.
    func delayed(until condition: @escaping @Sendable () -> Bool) -> Response {
        Response([.wait(until: condition)] + steps)
    }
}

/// Holds back each body until the given number of requests has arrived, so that none is complete before the last one.
func together(_ count: Int64, _ handler: @escaping Origin.Handler) -> Origin.Handler {
    let last = Maximum()
    return { request in
        last.raise(to: Int64(request.number))
        return handler(request).holding { last.value >= count }
    }
}
