import ResumeStore

/// Takes jobs from a store for running, so that no two processes run the same one.
struct JobRunner {
    /// What becomes of a job.
    enum Step: Sendable {
        case run(Job)
        /// Another process has delivered its file since it was chosen, and the file is in place.
        case over(Job)
        /// It is left out, for a reason in words: a later command downloads another file to its path, or it was refused
        /// permanently before a byte of it was received, and is not named.
        case leftOut(String)
        /// It is not named, and its file, which would be fetched again, has another digest than the one that is named.
        case wrong(Job)
        /// Another process still runs it after the time that a download may take.
        case busy(Job)
        /// It was cancelled since it was chosen, or forgotten, or its row was damaged: then nothing is known of it.
        case gone(Job?)
    }

    /// How many jobs are taken at a time at most; another process cannot run them.
    private static let most: Int64 = 64
    /// How long a process waits before it looks again whether another one has ended a job.
    private static let pause = Duration.milliseconds(100)

    /// Which jobs are run.
    enum Choice: Sendable {
        /// All with the given IDs that are left to do.
        case left
        /// All with the given IDs.
        case given
        /// The same, also if they are done or cancelled.
        case again
    }

    let table: JobTable
    private let choice: Choice
    private let least: Int64
    private var size: Int64
    private var last: ContinuousClock.Instant?
    /// The jobs that another process runs.
    private var busy: [Job] = []

    /// Whether there are some.
    var isWaiting: Bool { !busy.isEmpty }

    init(_ table: JobTable, _ choice: Choice, atATime count: Int) {
        self.table = table
        self.choice = choice
        least = Int64(count)
        size = least
    }

    /// Takes the jobs with IDs in a range and passes them on, in order; those that another process runs are left for
    /// ``rest(_:)``.
    mutating func take(_ ids: ClosedRange<Int64>, _ body: (Step) async -> Void) async throws {
        var ids = ids
        while !Task.isCancelled {
            // More at a time if they end quickly.
            let now = ContinuousClock.now
            size = if let last, now - last < .milliseconds(100) { min(size * 2, max(Self.most, least)) } else { least }
            last = now
            let found = choice == .left ? try await table.left(in: ids, limit: size) : Array(ids.prefix(Int(size)))
            let end = found.count == size ? found.last ?? ids.upperBound : ids.upperBound
            try await claim(found, body)
            guard end < ids.upperBound else { return }
            ids = end + 1...ids.upperBound
        }
    }

    /// Claims jobs, of which those that were waited for are known even if their rows are gone.
    private mutating func claim(_ ids: [Int64], knowing known: [Job] = [], _ body: (Step) async -> Void) async throws {
        for (id, claim) in zip(ids, try await table.claim(ids, again: choice == .again)) {
            switch claim {
            case .taken(let job): await body(choice == .left ? try await step(of: job) : .run(job))
            case .done(let job): await body(.over(job))
            case .busy(let job), .gone(let job):
                let job = job ?? known.first { $0.id == id }
                if let job, case .busy = claim {
                    busy.append(job)
                } else if job != nil || choice != .left {
                    // Of those that are left to do, unreadable ones are ignored.
                    await body(.gone(job))
                }
            }
        }
    }

    /// Returns what becomes of a job that was taken, and releases it unless it runs.
    private func step(of job: Job) async throws -> Step {
        // Others may have ended since it was claimed.
        let (later, now) = try await table.later(than: job)
        let hasEnded = now?.state == .done || now?.state == .cancelled
        let isOutdated = hasEnded || later.contains { $0.replaces(job) }
        let wrong = now.flatMap { $0.failure?.code.rawValue == DownloadError.Code.digestMismatch.rawValue ? $0 : nil }
        guard isOutdated || wrong != nil || now?.neverBegan == true else { return .run(job) }
        table.release(job.id)
        guard isOutdated else { return wrong.map { .wrong($0) } ?? .leftOut(job.leftOut) }
        return later.isEmpty ? .gone(job) : .leftOut(job.outdated)
    }

    /// Waits for the jobs that another process runs, and passes on those that it leaves.
    ///
    /// - Parameters:
    ///   - limit: How long to wait; nil for any time.
    ///   - body: Handles a job.
    /// - Throws: `StoreError`
    mutating func rest(for limit: Duration?, _ body: (Step) async -> Void) async throws {
        let start = ContinuousClock.now
        while !busy.isEmpty, !Task.isCancelled {
            if let limit, ContinuousClock.now - start > limit {
                for job in busy { await body(.busy(job)) }
                return
            }
            let jobs = busy
            busy = []
            try await claim(jobs.map(\.id), knowing: jobs, body)
            if !busy.isEmpty { try? await Task.sleep(for: Self.pause) }
        }
    }
}
