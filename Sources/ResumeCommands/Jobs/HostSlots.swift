internal import Synchronization

/// The slots for the running downloads of each host, for politeness.
///
/// One task asks for them, one after the other.
final class HostSlots: Sendable {
    private let count: Int?
    private let running = Mutex<[String: Int]>([:])
    private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Makes slots.
    ///
    /// - Parameter count: How many each host has; nil for no limit.
    init(count: Int?) { self.count = count }

    /// Waits for a free slot of a host; returns false if the task is cancelled.
    func next(for host: String) async -> Bool {
        guard let count else { return true }
        var iterator = changes.makeAsyncIterator()
        while true {
            let isFree = running.withLock { running in
                guard running[host, default: 0] < count else { return false }
                running[host, default: 0] += 1
                return true
            }
            if isFree { return true }
            guard await iterator.next() != nil else { return false }
        }
    }

    /// Releases a slot of a host.
    func ended(for host: String) {
        guard count != nil else { return }
        running.withLock { running in
            let left = (running[host] ?? 1) - 1
            running[host] = left > 0 ? left : nil
        }
        change.yield()
    }
}
