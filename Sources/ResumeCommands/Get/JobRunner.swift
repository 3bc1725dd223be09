import ResumeDownload
import ResumeStore

/// Takes the jobs of a run from its store, so that no two processes run the same one.
struct JobRunner {
    /// Which jobs are run.
    enum Choice {
        /// All with the given IDs that are left to do.
        case left
        /// All with the given IDs.
        case given
        /// The same, also if they are done or cancelled.
        case again
    }

    /// How many jobs are taken at a time at most; another process cannot run them.
    private static let most: Int64 = 64
    /// How long a process waits before it looks again whether another one has ended a job.
    private static let pause = Duration.milliseconds(100)

    private let run: JobRun
    private let choice: Choice
    private let least: Int64
    private var size: Int64
    private var last: ContinuousClock.Instant?
    /// The jobs that another process runs.
    private var busy: [Job] = []
    private var table: JobTable { run.table }

    /// Whether there are some.
    var isWaiting: Bool { !busy.isEmpty }

    init(_ run: JobRun, _ choice: Choice) {
        self.run = run
        self.choice = choice
        least = Int64(run.command.load.maxConcurrent)
        size = least
    }

    /// Takes the jobs with IDs in a range and starts them, in order; those that another process runs are left for
    /// ``rest(for:_:)``.
    ///
    /// - Parameters:
    ///   - ids: The IDs.
    ///   - start: Starts a job that was taken, or reports that another process has delivered its file since it was
    ///     chosen, and that the file is in place.
    /// - Throws: `StoreError`
    mutating func take(
        _ ids: ClosedRange<Int64>, _ start: (_ job: Job, _ isDone: Bool) async -> Void
    ) async throws {
        var ids = ids
        while !Task.isCancelled {
            // More at a time if they end quickly.
            let now = ContinuousClock.now
            size = if let last, now - last < .milliseconds(100) { min(size * 2, max(Self.most, least)) } else { least }
            last = now
            let found = choice == .left ? try await table.left(in: ids, limit: size) : Array(ids.prefix(Int(size)))
            let end = found.count == size ? found.last ?? ids.upperBound : ids.upperBound
            try await claim(found, start)
            guard end < ids.upperBound else { return }
            ids = end + 1...ids.upperBound
        }
    }

    /// Claims jobs, of which those that were waited for are known even if their rows are gone.
    private mutating func claim(
        _ ids: [Int64], knowing known: [Job] = [], _ start: (Job, _ isDone: Bool) async -> Void
    ) async throws {
        for (id, claim) in zip(ids, try await table.claim(ids, again: choice == .again)) {
            switch claim {
            case .taken(let job):
                if choice == .left, try await leavesOut(job) { continue }
                await start(job, false)
            case .done(let job): await start(job, true)
            case .busy(let job), .gone(let job):
                let job = job ?? known.first { $0.id == id }
                if let job, case .busy = claim {
                    busy.append(job)
                } else if job != nil || choice != .left {
                    // Of those that are left to do, unreadable ones are ignored.
                    run.miss(job)
                }
            }
        }
    }

    /// Whether a job that was taken, and is not named, does not run; then it is reported and released.
    private func leavesOut(_ job: Job) async throws -> Bool {
        // Others may have ended since it was claimed.
        let (later, now) = try await table.later(than: job)
        let hasEnded = now?.state == .done || now?.state == .cancelled
        let isOutdated = hasEnded || later.contains { $0.replaces(job) }
        // Its file, which would be fetched again, has another digest than the one that is named.
        let isWrong = now?.failure?.code.rawValue == DownloadError.Code.digestMismatch.rawValue
        guard isOutdated || isWrong || now?.neverBegan == true else { return false }
        table.release(job.id)
        if isOutdated {
            if later.isEmpty { run.miss(job) } else { run.leaveOut(job.outdated) }
        } else if isWrong, let now {
            run.refuseWrong(now)
        } else {
            run.leaveOut(job.leftOut)
        }
        return true
    }

    /// Waits for the jobs that another process runs, and starts those that it leaves.
    ///
    /// - Parameters:
    ///   - limit: How long to wait, as long as a download may take; nil for any time.
    ///   - start: Starts a job, as for ``take(_:_:)``.
    /// - Throws: `StoreError`
    mutating func rest(for limit: Duration?, _ start: (_ job: Job, _ isDone: Bool) async -> Void) async throws {
        let begin = ContinuousClock.now
        while !busy.isEmpty, !Task.isCancelled {
            if let limit, ContinuousClock.now - begin > limit {
                for job in busy { run.fail(job, because: run.command.timeLimitFailure) }
                return
            }
            let jobs = busy
            busy = []
            try await claim(jobs.map(\.id), knowing: jobs, start)
            if !busy.isEmpty { try? await Task.sleep(for: Self.pause) }
        }
    }
}
