internal import Synchronization

/// Who may download: so many at a time.
///
/// A small file whose bytes have all come gives its slot to the next download while it is brought to disk, together with
/// others. With a slow disk, the slots would be held by nothing but those.
final class DownloadSlots: Sendable {
    private struct State {
        /// The lengths of files that have given their slots away.
        var delivered: [Int: Int64] = [:]
        var bytes: Int64 = 0
        var failures: [ExitStatus] = []
    }

    /// How many files, and how many bytes, may wait to be brought to disk: this is what the death of the process costs.
    static let most = (files: 256, bytes: 64 << 20 as Int64)

    /// An element for each slot that is free, once.
    let free: AsyncStream<Void>
    private let give: AsyncStream<Void>.Continuation
    private let mostDelivered: Int
    private let state = Mutex(State())

    /// What ended otherwise than with a file.
    var failures: [ExitStatus] { state.withLock { $0.failures } }

    init(count: Int, mostDelivered: Int) {
        self.mostDelivered = min(mostDelivered, Self.most.files)
        (free, give) = AsyncStream.makeStream()
        for _ in 0..<count { give.yield() }
    }

    /// Takes note that all bytes of a download have come, and that it is delivered next.
    ///
    /// - Parameters:
    ///   - length: How many.
    ///   - number: Which download.
    func received(_ length: Int64, _ number: Int) {
        let gives = state.withLock { state in
            guard state.delivered[number] == nil, state.delivered.count < mostDelivered,
                state.bytes + length <= Self.most.bytes
            else { return false }
            state.delivered[number] = length
            state.bytes += length
            return true
        }
        if gives { give.yield() }
    }

    /// Takes note that a download has ended.
    ///
    /// - Parameters:
    ///   - number: Which one.
    ///   - failure: With what; nil where it has become a file.
    func ended(_ number: Int, with failure: ExitStatus?) {
        let hasSlot = state.withLock { state in
            if let failure { state.failures.append(failure) }
            guard let length = state.delivered.removeValue(forKey: number) else { return true }
            state.bytes -= length
            return false
        }
        if hasSlot { give.yield() }
    }
}
