internal import Synchronization

/// The slots for running downloads, of which there is a fixed number.
///
/// When all bytes of a small file have been received, its slot goes to the next download while the file is committed to
/// disk together with others. Otherwise, with a slow disk, all slots would be taken by such files.
final class DownloadSlots: Sendable {
    private struct State {
        /// The lengths of files that have released their slots, by number of the download.
        var delivered: [Int64: Int64] = [:]
        var bytes: Int64 = 0
        var failures: [ExitStatus] = []
    }

    /// How many files and bytes may wait for their commit; this much is lost if the process dies.
    static let most = (files: 256, bytes: 64 << 20 as Int64)

    /// One element for each free slot.
    private let free: AsyncStream<Void>
    private let give: AsyncStream<Void>.Continuation
    private let mostDelivered: Int
    private let state = Mutex(State())

    /// The statuses of failed downloads.
    var failures: [ExitStatus] { state.withLock { $0.failures } }

    init(count: Int, mostDelivered: Int) {
        self.mostDelivered = min(mostDelivered, Self.most.files)
        (free, give) = AsyncStream.makeStream()
        for _ in 0..<count { give.yield() }
    }

    /// Records that all bytes of a download have been received and that it will be delivered next.
    ///
    /// - Parameters:
    ///   - length: The number of bytes.
    ///   - number: The number of the download.
    func received(_ length: Int64, _ number: Int64) {
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

    /// Waits for a free slot; returns false if the task is cancelled.
    func next() async -> Bool {
        var iterator = free.makeAsyncIterator()
        return await iterator.next() != nil
    }

    /// Records the failure of a download that had no slot.
    func failed(with failure: ExitStatus) { state.withLock { $0.failures.append(failure) } }

    /// Records that a download has ended.
    ///
    /// - Parameters:
    ///   - number: The number of the download.
    ///   - failure: The status of the failure; nil if the file was delivered.
    func ended(_ number: Int64, with failure: ExitStatus?) {
        let hasSlot = state.withLock { state in
            if let failure { state.failures.append(failure) }
            guard let length = state.delivered.removeValue(forKey: number) else { return true }
            state.bytes -= length
            return false
        }
        if hasSlot { give.yield() }
    }
}
