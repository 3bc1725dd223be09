import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore

/// Reports running downloads: as JSON on standard output, or as messages and progress on standard error.
final class GetReporter: Sendable {
    private let json: Bool
    private let isQuiet: Bool
    let isVerbose: Bool
    /// Whether the paths of delivered files are printed, for another program.
    private let printsPaths: Bool
    /// Whether downloads are named by their URLs: the server's names are known only at the end, and standard output has
    /// none.
    let showsURLs: Bool
    /// The downloads, and their progress if that is shown.
    private let display: ProgressDisplay
    private let showsProgress: Bool
    private let context: CommandContext

    /// Makes a reporter.
    ///
    /// - Parameters:
    ///   - command: The command with its options.
    ///   - context: The streams.
    init(command: GetCommand, context: CommandContext) {
        let messages = command.messages
        json = messages.json
        isQuiet = command.isQuiet
        isVerbose = messages.verbose
        printsPaths =
            !json && !command.writesToOutput && (messages.printed == .path || !isQuiet && context.outputWidth == nil)
        showsURLs = command.files.remoteHeaderName || command.writesToOutput
        var state = ProgressState(stallTimeout: GetCommand.Pace.limit(command.load.stallTimeout))
        state.reportsEvents = json
        showsProgress = json || !messages.noProgress && !isQuiet
        let isPlain = json || messages.progress == .lines || context.terminalSize() == nil
        display = ProgressDisplay(
            state, linesEvery: isPlain ? .seconds(30) : nil, size: context.terminalSize,
            write: json ? context.output : context.errors)
        self.context = context
    }

    /// Adds to the number of requested downloads.
    func expect(_ requested: Int) {
        display.update { $0.count += requested }
    }

    /// Whether lines about events are printed, which say what a file replaces.
    var showsEvents: Bool { !isQuiet && !json }

    /// Whether more than one download was requested.
    var hasSeveral: Bool { display.update { $0.count > 1 } }

    /// Starts to show the progress, until ``finish(failed:isInterrupted:)``.
    func start() {
        guard showsProgress else { return }
        display.start()
    }

    /// Records that a download starts.
    func begin(_ request: DownloadRequest, _ number: Int64) {
        display.update { state in
            let path = showsURLs ? nil : request.destination.utf8.split(separator: .slash).last
            let name = path.map { Printable.escaped(String(Substring($0))) } ?? Redaction.url(request.url)
            state.begin(number, named: json ? request.url.redacted : name)
        }
    }

    /// Reports a download that is skipped because its file exists.
    ///
    /// - Parameters:
    ///   - request: The download.
    ///   - skip: Why.
    ///   - place: The path of the file if the download was started; the server may have named it.
    ///   - number: The number of the download; nil if it was not started.
    func skipped(
        _ request: DownloadRequest, as skip: DownloadResult.Kept = .exists, at place: String? = nil,
        _ number: Int64? = nil
    ) {
        completed(number)
        let path = place ?? (try? Destination(request.destination))?.path ?? request.destination
        if json {
            return context.print([
                "event": "skipped", "url": request.url.redacted, "path": path, "reason": skip.reason.code,
            ])
        }
        let shown = (request.usesServerFilename ? place : nil) ?? request.destination
        say("\(shown): \(skip.reason.text)")
        // The file is there, which is what a script asks for.
        if printsPaths { context.printPath(path) }
    }

    /// Counts a download that needs nothing more.
    ///
    /// - Parameter number: The number of the download; nil if it was not started.
    func completed(_ number: Int64?) {
        display.update { $0.end(number, isFailure: false) }
    }

    /// Reports a download that is not started, such as a line of the input file that is no URL.
    func rejected(_ failure: CommandFailure) {
        if json { context.print(Self.json(failure, failure)) }
        say("resumectl: \(failure.message)", isError: true)
        display.update { $0.end(nil, isFailure: true) }
    }

    func report(
        _ event: DownloadEvent, of request: DownloadRequest, _ number: Int64,
        replacing file: GetCommand.ReplacedFile? = nil
    ) {
        let result: DownloadResult? = if case .finished(let result) = event { result } else { nil }
        // A file that is kept is reported as skipped.
        if result?.isExisting == true { return }
        let retries = display.update { $0.take(event, of: number) }
        if json { return context.print(Self.json(event, of: request)) }
        if !isQuiet {
            let replaced = file?.found(at: event)
            if let line = mention(replaced, at: event, of: request) { say(line) }
            if let line = line(for: event, of: request, replacing: replaced, after: retries) { say(line) }
            if let line = result.flatMap({ Self.doubtfulType(of: $0, for: request) }) { say(line) }
        }
        if printsPaths, let result { context.printPath(result.path) }
    }

    /// Reports a download that failed for now, and is tried once more after the others.
    func postponed(_ request: DownloadRequest, because reason: Reason, _ number: Int64) {
        display.update { $0.postpone(number) }
        if json { return context.print(Self.json(.retrying(reason: reason, after: .zero), of: request)) }
        say(sentence("tried-later", name(of: request), reason.clause))
    }

    /// Reports a download that failed.
    ///
    /// - Parameters:
    ///   - failure: The status and the message.
    ///   - error: The error.
    ///   - request: The download.
    ///   - number: The number of the download; nil if it was not started.
    func report(_ failure: CommandFailure, _ error: any Error, of request: DownloadRequest, _ number: Int64? = nil) {
        if json { context.print(Self.json(failure, error, of: request)) }
        say("resumectl: \(Redaction.url(request.url)): \(failure.message)", isError: true)
        display.update { $0.end(number, isFailure: true) }
    }

    /// Ends the progress and repeats how many downloads failed, since their messages may have scrolled away.
    ///
    /// - Parameters:
    ///   - failed: How many failed.
    ///   - isInterrupted: Whether some may not have begun: all that are not completed count.
    func finish(failed: Int, isInterrupted: Bool = false) {
        display.finish()
        let (total, done) = display.update { ($0.count, $0.done) }
        let failed = isInterrupted ? total - done : failed
        guard failed > 0, total > 1 else { return }
        context.say("resumectl: \(failed) of \(total) downloads did not complete")
    }

    /// Says what is waited for when the wait begins.
    ///
    /// - Parameters:
    ///   - reason: What is waited for.
    ///   - name: The URL or key of the download; nil for several.
    ///   - delay: How long; nil if that is unknown.
    func waits(for reason: Reason, of name: String?, _ delay: Duration? = nil) {
        guard json else { return }
        context.print(reason.waiting(name, delay.map { $0.components.seconds + 1 }))
    }

    /// Says that a download waits since its origin asked to wait, or refused connections.
    func waits(for request: DownloadRequest, in origins: OriginPaces) {
        let delay = origins.with(request.url.origin) { $0.opensAt } - StoreClock.awake.now()
        let reason = Reason("origin", with: request.url.host)
        waits(for: reason, of: request.url.redacted, delay > .zero ? delay : nil)
    }

    /// Prints a message that is not an event.
    func note(_ line: String) {
        if !json { say(line) }
    }

    /// Returns the ways on if many files were not replaced.
    static func keptFiles(_ count: Int, isGet: Bool) -> String {
        let command = isGet ? "the same command" : "\(Hint.run("get")) with their URLs"
        return sentence("files-kept", count, command)
    }

    /// Prints a message that is not about one of the downloads, even if only errors are printed.
    func mention(_ line: String) { say(line, isError: true) }

    private func say(_ line: String, isError: Bool = false) {
        guard isError || !isQuiet else { return }
        // A file's name or a server's words must not control the terminal.
        if json {
            context.say(line)
        } else {
            display.say(Printable.escaped(line))
        }
    }

    /// Returns the event of a failed download.
    static func json(_ failure: CommandFailure, _ error: any Error, of request: DownloadRequest? = nil) -> JSONObject {
        let failed = error as? DownloadError
        let store = error as? StoreError
        return [
            "event": "failed", "url": request?.url.redacted,
            "reason": failed?.reason.code.rawValue ?? store?.code.description ?? failure.reason?.rawValue
                ?? (error is CancellationError ? "cancelled" : request == nil ? "invalid-url" : "failed"),
            "message": failure.message, "status": failed?.status.map(Int64.init),
            "resumable": request != nil && failure.isResumable,
        ]
    }

    private static func json(_ event: DownloadEvent, of request: DownloadRequest) -> JSONObject {
        let url = request.url.redacted
        let (name, members): (String, JSONObject) =
            switch event {
            case .waiting: ("waiting", Reason.sameResource.waiting(url, nil))
            case .started(let total): ("started", ["totalBytes": total])
            case .resumed(let offset, let total): ("resumed", ["offset": offset, "totalBytes": total])
            case .damaged(let reason): ("damaged", reason.members)
            case .resumeDataOutdated(let reason): ("resumeDataOutdated", reason.members)
            case .restarted(let reason, let total): ("restarted", reason.members.adding(["totalBytes": total]))
            case .retrying(let reason, let delay):
                ("retrying", reason.members.adding(["afterSeconds": delay / .seconds(1)]))
            case .progress(let received, let total): ("progress", ["receivedBytes": received, "totalBytes": total])
            case .finished(let result): ("finished", json(result))
            }
        return members.adding(["event": name, "url": url])
    }

    private static func json(_ result: DownloadResult) -> JSONObject {
        var members: JSONObject = [
            "path": result.path, "totalBytes": result.totalBytes, "reusedBytes": result.reusedBytes,
            "fetchedBytes": result.fetchedBytes, "lengthVerified": result.isLengthVerified, "proved": result.isProved,
        ]
        if let samples = result.agreedSamples { members["agreedSamples"] = samples }
        if let coding = result.contentCoding { members["contentCoding"] = coding }
        return members.adding(result.digest?.members ?? [:]).adding(doubt(result)?.members ?? [:])
    }
}
