import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// The downloads that a run of `get` is asked for: its arguments, then the lines of its input file, which is read a part
/// at a time.
final class DownloadList: Sendable {
    /// One download, whose request is made when it starts, since a request uses much more memory.
    struct Item {
        let url: DownloadURL
        /// The path to which it is delivered.
        var path: String
        /// Where its URL was given.
        let place: Place
        /// The folder that a list names, which is created; nil for that of the command.
        var folder: String?
        /// The digest of a list; nil if there is none, or if it is not known yet.
        var digest: HTTPDigest?
    }

    /// Where a URL was given, as a number that a job records: a line, or an argument if it is negative.
    typealias Place = Int64

    /// Some of the downloads, in order.
    struct Part {
        var items: [Item] = []
        /// The failures of lines that are no URL, and of downloads without a checksum in a list of them.
        var rejected: [CommandFailure] = []
        /// Whether nothing follows.
        var isLast = false
    }

    private struct State {
        /// The arguments that have not been returned.
        var arguments: ArraySlice<Item> = []
        var file: InputFile?
    }

    let command: GetCommand
    let context: CommandContext
    let netrc: Netrc?
    /// Read once, since reading options takes long.
    private let naming: GetCommand.Naming
    private let trust: ConnectionTrust
    /// The list of checksums; nil if there is none, or before it has been fetched (``fetchChecksums(for:with:over:)``).
    let checksums: Mutex<Checksums?>
    /// The request of the first download, since reading the options takes long.
    private let terms = Mutex<DownloadRequest?>(nil)
    private let state: Mutex<State>
    /// Whether lines have had more than a URL.
    private let hasDetails = Mutex(false)

    /// Reads the arguments of a command, and opens its files.
    ///
    /// - Throws: ``CommandFailure`` if an argument is not a URL, or a file cannot be read.
    init(_ command: GetCommand, _ context: CommandContext) throws {
        self.command = command
        self.context = context
        naming = GetCommand.Naming(command.files)
        checksums = Mutex(command.checksumsURL == nil ? try command.checks.checksums.map(Checksums.init) : nil)
        netrc = try command.familiar.netrc(context.environment)
        trust = ConnectionTrust(command.connection)
        state = Mutex(State())
        let items = try command.urls.enumerated().map { index, url in
            let place = -1 - Place(index)
            do throws(CommandFailure) {
                return try item(ListLine(url: url), at: place)
            } catch {
                throw failure(error, at: place, error.status)
            }
        }
        try state.withLock { state in
            state.arguments = items[...]
            state.file = try command.files.inputFile.map { try InputFile($0, command.files.inputFormat) }
        }
    }

    /// Returns the next downloads; waits until a pipe has been written to.
    ///
    /// - Parameter most: The maximum number of downloads.
    /// - Returns: The downloads; fewer than there are if the task is cancelled.
    /// - Throws: ``CommandFailure`` if the file cannot be read.
    func next(most: Int) async throws -> Part {
        try await Blocking.run(cancellable: { flag in
            self.withDigests(try self.read(most, until: flag))
        })
    }

    /// Returns downloads with their digests; one without a digest becomes a failure, unless the response may name its file.
    func withDigests(_ part: Part) -> Part {
        guard let checksums = checksums.withLock({ $0 }) else { return part }
        var result = Part(rejected: part.rejected, isLast: part.isLast)
        for var item in part.items {
            do throws(CommandFailure) {
                // The list may have a SHA-256, and its line an MD5.
                if item.digest?.isProof != true {
                    item.digest = try checksums.digest(of: item.url, to: item.path) ?? item.digest
                }
                // Otherwise the response may name the file.
                if item.digest == nil, command.writesToOutput { _ = try checksums.digest(named: [], of: item.url) }
                result.items.append(item)
            } catch {
                result.rejected.append(failure(error, at: item.place, error.status))
            }
        }
        return result
    }

    private func read(_ most: Int, until cancelled: CancellationFlag) throws -> Part {
        try state.withLock { state in
            var part = Part()
            part.items = Array(state.arguments.prefix(most))
            state.arguments = state.arguments.dropFirst(most)
            guard part.items.isEmpty, let file = state.file else {
                part.isLast = state.file == nil && state.arguments.isEmpty
                return part
            }
            for line in try file.next(most: most, until: { cancelled.value }) {
                let place = Place(line.number)
                do throws(CommandFailure) {
                    part.items.append(try item(ListLine(line, as: command.files.inputFormat), at: place))
                } catch {
                    part.rejected.append(failure(error, at: place, .refused))
                }
            }
            part.isLast = file.isDone
            return part
        }
    }

    /// Returns an error with the place of its download.
    private func failure(_ error: CommandFailure, at place: Place, _ status: ExitStatus) -> CommandFailure {
        CommandFailure(status, "\(shown(place)): \(error.message)", reason: error.reason)
    }

    private func item(_ line: ListLine, at place: Place) throws(CommandFailure) -> Item {
        let url: DownloadURL
        do {
            url = try TypedURL.parse(line.url)
        } catch {
            let advice = place < 0 ? command.advice(for: line.url) : ""
            throw CommandFailure(.usage, "\(Redaction.problem(error, with: line.url))\(advice)")
        }
        let folder = naming.folder(named: line.folder)
        guard let path = naming.path(for: url, named: line.name).map({ naming.followed(folder + $0) })
        else { throw CommandFailure(.usage, sentence("url-without-name", Redaction.url(url))) }
        if place >= 0, naming.isUnsafe(path) {
            throw CommandFailure(.usage, sentence("list-hidden-name", Printable.escaped(path)))
        }
        if line.folder != nil || line.digest != nil { hasDetails.withLock { $0 = true } }
        return Item(url: url, path: path, place: place, folder: line.folder.map { _ in folder }, digest: line.digest)
    }

    /// Returns the request of a recorded job.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - given: The job as it was recorded; nil if its row says all.
    /// - Returns: The request.
    /// - Throws: ``CommandFailure`` if the row is that of another job, which happens if the file system's locks do not
    ///   work, or if its URL was damaged.
    func request(for job: Job, as given: JobFeed.Given?) throws -> DownloadRequest {
        if let given, given.url.redacted != job.url || given.destination != job.destination {
            throw CommandFailure(.tryAgain, sentence("job-replaced"))
        }
        let url = try given?.url ?? DownloadURL(job.url)
        // The folder as the user wrote it, and the name of the row, since it may have been numbered.
        let path = naming.path(for: url).map { name in
            Destination.path(naming.followed(naming.folder() + name), named: job.destination)
        }
        var item = Item(url: url, path: path ?? job.destination, place: job.position)
        if hasDetails.withLock({ $0 }) {
            item.path = job.destination
            item.digest = JobTerms.request(for: job)?.digest
        } else {
            item.digest = try checksums.withLock { $0 }?.digest(of: url, to: item.path)
        }
        return request(for: item)
    }

    func request(for item: Item) -> DownloadRequest {
        var request = terms.withLock { terms in
            let first = terms ?? command.terms(item.url)
            terms = first
            return first
        }
        request.url = item.url
        request.destination = item.path
        if let key = trust.key(named: request.key, of: item.url) { request.key = key }
        if let digest = item.digest {
            request.digest = digest
        } else if let checksums = checksums.withLock({ $0 }) {
            request.digestNamed = { [self] names in
                do throws(CommandFailure) {
                    return try checksums.digest(named: names, of: item.url)
                } catch {
                    throw failure(error, at: item.place, error.status)
                }
            }
            request.needs.append("--checksums")
        }
        netrc?.authorize(&request)
        return request
    }

    /// Returns a place in words.
    private func shown(_ place: Place) -> String {
        if place < 0 {
            // Rows may have been manipulated.
            let index = Int(-1 - place)
            return command.urls.indices.contains(index) ? context.position(of: command.urls[index]) : "an argument"
        }
        return "\(Printable.escaped(command.files.inputFile ?? "")), line \(place)"
    }

    /// Returns the error of a download whose file is that of another one.
    func clash(_ item: Item, with first: Place, _ url: String) -> StoreError {
        let place = shown(item.place)
        let reason = Reason("name-clash", with: place, item.path, Redaction.key(url), shown(first))
        return StoreError(.destination, reason.text)
    }
}
