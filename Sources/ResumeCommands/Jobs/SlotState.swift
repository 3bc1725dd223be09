/// Which of the jobs that were taken run, as a value: a fixed number of them, and of each host.
///
/// A job that waits gives its place to a job of another origin. When all bytes of a small file have been received, its
/// place goes to the next job while the file is committed to disk together with others.
package struct SlotState: Sendable {
    private enum Phase {
        /// It has a place, and no request yet.
        case admitted
        /// It waits to begin.
        case parked
        case running
        /// It has given up its place for a while.
        case paused
        /// It waits for a place after that.
        case resuming
    }

    /// How many jobs may wait; others are not taken before one of them runs.
    package static let mostWaiting = 64
    /// How many small files and bytes may wait for their commit; this much is lost if the process dies.
    static let mostDelivered = (files: 256, bytes: 64 << 20 as Int64)

    private let count: Int
    private let perHost: Int?
    private let mostFiles: Int
    private var jobs: [Int64: (host: String, phase: Phase)] = [:]
    /// The lengths of received files.
    private var delivered: [Int64: Int64] = [:]
    private var bytes: Int64 = 0

    /// Has no jobs yet.
    ///
    /// - Parameters:
    ///   - count: How many run at a time.
    ///   - perHost: How many of each host; nil for no limit.
    ///   - mostDelivered: How many small files may be waiting for their delivery.
    package init(count: Int, perHost: Int?, mostDelivered: Int) {
        self.count = count
        self.perHost = perHost
        mostFiles = mostDelivered
    }

    /// Whether there are no jobs.
    package var isIdle: Bool { jobs.isEmpty && delivered.isEmpty }

    /// Takes a further job if it may find a place.
    package mutating func admit(_ id: Int64) -> Bool {
        let waiting = jobs.values.count { $0.phase == .parked || $0.phase == .paused }
        let resuming = jobs.values.count { $0.phase == .resuming }
        guard jobs.count - waiting < count, waiting + resuming < Self.mostWaiting else { return false }
        jobs[id] = ("", .admitted)
        return true
    }

    /// Gives a place to a job if there is one; those that have begun before come first.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - host: Its host.
    ///   - mayBegin: Whether a job may begin at its origin.
    /// - Returns: Whether it runs now.
    package mutating func starts(_ id: Int64, at host: String, mayBegin: Bool) -> Bool {
        guard let job = jobs[id] else { return false }
        let isNew = job.phase != .resuming
        let others = jobs.filter {
            $0.key != id && ($0.value.phase == .running || isNew && $0.value.phase == .resuming)
        }
        let ofHost = others.values.count { $0.host == host }
        let starts = others.count < count && ofHost < perHost ?? .max && (mayBegin || !isNew)
        jobs[id] = (host, starts ? .running : isNew ? .parked : .resuming)
        return starts
    }

    /// Takes the place of a job that is going to wait.
    package mutating func pause(_ id: Int64) { jobs[id]?.phase = .paused }

    /// Lets a job that has waited wait for a place.
    package mutating func goOn(_ id: Int64) { jobs[id]?.phase = .resuming }

    /// Records that all bytes of a job have been received and that its file will be delivered next.
    package mutating func received(_ length: Int64, _ id: Int64) {
        guard jobs[id] != nil, delivered.count < mostFiles, bytes + length <= Self.mostDelivered.bytes else { return }
        jobs[id] = nil
        delivered[id] = length
        bytes += length
    }

    /// Removes a job.
    package mutating func end(_ id: Int64) {
        jobs[id] = nil
        bytes -= delivered.removeValue(forKey: id) ?? 0
    }
}
