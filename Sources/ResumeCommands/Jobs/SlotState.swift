import Synchronization

/// Which of the jobs that were taken run, as a value: a fixed number of them, and of each host.
///
/// A job that waits gives its place to another one: for its origin, or with all bytes of a small file, which is committed
/// to disk together with others.
struct SlotState: Sendable {
    private enum Phase: Int, CaseIterable {
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

    /// How many jobs may wait to begin; others are not taken before one of them runs.
    static let mostParked = 64
    /// How many jobs that have begun may wait.
    static let mostPaused = 256

    private let count: Int
    private let perHost: Int?
    private let mostPaused: Int
    private var jobs: [Int64: (host: String, phase: Phase)] = [:]
    /// How many jobs are in each phase.
    private var counts = [Int](repeating: 0, count: Phase.allCases.count)

    /// Has no jobs yet.
    ///
    /// - Parameters:
    ///   - count: How many run at a time.
    ///   - perHost: How many of each host; nil for no limit.
    ///   - mostPaused: How many that have begun may wait.
    init(count: Int, perHost: Int?, mostPaused: Int) {
        self.count = count
        self.perHost = perHost
        self.mostPaused = mostPaused
    }

    /// Whether there are no jobs.
    var isIdle: Bool { jobs.isEmpty }

    private func number(_ phase: Phase) -> Int { counts[phase.rawValue] }

    private mutating func set(_ id: Int64, _ phase: Phase?, at host: String? = nil) {
        let old = jobs[id]
        if let old { counts[old.phase.rawValue] -= 1 }
        if let phase { counts[phase.rawValue] += 1 }
        jobs[id] = phase.map { (host ?? old?.host ?? "", $0) }
    }

    /// Whether a further job may find a place.
    var mayAdmit: Bool {
        jobs.count - number(.parked) - number(.paused) < count && number(.parked) < Self.mostParked
            && number(.paused) + number(.resuming) < mostPaused
    }

    /// Takes a further job if it may find a place.
    mutating func admit(_ id: Int64) -> Bool {
        guard mayAdmit else { return false }
        set(id, .admitted)
        return true
    }

    /// Gives a place to a job if there is one; those that have begun before come first.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - host: Its host.
    ///   - mayBegin: Whether a job may begin at its origin.
    /// - Returns: Whether it runs now.
    mutating func start(_ id: Int64, at host: String, mayBegin: Bool) -> Bool {
        guard let job = jobs[id] else { return false }
        let isNew = job.phase != .resuming
        let phases = isNew ? [Phase.running, .resuming] : [.running]
        let isFull = phases.map(number).reduce(0, +) >= count
        let ofHost = perHost.map { _ in
            jobs.count { $0.key != id && $0.value.host == host && phases.contains($0.value.phase) }
        }
        let starts = !isFull && ofHost ?? 0 < perHost ?? .max && (mayBegin || !isNew)
        set(id, starts ? .running : isNew ? .parked : .resuming, at: host)
        return starts
    }

    /// Takes the place of a job that is going to wait.
    mutating func pause(_ id: Int64) { if jobs[id] != nil { set(id, .paused) } }

    /// Lets a job that has waited wait for a place.
    mutating func goOn(_ id: Int64) { if jobs[id] != nil { set(id, .resuming) } }

    /// Removes a job.
    mutating func end(_ id: Int64) { set(id, nil) }
}

extension SlotState {
    /// The slots of a run, and a task that waits for one.
    final class Shared: Sendable {
        private let state: Mutex<SlotState>
        /// One element at most, after a change of the state.
        private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

        init(_ state: SlotState) { self.state = Mutex(state) }

        /// Changes the slots, and wakes the task that waits for a change.
        func with<Result>(_ body: (inout SlotState) -> Result) -> Result {
            let (result, isNews) = state.withLock { state in
                let before = state.mayAdmit
                let result = body(&state)
                return (result, state.isIdle || state.mayAdmit && !before)
            }
            if isNews { change.yield() }
            return result
        }

        /// Waits until the slots allow something; returns false if the task is cancelled.
        ///
        /// One task calls this.
        func wait(until isReached: (inout SlotState) -> Bool) async -> Bool {
            var iterator = changes.makeAsyncIterator()
            while !state.withLock({ isReached(&$0) }) {
                guard await iterator.next() != nil else { return false }
            }
            return true
        }
    }
}
