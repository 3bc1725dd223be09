internal import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeStore

/// Records the downloads of a list as jobs, a part at a time, and adds them to a run.
///
/// It does not wait for the downloads: the whole list is in the store soon after the start, for `resume`.
struct Enlister: Sendable {
    /// How many jobs are recorded in one transaction.
    static let most = 500

    private let list: DownloadList
    private let run: JobRun
    private let listing: JobListing
    private let skipsExisting: Bool

    /// Makes an enlister for a list of which nothing has been recorded.
    ///
    /// - Throws: `StoreError`
    init(_ list: DownloadList, of command: GetCommand, to run: JobRun) async throws {
        self.list = list
        self.run = run
        // A program may be left to run for a file that exists.
        skipsExisting =
            command.files.skipExisting && !command.files.remoteHeaderName && command.programs.onComplete == nil
        let restarts = command.checks.restart
        listing = JobListing(renames: command.files.autoRename, unfinished: try await run.board.unfinishedLists()) {
            !restarts && JobTerms.isAnswered($0.terms, by: $1.terms)
        }
    }

    /// Records the rest of the list; reports failures to read or record it.
    func addRest() async {
        do {
            while true {
                let part = try await list.next(most: Self.most)
                guard !Task.isCancelled else { return }
                try await add(part)
                if part.isLast { return }
            }
        } catch is CancellationError {
        } catch {
            // The command line was right, since downloads have started.
            let failure = CommandFailure(
                (error as? CommandFailure).map { CommandFailure(.refused, $0.message) } ?? error)
            run.reporter.rejected(failure)
            run.slots.failed(with: failure.status)
        }
    }

    /// Records some downloads, and waits if many of their URLs have secrets, which are not stored.
    ///
    /// - Throws: `StoreError`
    func add(_ part: DownloadList.Part) async throws {
        run.reporter.expect(part.items.count + part.rejected.count, running: 0)
        for failure in part.rejected {
            run.reporter.rejected(failure)
            run.slots.failed(with: failure.status)
        }
        guard !part.items.isEmpty else { return }
        let results = try await run.board.enlist(try jobs(for: part.items), as: listing)
        let existing = try await existing(results)
        var due: [(id: Int64, given: JobFeed.Given)] = []
        // Jobs that are done since their file exists, and that are not, since theirs does not.
        var (skipped, reopened): ([Int64], [Int64]) = ([], [])
        for (var item, (result, isThere)) in zip(part.items, zip(results, existing)) {
            switch result {
            case .due(let id, let destination):
                item.path = Destination.path(item.path, named: destination)
                if isThere {
                    skipped.append(id)
                    run.reporter.skipped(list.request(for: item))
                } else {
                    due.append((id, JobFeed.Given(url: item.url, destination: destination)))
                }
            case .done(let job):
                item.path = Destination.path(item.path, named: job.destination)
                if isThere {
                    run.reporter.skipped(list.request(for: item), as: .done)
                } else {
                    reopened.append(job.id)
                    due.append((job.id, JobFeed.Given(url: item.url, destination: job.destination)))
                }
            case .repeated:
                run.reporter.expect(-1, running: 0)
            case .clash(let position):
                let error = list.clash(item, with: DownloadList.Place(number: position))
                let failure = CommandFailure(error)
                run.reporter.report(failure, error, of: list.request(for: item))
                run.slots.failed(with: failure.status)
            }
        }
        if !skipped.isEmpty { try await run.board.set(skipped, to: .done) }
        if !reopened.isEmpty { try await run.board.set(reopened, to: .waiting) }
        run.reporter.expect(0, running: due.count)
        for (id, given) in due { run.feed.add(id, given) }
        await run.feed.waitForSpace()
    }

    /// Returns which files are there, so that there is nothing to do.
    private func existing(_ results: [Enlisted]) async throws -> [Bool] {
        try await Blocking.run { [skipsExisting] in
            results.map { result in
                switch result {
                case .due(_, let path): skipsExisting && (try? Destination(path))?.existingBytes != nil
                case .done(let job): job.file?.isInPlace(at: job.destination) == true
                case .repeated, .clash: false
                }
            }
        }
    }

    private func jobs(for items: [DownloadList.Item]) throws -> [NewJob] {
        // The same for all downloads that differ in their URLs only.
        let key = run.board.identityKey
        var shared: String?
        return try items.map { item in
            let request = list.request(for: item)
            let isShared = item.digest == nil && item.authorization == nil && !item.url.hasSecrets
            let terms = isShared ? shared ?? JobTerms.text(for: request, key) : JobTerms.text(for: request, key)
            if isShared { shared = terms }
            return try JobTerms.job(for: request, at: item.place.number, terms: terms)
        }
    }
}
