import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore

/// The failures of `get` and `resume`.
extension GetCommand {
    /// Throws the worst of the failures, which have already been reported; nothing if there are none.
    static func throwWorst(of failures: [ExitStatus]) throws {
        // Interruption by the user comes first, then failures that running the command again cannot fix.
        let order: [ExitStatus] = [.interrupted, .refused, .cannotCreate, .damaged, .io, .tryAgain]
        guard let worst = order.first(where: failures.contains) ?? failures.first else { return }
        throw CommandFailure(worst)
    }

    /// Runs a download, and cancels it after the time of --max-time.
    ///
    /// - Parameters:
    ///   - limit: The time; nil for any.
    ///   - interruption: Where the reason is recorded.
    ///   - download: The download.
    /// - Returns: Its result.
    /// - Throws: The error of the download; ``timeLimitFailure`` if it is not complete in time.
    func limitingTime<Result: Sendable>(
        to limit: Duration?, of interruption: Interruption?,
        _ download: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let limit else { return try await download() }
        return try await TimeLimit.run(limit, otherwise: timeLimitFailure, download) {
            interruption?.set(.timeLimit)
        }
    }

    /// Returns the longest wait that a server may ask for, which --max-time limits; that is not recorded with jobs.
    func longestWait(within time: Duration) -> Duration { min(time, pace.maxTime?.duration ?? time) }

    /// The failure of a download that is not complete after the time of --max-time.
    var timeLimitFailure: CommandFailure {
        let time = TimeSpan.text((pace.maxTime?.milliseconds ?? 0) / 1000)
        return CommandFailure(.tryAgain, sentence("max-time", time), reason: Reason.timeLimit.code)
    }

    /// Reports the error of a download, whose data is kept unless it has been delivered, and returns it as reported.
    func report(
        _ error: any Error, of request: DownloadRequest, _ number: Int64, with downloader: Downloader?,
        _ reporter: GetReporter, keeping isKept: Bool = true
    ) async -> CommandFailure {
        var failure: CommandFailure
        if error is CancellationError || isKept && (error as? CommandFailure)?.reason == Reason.timeLimit.code {
            failure = await interruption(of: request, with: downloader, CommandFailure(error))
        } else {
            failure = CommandFailure(error)
            let refused = error as? DownloadError
            let facts = refused?.reason.facts ?? []
            if refused?.reason.code == TransportError.Code.stalled.reason {
                failure.add("--stall-timeout TIME waits longer.")
            } else if refused?.status == 401 {
                let isGiven = familiar.user != nil && !connection.usesDigest && !connection.usesAnyMethod
                failure.add(sentence(isGiven ? "advice-digest" : "advice-credentials"))
            } else if refused?.status == 407 {
                failure.add(sentence("advice-proxy"))
            } else if facts.contains(.isUntrusted) {
                failure.add(sentence("advice-trust"))
            } else if refused?.code == .unstable, facts.contains(.lacksValidator) {
                failure.add(sentence("advice-unvalidated"))
            } else if facts.contains(.isRefusal), !writesToOutput {
                let command = Hint.run("resume", ShellWord.quoted(request.destination), "--url")
                failure.message += " " + sentence("advice-renewal", command)
            }
            if refused?.code == .digestMismatch {
                failure.add(sentence("advice-source"))
                if isKept { failure.add(sentence("advice-digests")) }
            }
        }
        reporter.report(failure, error, of: request, number)
        return failure
    }

    /// Returns the failure for an interruption by the user or by --max-time, which says how the next run can continue.
    private func interruption(
        of request: DownloadRequest, with downloader: Downloader?, _ interruption: CommandFailure
    ) async -> CommandFailure {
        var failure = interruption
        guard let downloader else { return failure }
        let plan: Plan?
        do {
            plan = try await downloader.plan(for: request)
        } catch {
            // Only the interruption is reported here; the next command will report problems of the store.
            return failure
        }
        let again = checks.restart ? " without --restart" : ""
        switch plan {
        case nil:
            failure.message +=
                failure.status == .interrupted ? " before any data was received" : "; no data was received"
            failure.isResumable = false
        case .whole(let reason?) where reason == .notProved:
            // Samples are compared first.
            failure.message += sentence("advice-adopted", again)
        case .range, .complete:
            let next = writesToOutput ? sentence("from-first-byte") : "resume"
            failure.message += sentence("advice-again", again, next)
        case .whole(let reason), .first(_, let reason):
            let why = reason?.clause ?? sentence("lacks-beginning")
            failure.message += sentence("advice-restarts", why)
            var unvalidated = request
            unvalidated.allowsUnvalidated = true
            if case .range? = try? await downloader.plan(for: unvalidated) {
                failure.message += sentence("advice-compared")
            }
            failure.isResumable = false
        }
        return failure
    }
}

/// Arguments that are not URLs.
extension GetCommand {
    /// Returns what the user may have meant by an argument that is not a URL; empty if that is not clear.
    func advice(for text: String) -> String {
        if Folder.isThere(text) {
            let word = ShellWord.quoted(text)
            return sentence("advice-file", Printable.escaped(text), word, word)
        }
        // Not shown, since it may be a password.
        return urls.count > 1 ? sentence("advice-name") : ""
    }
}
