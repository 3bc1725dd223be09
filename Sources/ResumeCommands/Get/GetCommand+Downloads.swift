internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore

extension GetCommand {
    /// Runs the downloads, at most ``maxConcurrent`` at a time, not counting small files that only have to be
    /// delivered.
    ///
    /// A failed download does not stop the others.
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
        let slots = DownloadSlots(count: pace.maxConcurrent, mostDelivered: mostDelivered)
        let shared = Shared(command: self)
        reporter.start()
        await withDiscardingTaskGroup { group in
            var free = slots.free.makeAsyncIterator()
            for (number, item) in items.enumerated() {
                // No more slots: the command was interrupted.
                guard await free.next() != nil, !Task.isCancelled else {
                    slots.ended(number, with: .interrupted)
                    continue
                }
                group.addTask {
                    var request = terms.request(for: item)
                    request.onReceived = { slots.received($0, number) }
                    slots.ended(
                        number, with: await shared.command.download(request, number, with: downloader, reporter))
                }
            }
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
        _ request: DownloadRequest, _ number: Int, with downloader: Downloader, _ reporter: GetReporter
    ) async -> ExitStatus? {
        reporter.begin(request, number)
        do {
            _ = try await downloader.download(request) { reporter.report($0, of: request, number) }
            return nil
        } catch let error as StoreError where files.skipExisting && error.code == .destinationExists {
            reporter.skipped(request, because: error, number)
            return nil
        } catch {
            return await report(error, of: request, number, with: downloader, reporter)
        }
    }

    /// Reports the error of a download, and returns its status.
    func report(
        _ error: any Error, of request: DownloadRequest, _ number: Int, with downloader: Downloader,
        _ reporter: GetReporter
    ) async -> ExitStatus {
        let failure: CommandFailure
        if error is CancellationError {
            failure = await interruption(of: request, with: downloader)
        } else {
            let named = (error as? StoreError)?.naming(destination: request.destination, store: downloader.store.path)
            failure = CommandFailure(named ?? error)
        }
        reporter.report(failure, error, of: request, number)
        return failure.status
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
