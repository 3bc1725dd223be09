#if os(Linux)
@unsafe @preconcurrency internal import Dispatch
#else
internal import Dispatch
#endif
internal import ResumeHTTP
internal import ResumeStore
internal import Synchronization

/// The digest of a blob that is still being written: it follows the transfer on a queue of its own, so that little is
/// left to do at the end.
///
/// It reads what was written back from the system's cache: so a resumed download is hashed by the same means, and the
/// thread that receives never waits.
final class RunningDigest: Sendable {
    private struct State {
        var hash: RunningHash
        /// Bytes from 0 on that are in it.
        var position: Int64 = 0
    }

    /// How many bytes make it worth to wake the queue.
    private static let stride: Int64 = 4 << 20

    let algorithm: HTTPDigest.Algorithm
    /// The blob; its length is not looked at.
    private let blob: HeldBytes
    private let queue = DispatchQueue(label: "resume-store.digest")
    /// Used on the queue only.
    private let state: Mutex<State>
    private let isQueued = Atomic(false)
    private let wanted: Atomic<Int64>

    init(_ algorithm: HTTPDigest.Algorithm, of blob: HeldBytes) {
        self.algorithm = algorithm
        self.blob = blob
        state = Mutex(State(hash: RunningHash(algorithm)))
        wanted = Atomic(0)
    }

    /// Whether bytes from an offset on may be in it.
    func reaches(beyond held: Int64) -> Bool { wanted.load(ordering: .relaxed) > held }

    /// Takes note of how much is there; returns at once.
    func advance(to held: Int64) {
        guard held - wanted.load(ordering: .relaxed) >= Self.stride, !isQueued.exchange(true, ordering: .acquiring)
        else {
            return
        }
        wanted.store(held, ordering: .relaxed)
        queue.async {
            // What cannot be read now is read, and its failure told, at the end.
            try? self.hash(upTo: held)
            self.isQueued.store(false, ordering: .releasing)
        }
    }

    /// The digest of the first bytes.
    ///
    /// - Throws: `StoreError` where they cannot be read.
    func finish(at length: Int64) async throws -> HTTPDigest? {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(with: Result { try self.hash(upTo: length) })
            }
        }
        return state.withLock { $0.position == length ? $0.hash.digest : nil }
    }

    private func hash(upTo end: Int64) throws {
        try state.withLock { state in
            guard state.position < end else { return }
            // A failure in the middle leaves what was read before it.
            try unsafe blob.forEachBuffer(in: state.position..<end) { buffer in
                unsafe state.hash.update(buffer)
                state.position += Int64(buffer.count)
            }
        }
    }
}
