internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore

extension GetCommand {
    /// How many jobs are recorded in one transaction.
    private static let batch = 500

    /// Runs the downloads, each of which is recorded as a job before its first request.
    ///
    /// At most ``maxConcurrent`` run at a time, not counting small files that only have to be delivered. A failed
    /// download does not stop the others.
    ///
    /// - Parameters:
    ///   - items: The downloads.
    ///   - downloader: Runs the individual downloads.
    ///   - mostDelivered: How many small files may be waiting for their delivery.
    ///   - earlier: The failures of downloads that could not be started, which have been reported.
    ///   - reporter: Reports events and failures.
    /// - Throws: ``CommandFailure`` with the worst of the failures, which have already been reported.
    func download(
        _ items: [DownloadList.Item], with downloader: Downloader, deliveringAtMost mostDelivered: Int,
        after earlier: [ExitStatus], _ reporter: GetReporter
    ) async throws {
        guard let terms = items.first.map({ terms($0.url) }) else { return }
        let board = try await downloader.store.openJobs()
        let unfinished = try await board.unfinishedLists()
        // The same for all downloads that differ in their URLs only.
        let text = JobTerms.text(for: terms)
        // All of them before the first request, so that a killed run leaves the whole list to `resume`.
        var pending: [PendingJob] = []
        for start in stride(from: 0, to: items.count, by: Self.batch) {
            let batch = items[start..<min(start + Self.batch, items.count)]
            let jobs = try batch.map { item in
                let isShared = item.digest == nil && item.authorization == nil
                let isStored = item.url.credentials == nil && item.url.redacted == item.url.absoluteString
                let request = terms.request(for: item)
                return try JobTerms.job(
                    for: request, terms: isShared && isStored ? text : JobTerms.text(for: request))
            }
            let known = try await board.enlist(jobs, unfinished: unfinished)
            for (index, job) in known.enumerated() {
                if let next = self.pending(job, jobs[index], start + index) {
                    pending.append(next)
                } else {
                    reporter.skipped(terms.request(for: items[start + index]), as: .done)
                }
            }
        }
        try await run(on: board, with: downloader, deliveringAtMost: mostDelivered, after: earlier, reporter) { feed in
            for start in stride(from: 0, to: pending.count, by: Self.batch) where !Task.isCancelled {
                try await feed(
                    pending[start..<min(start + Self.batch, pending.count)].map { job in
                        var request = terms.request(for: items[job.number])
                        request.fulfils(job.id, unless: job.file)
                        return DueJob(id: job.id, number: job.number, request: request, again: job.again)
                    })
            }
            return []
        }
        // Rarely, since it reads all jobs.
        if items.count >= 100 || board.list % 64 == 0 { try? await board.prune() }
    }

    /// A recorded job, without its request, which uses much more memory.
    private struct PendingJob {
        let id: Int64
        let number: Int
        /// The delivered file, if it is in place.
        let file: DeliveredFile?
        let again: Bool
    }

    /// Returns the job to run; nil if its file is delivered and still in place, and others of its list are not done.
    private func pending(_ job: EnlistedJob, _ new: NewJob, _ number: Int) -> PendingJob? {
        let isAnswered =
            !checks.restart && job.isOfSameRequest && JobTerms.isAnswered(new.terms, by: job.known?.terms)
        let file = isAnswered ? job.known?.file.flatMap { $0.isInPlace(at: new.destination) ? $0 : nil } : nil
        if job.isDone, file != nil { return nil }
        return PendingJob(id: job.id, number: number, file: file, again: job.isDone)
    }

    /// Runs jobs, at most ``maxConcurrent`` at a time.
    ///
    /// - Parameters:
    ///   - board: The jobs.
    ///   - downloader: Runs the individual downloads.
    ///   - mostDelivered: How many small files may be waiting for their delivery.
    ///   - earlier: The failures of downloads that could not be started, which have been reported.
    ///   - reporter: Reports events and failures.
    ///   - produce: Passes on jobs to run, in order, to a closure that returns when they have been started. Returns
    ///     the failures of those that cannot run.
    /// - Throws: ``CommandFailure`` with the worst of the failures, which have already been reported.
    func run(
        on board: JobBoard, with downloader: Downloader, deliveringAtMost mostDelivered: Int,
        after earlier: [ExitStatus] = [], _ reporter: GetReporter,
        _ produce: (_ feed: ([DueJob]) async throws -> Void) async throws -> [ExitStatus]
    ) async throws {
        let slots = DownloadSlots(count: pace.maxConcurrent, mostDelivered: mostDelivered)
        let shared = Shared(command: self)
        var runner = JobRunner(board, atATime: pace.maxConcurrent)
        reporter.start()
        try await withThrowingDiscardingTaskGroup { group in
            func start(_ step: JobRunner.Step) async {
                let job: DueJob
                switch step {
                case .run(let next): job = next
                case .over(let delivered): return reporter.skipped(delivered.request, as: .done)
                case .gone(let gone):
                    let failure = CommandFailure(
                        .tryAgain, "another process has cancelled or forgotten this download; run the command again")
                    reporter.report(failure, failure, of: gone.request)
                    return slots.failed(with: failure.status)
                }
                // No more slots: the command was interrupted.
                guard await slots.next(), !Task.isCancelled else {
                    slots.ended(job.number, with: .interrupted)
                    return
                }
                group.addTask {
                    var request = job.request
                    request.onReceived = { slots.received($0, job.number) }
                    slots.ended(
                        job.number,
                        with: await shared.command.download(request, job, on: board, with: downloader, reporter))
                }
            }
            for failure in try await produce({ jobs in try await runner.take(jobs, start) }) {
                slots.failed(with: failure)
            }
            try await runner.rest(start)
            if Task.isCancelled { slots.failed(with: .interrupted) }
        }
        let failures = earlier + slots.failures
        reporter.finish(failed: failures.count)
        try Self.throwWorst(of: failures)
    }

    /// The command, for closures: it has so many options that each copy takes longer than a small file.
    private final class Shared: Sendable {
        let command: GetCommand

        init(command: GetCommand) { self.command = command }
    }

    /// Throws the worst of the failures, which have already been reported; nothing if there are none.
    static func throwWorst(of failures: [ExitStatus]) throws {
        // Interruption by the user comes first, then failures that running the command again cannot fix.
        let order: [ExitStatus] = [.interrupted, .refused, .cannotCreate, .damaged, .io, .tryAgain]
        guard let worst = order.first(where: failures.contains) ?? failures.first else { return }
        throw CommandFailure(worst)
    }

    private func download(
        _ request: DownloadRequest, _ job: DueJob, on board: JobBoard, with downloader: Downloader,
        _ reporter: GetReporter
    ) async -> ExitStatus? {
        let number = job.number
        reporter.begin(request, number)
        do {
            _ = try await downloader.download(request) { reporter.report($0, of: request, number) }
        } catch is Unchanged {
            // If this cannot be recorded, the server is asked again.
            try? await board.set(job.id, to: .done)
            reporter.skipped(request, as: .unchanged, number)
        } catch let error as StoreError where files.skipExisting && error.code == .destinationExists {
            try? await board.set(job.id, to: .done)
            reporter.skipped(request, because: error, number)
        } catch {
            let failure = await report(error, of: request, number, with: downloader, reporter)
            await board.ended(job.id, with: failure, error)
            return failure.status
        }
        board.release(job.id)
        return nil
    }

    /// Reports the error of a download, and returns it as it was reported.
    func report(
        _ error: any Error, of request: DownloadRequest, _ number: Int, with downloader: Downloader,
        _ reporter: GetReporter
    ) async -> CommandFailure {
        let failure: CommandFailure
        if error is CancellationError {
            failure = await interruption(of: request, with: downloader)
        } else {
            let named = (error as? StoreError)?.naming(destination: request.destination, store: downloader.store.path)
            failure = CommandFailure(named ?? error)
        }
        reporter.report(failure, error, of: request, number)
        return failure
    }

    /// Returns the failure for an interruption by the user, which says how the next run can continue.
    private func interruption(of request: DownloadRequest, with downloader: Downloader) async -> CommandFailure {
        let plan: Plan?
        do {
            plan = try await downloader.plan(for: request)
        } catch {
            // Only the interruption is reported here; the next command will report problems of the store.
            return CommandFailure(CancellationError())
        }
        switch plan {
        case nil:
            return CommandFailure(.interrupted, "interrupted before any data was received", isResumable: false)
        case .range, .complete:
            let again = checks.restart ? " without --restart" : ""
            return CommandFailure(
                .interrupted, "interrupted; the partial data is kept. Run the command again\(again) to resume.")
        case .whole(let reason), .first(_, let reason):
            let why = reason?.clause ?? "the beginning of the file has not been received"
            var message = "interrupted. Running the command again restarts the download: \(why)"
            var unvalidated = request
            unvalidated.allowsUnvalidated = true
            if case .range? = try? await downloader.plan(for: unvalidated) {
                message += ". With --allow-unvalidated, it compares bytes and resumes."
            }
            return CommandFailure(.interrupted, message, isResumable: false)
        }
    }
}
