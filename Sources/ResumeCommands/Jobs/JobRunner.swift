internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore

/// A job that is to run.
struct DueJob: Sendable {
    let id: Int64
    /// The number of the download, for the report.
    let number: Int
    let request: DownloadRequest
    /// Whether it runs even if it is done or cancelled.
    var again = false
}

/// Takes jobs from a store for running, so that no two processes run the same one.
struct JobRunner {
    /// What becomes of a job.
    enum Step: Sendable {
        case run(DueJob)
        /// Another process has delivered its file since it was chosen, and the file is in place.
        case over(DueJob)
        /// It was cancelled or forgotten since it was chosen.
        case gone(DueJob)
    }

    /// How many jobs are taken in one transaction at most; another process cannot run them.
    private static let most = 64
    /// How long a process waits before it looks again whether another one has ended a job.
    private static let pause = Duration.milliseconds(100)

    let board: JobBoard
    private let least: Int
    private var size: Int
    private var last: ContinuousClock.Instant?
    /// The jobs that another process runs.
    private var busy: [DueJob] = []

    init(_ board: JobBoard, atATime count: Int) {
        self.board = board
        least = count
        size = count
    }

    /// Takes jobs and passes them on, in order; those that another process runs are left for ``rest(_:)``.
    mutating func take(_ jobs: [DueJob], _ body: (Step) async -> Void) async throws {
        var left = jobs[...]
        while !left.isEmpty, !Task.isCancelled {
            // More at a time if they end quickly.
            let now = ContinuousClock.now
            size = if let last, now - last < .milliseconds(100) { min(size * 2, max(Self.most, least)) } else { least }
            last = now
            let batch = Array(left.prefix(size))
            left = left.dropFirst(size)
            let claims = try await board.claim(batch.map(\.id), again: Set(batch.filter(\.again).map(\.id)))
            for (job, claim) in zip(batch, claims) {
                switch claim {
                case .taken: await body(.run(job))
                case .busy: busy.append(job)
                case .over:
                    let known = try await board.job(job.id)
                    guard known?.state == .done else {
                        board.release(job.id)
                        await body(.gone(job))
                        continue
                    }
                    guard known?.file?.isInPlace(at: job.request.destination) == true else {
                        // Somebody has removed or changed the file.
                        await body(.run(job))
                        continue
                    }
                    board.release(job.id)
                    await body(.over(job))
                }
            }
        }
    }

    /// Waits for the jobs that another process runs, and passes on those that it leaves.
    mutating func rest(_ body: (Step) async -> Void) async throws {
        while !busy.isEmpty, !Task.isCancelled {
            let jobs = busy
            busy = []
            try await take(jobs, body)
            if !busy.isEmpty { try? await Task.sleep(for: Self.pause) }
        }
    }
}

extension JobBoard {
    /// Records how a run of a job ended, and unlocks the job.
    func ended(_ id: Int64, with failure: CommandFailure, _ error: any Error) async {
        defer { release(id) }
        // An interrupted job is continued by the next run.
        guard !(error is CancellationError) else { return }
        let reason =
            (error as? DownloadError)?.reason
            ?? Reason(
                code: .init(rawValue: (error as? StoreError)?.code.description ?? "failed"), text: failure.message)
        let isForGood = failure.status == .refused || failure.status == .cannotCreate
        // If this cannot be recorded, the job is tried again.
        try? await set(id, to: isForGood ? .failed : .waiting, because: reason)
    }
}
