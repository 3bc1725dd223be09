import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// Computes the digest of a file while it is being written, on another thread, so that little is left to do at the end.
///
/// It reads the written bytes back from the system's cache. So resumed downloads are hashed in the same way, and the
/// receiving thread never waits.
final class RunningDigest: Sendable {
    private struct State {
        var hash: RunningHash
        /// The number of bytes hashed, from offset 0.
        var position: Int64 = 0
    }

    /// How many new bytes justify waking a thread.
    private static let stride: Int64 = 4 << 20

    let algorithm: HTTPDigest.Algorithm
    /// The file; its length is ignored.
    private let blob: HeldBytes
    /// Locked while bytes are hashed.
    private let state: Mutex<State>
    private let isQueued = Atomic(false)
    private let wanted: Atomic<Int64>

    init(_ algorithm: HTTPDigest.Algorithm, of blob: HeldBytes) {
        self.algorithm = algorithm
        self.blob = blob
        state = Mutex(State(hash: RunningHash(algorithm)))
        wanted = Atomic(0)
    }

    /// Whether bytes beyond an offset may have been hashed.
    func reaches(beyond held: Int64) -> Bool { wanted.load(ordering: .relaxed) > held }

    /// Announces how many bytes have been received; returns at once.
    func advance(to held: Int64) {
        guard held - wanted.load(ordering: .relaxed) >= Self.stride, !isQueued.exchange(true, ordering: .acquiring)
        else {
            return
        }
        wanted.store(held, ordering: .relaxed)
        Blocking.begin {
            // A read error is ignored here: the bytes are read again at the end, and an error is reported then.
            try? self.hash(upTo: held)
            self.isQueued.store(false, ordering: .releasing)
        }
    }

    /// Returns the digest of the first bytes of the file.
    ///
    /// - Throws: `StoreError` if they cannot be read.
    func finish(at length: Int64) async throws -> HTTPDigest? {
        try await Blocking.run { try self.hash(upTo: length) }
        return state.withLock { $0.position == length ? $0.hash.digest : nil }
    }

    private func hash(upTo end: Int64) throws {
        try state.withLock { state in
            guard state.position < end else { return }
            // After an error in the middle, the position is that of the bytes hashed before it.
            try blob.forEachBuffer(in: state.position..<end) { buffer in
                state.hash.update(buffer)
                state.position += Int64(buffer.count)
            }
        }
    }
}
