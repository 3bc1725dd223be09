import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// Runs jobs for `get` and `resume`, a fixed number at a time.
final class JobRun: Sendable {
    let table: JobTable
    let reporter: GetReporter
    /// The jobs to run.
    let feed = JobFeed()
    let slots: JobSlots
    let command: GetCommand
    let downloader: Downloader
    private let maxTime: Duration?
    private let rates: RateControl
    let programs: Programs
    /// What failed for now and is tried once more after all others, in which round.
    let postponed = Mutex(PostponedJobs())
    /// The statuses of failed downloads, and how many files were not replaced.
    let failures = Mutex<(statuses: [ExitStatus], kept: Int)>(([], 0))

    /// Makes a run without jobs.
    ///
    /// - Parameters:
    ///   - command: The command with its options.
    ///   - table: The jobs.
    ///   - downloader: Runs the individual downloads.
    ///   - rates: The rate limits.
    ///   - mostPaused: How many downloads may wait, such as small files for their delivery.
    ///   - programs: The programs that downloads start.
    ///   - reporter: Reports events and failures.
    init(
        _ command: GetCommand, on table: JobTable, with downloader: Downloader, limiting rates: RateControl,
        pausingAtMost mostPaused: Int, starting programs: Programs, _ reporter: GetReporter
    ) {
        self.command = command
        self.table = table
        self.downloader = downloader
        self.reporter = reporter
        self.rates = rates
        self.programs = programs
        maxTime = command.pace.maxTime?.duration
        let perHost = command.load.perHost.map { max($0 / command.pace.connections, 1) }
        slots = JobSlots(Slots(count: command.load.maxConcurrent, perHost: perHost, mostPaused: mostPaused))
    }

    /// Runs the jobs of ``feed`` until it ends.
    ///
    /// A failed download does not stop the others.
    ///
    /// - Parameters:
    ///   - choice: Which of them to run.
    ///   - request: Returns the request of a job; called for one after the other.
    ///   - feed: Adds jobs while others run; reports its own failures.
    /// - Throws: ``CommandFailure`` with the worst of the failures, which have already been reported.
    func run(
        _ choice: JobRunner.Choice, request: (Job) async throws -> DownloadRequest,
        feeding feed: @escaping @Sendable () async -> Void
    ) async throws {
        reporter.start()
        // Reading them for each job takes long.
        let files = command.files
        let replacing: DownloadRequest.Replacing = files.overwrite || files.output != nil ? .any : .own
        let skipsExisting = files.skipExisting
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { [self] in
                await feed()
                self.feed.added.finish()
            }
            func start(_ job: Job, isDone: Bool) async {
                // No more slots: the command was interrupted.
                if !isDone, await !slots.wait(until: { $0.admit(job.id) }) { return }
                do {
                    var request = try await request(job)
                    if isDone { return reporter.skipped(request, as: .done, job.id) }
                    rates.limit(&request, job.id)
                    if let maxTime { request.retryPolicy.time = min(request.retryPolicy.time, maxTime) }
                    request.fulfils(job, leaving: programs.rest)
                    request.replacing = replacing
                    request.onCheck = { [reporter] in reporter.checks($0, bytes: $1) }
                    if skipsExisting { request.ifExists = .skip }
                    let patience = request.retryPolicy.time
                    request.onPause = { [self, id = job.id, url = request.url] isPaused in
                        if isPaused { slots.with { $0.pause(id) } } else { await enter(id, url, patience) }
                    }
                    group.addTask { [request] in await self.run(request, of: job) }
                } catch {
                    table.release(job.id)
                    fail(job, because: error)
                    slots.with { $0.end(job.id) }
                }
            }
            var runner = JobRunner(self, choice)
            for await ids in self.feed.ranges { try await runner.take(ids, start) }
            if runner.isWaiting {
                let text = "waiting for files that another process downloads"
                reporter.note(text)
                reporter.waits(for: Reason("another-process", with: text), of: nil, maxTime)
            }
            try await runner.rest(for: maxTime, start)
            while await slots.wait(until: { $0.isIdle }), let again = postponed.withLock({ $0.nextRound() }) {
                for id in again { try await runner.take(id...id, start) }
                try await runner.rest(for: maxTime, start)
            }
        }
        let kept = failures.withLock(\.kept)
        var failures = failures.withLock(\.statuses)
        // Downloads that were interrupted have said so, unless none had begun.
        if Task.isCancelled, !failures.contains(.interrupted) {
            failures.append(.interrupted)
            reporter.mention(sentence("run-interrupted"))
        }
        reporter.finish(failed: failures.count, isInterrupted: Task.isCancelled)
        if kept > 3 { reporter.note(GetReporter.keptFiles(kept, isGet: choice == .given)) }
        if choice != .given, failures.contains(.refused) {
            reporter.note(sentence("note-forget", Hint.run("forget", "NAME")))
        }
        try GetCommand.throwWorst(of: failures)
    }

    /// Runs a job as soon as there is a place.
    private func run(_ request: DownloadRequest, of job: Job) async {
        let id = job.id
        defer {
            table.release(id)
            slots.with { $0.end(id) }
        }
        let isRunning = await enter(id, request.url, request.retryPolicy.time) {
            reporter.waits(for: request, in: downloader.origins)
        }
        guard isRunning else { return }
        let failure = await download(request, of: job)
        rates.ended(id)
        if let failure { failed(with: failure) }
    }

    /// Downloads the file of a job.
    ///
    /// - Parameters:
    ///   - request: The request of the job.
    ///   - job: The job.
    /// - Returns: The status of the failure, which has been reported; nil if there was none.
    private func download(_ request: DownloadRequest, of job: Job) async -> ExitStatus? {
        let id = job.id
        reporter.begin(request, id)
        let records = DeliveryRecords(of: downloader.store)
        let isNamed = reporter.showsEvents && request.replacing == .any
        let delivered = isNamed ? try? await records.record(at: job.destination) : nil
        let replaced = reporter.showsEvents ? command.replaced(by: request, of: job, delivered) : nil
        do {
            if let path = request.adopts, !request.restarts, case .range? = try? await downloader.plan(for: request) {
                reporter.note(sentence("partial-unused", path))
            }
            let interruption = request.interruption
            let result = try await command.limitingTime(to: maxTime, of: interruption) {
                [programs, downloader, reporter] in
                var given = request
                try await programs.authorize(&given)
                return try await downloader.download(given) {
                    reporter.report($0, of: request, id, replacing: replaced)
                }
            }
            let isLeft = !result.isExisting || job.leftCompletion != nil
            if isLeft, let failure = await complete(result.path, of: request, id) { return failure }
            guard result.isExisting else {
                reporter.completed(id)
                return nil
            }
            // If this cannot be recorded, the server is asked again.
            let isKept = result.kept != .exists && result.kept != .same
            let unchanged = DeliveryRecord(path: result.path, url: request.url.redacted, file: job.file)
            try? await table.set([id], to: .done, isRun: result.kept != .same, unchanged: isKept ? unchanged : nil)
            reporter.skipped(request, as: result.kept ?? .exists, at: result.path, id)
            return nil
        } catch {
            if let reason = postpones(request, id, after: error) {
                reporter.postponed(request, because: reason, id)
                await record(CommandFailure(error), error, of: job)
                return nil
            }
            if (error as? StoreError)?.code == .destinationExists { failures.withLock { $0.kept += 1 } }
            let failure = await command.report(error, of: request, id, with: downloader, reporter)
            await record(failure, error, of: job)
            return failure.status
        }
    }
}

/// The places of running jobs.
extension JobRun {
    /// Waits for the place of a job that was admitted or has waited.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - url: Its URL.
    ///   - patience: The longest wait that its server may ask for.
    ///   - onWait: Called once if the job waits for its origin.
    /// - Returns: False if the task is cancelled.
    @discardableResult
    func enter(_ id: Int64, _ url: DownloadURL, _ patience: Duration, onWait: () -> Void = {}) async -> Bool {
        var hasWaited = false
        return await downloader.waitForPlace(at: url, patience: patience) { mayBegin in
            if slots.with({ $0.start(id, at: url.host, mayBegin: mayBegin) }) { return true }
            if !mayBegin, !hasWaited { onWait() }
            hasWaited = hasWaited || !mayBegin
            return false
        }
    }
}
