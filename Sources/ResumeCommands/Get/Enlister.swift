import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// Records the downloads of a list as jobs, a part at a time, and adds them to a run.
///
/// It does not wait for the downloads: the whole list is in the store soon after the start, for `resume`.
final class Enlister: Sendable {
    /// How many jobs are recorded in one transaction.
    static let most = 500

    private let list: DownloadList
    private let run: JobRun
    private let listing: JobTable.Listing
    private var command: GetCommand { list.command }
    /// The first spellings of paths by the hashes of their lower case, which must not fill the memory, and whether folders
    /// in which paths differ in case only ignore it.
    private let spellings = Mutex<(first: [Int: String], ignoring: [String: Bool])>(([:], [:]))

    /// Makes an enlister for a list of which nothing has been recorded.
    ///
    /// - Throws: `StoreError`
    init(_ list: DownloadList, to run: JobRun) async throws {
        self.list = list
        self.run = run
        let command = list.command
        let restarts = command.checks.restart
        listing = JobTable.Listing(renames: command.files.autoRename, unfinished: try await run.table.unfinishedLists())
        {
            !restarts && JobTerms.isAnswered($0.terms, by: $1.terms)
        }
    }

    /// Records the rest of the list; reports failures to read or record it.
    func addRest() async {
        do {
            while true {
                let part = try await list.next(most: Self.most)
                try Task.checkCancellation()
                try await add(part)
                if part.isLast { return }
            }
        } catch is CancellationError {
            run.reporter.mention(sentence("list-not-read"))
        } catch {
            run.reporter.expect(1)
            // The command line was right, since downloads have started.
            run.reject(CommandFailure((error as? CommandFailure).map { CommandFailure(.refused, $0.message) } ?? error))
        }
    }

    /// Records some downloads, and waits if many of their URLs have secrets, which are not stored.
    ///
    /// - Throws: `StoreError`
    func add(_ part: DownloadList.Part) async throws {
        run.reporter.expect(part.items.count + part.rejected.count)
        part.rejected.forEach(run.reject)
        guard !part.items.isEmpty else { return }
        let jobs = try await jobs(for: part.items)
        let results = try await run.table.enlist(jobs, as: listing)
        if command.mayReplace {
            try await DeliveryRecords(of: run.downloader.store).permitReplacing(
                zip(jobs, results).map { ($1.destination ?? $0.destination, $0.url) })
        }
        let existing = try await existing(part.items, results)
        var due: [(id: Int64, given: JobFeed.Given)] = []
        try await mentionRivals(in: results)
        // Jobs that are done since their file exists, and that are not, since theirs does not.
        var skipped: [Int64] = []
        var reopened: [Int64] = []
        for (var item, (result, isThere)) in zip(part.items, zip(results, existing)) {
            let (id, path, isDone): (Int64, String, Bool)
            switch result {
            case .due(let due, let destination): (id, path, isDone) = (due, destination, false)
            case .done(let job): (id, path, isDone) = (job.id, job.destination, true)
            case .repeated:
                run.reporter.expect(-1)
                continue
            case .clash(let position, let url):
                let error = list.clash(item, with: position, url)
                let failure = CommandFailure(error)
                run.reporter.report(failure, error, of: list.request(for: item))
                run.failed(with: failure.status)
                continue
            }
            item.path = Destination.path(item.path, named: path)
            if isThere {
                if !isDone { skipped.append(id) }
                run.reporter.skipped(list.request(for: item), as: isDone ? .done : .exists)
            } else {
                if isDone { reopened.append(id) }
                due.append((id, (item.url, path)))
            }
        }
        if !skipped.isEmpty { try await run.table.set(skipped, to: .done) }
        if !reopened.isEmpty { try await run.table.set(reopened, to: .waiting) }
        run.feed.add(due)
        await run.feed.waitForSpace()
    }

    /// Says which unfinished downloads have the same destinations.
    private func mentionRivals(in results: [JobTable.Enlisted]) async throws {
        let ids = results.compactMap { if case .due(let id, _) = $0 { id } else { nil } }
        guard !command.files.remoteHeaderName, let first = ids.min(), let last = ids.max() else { return }
        for rival in try await run.table.rivals(of: first...last) {
            run.reporter.note(sentence("name-rival", rival.destination, Redaction.key(rival.url)))
        }
    }

    /// Returns which files are there, so that there is nothing to do.
    ///
    /// A file whose digest is named is read first, if that is necessary.
    private func existing(_ items: [DownloadList.Item], _ results: [JobTable.Enlisted]) async throws -> [Bool] {
        let files = command.files
        let hasDigest = command.digest != nil || command.checks.checksums != nil
        // A program may be left to run for a file that exists.
        let skipsExisting = files.skipExisting && !files.remoteHeaderName && command.programs.onComplete == nil
        return try await Blocking.run {
            zip(items, results).map { item, result in
                if hasDigest || item.digest != nil { return false }
                return switch result {
                case .due(_, let path): skipsExisting && (try? Destination(path))?.existingBytes != nil
                case .done(let job): job.file?.isInPlace(at: job.destination) == true
                case .repeated, .clash: false
                }
            }
        }
    }

    /// Returns the spelling of a path of which the folder permits only one: the later one is a clash, or gets a number.
    private func firstSpelling(of path: String) -> String {
        let key = path.lowercased().hashValue
        return spellings.withLock { spellings in
            guard let first = spellings.first[key] else {
                if spellings.first.count < 1 << 18 { spellings.first[key] = path }
                return path
            }
            let common = zip(first.utf8, path.utf8).prefix { $0 == $1 }.count
            guard common < path.utf8.count else { return path }
            let slash = path.utf8.prefix(common).lastIndex(of: .slash)
            let folder = slash.map { String(Substring(path.utf8[...$0])) } ?? "."
            let isIgnored = spellings.ignoring[folder] ?? list.context.ignoresCase(folder)
            spellings.ignoring[folder] = isIgnored
            return isIgnored ? first : path
        }
    }

    private func jobs(for items: [DownloadList.Item]) async throws -> [JobTable.NewJob] {
        // The same for all downloads that differ in their URLs only.
        let key = run.table.identityKey
        var shared: String?
        var jobs: [JobTable.NewJob] = []
        for item in items {
            // If it cannot be created, the download says so.
            if let folder = item.folder { try? GetCommand.makeFolder(folder) }
            var request = list.request(for: item)
            request.destination = firstSpelling(of: item.path)
            let isPlain = item.digest == nil && request.digestNamed == nil && !item.url.hasSecrets
            let isShared = isPlain && list.netrc?.authorization(for: item.url) == nil
            let terms = (isShared ? shared : nil) ?? JobTerms.text(for: request, key)
            if isShared { shared = terms }
            var job = try JobTerms.job(for: request, at: item.place, terms: terms)
            if listing.renames, request.digest != nil {
                request.onCheck = { [reporter = run.reporter] in reporter.checks($0, bytes: $1) }
                job.isInPlace = try await run.downloader.recognizesFile(of: request)
            }
            jobs.append(job)
        }
        return jobs
    }
}
