#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore

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
    ///   - isKept: Whether its partial data is kept; nil if the caller says so.
    ///   - download: The download.
    /// - Returns: Its result.
    /// - Throws: The error of the download; ``CommandFailure`` if it is not complete in time.
    func limitingTime<Result: Sendable>(
        keeping isKept: Bool? = true, _ download: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let limit = pace.maxTime else { return try await download() }
        let rest = isKept == true ? "; the partial data is kept. Run the command again to resume." : ""
        let failure = CommandFailure(
            .tryAgain, "not complete after \(TimeSpan.text(limit.milliseconds / 1000)) (--max-time)\(rest)")
        return try await TimeLimit.run(limit.duration, otherwise: failure, download)
    }

    /// Reports the error of a download, and returns it as it was reported.
    func report(
        _ error: any Error, of request: DownloadRequest, _ number: Int64, with downloader: Downloader,
        _ reporter: GetReporter
    ) async -> CommandFailure {
        var failure: CommandFailure
        if error is CancellationError {
            failure = await interruption(of: request, with: downloader)
        } else {
            let named = (error as? StoreError)?.naming(destination: request.destination, store: downloader.store.path)
            failure = CommandFailure(named ?? error)
            if let refused = error as? DownloadError, refused.reason.keepsPartialData, !writesToOutput {
                failure.message +=
                    refused.status == 401
                    ? " Options for credentials are -u, -n, -H and --auth-command."
                    : " If more than the signature of the URL has changed, run 'resumectl resume "
                        + "\(ShellWord.quoted(request.destination)) --url' with the new one, or use --renew-command."
            }
            if (error as? DownloadError)?.code == .digestMismatch {
                failure.message +=
                    ". Compare the digest with the one at its source. With the right one, nothing is fetched again; "
                    + "--restart fetches the file again."
            }
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
        let again = checks.restart ? " without --restart" : ""
        switch plan {
        case nil:
            return CommandFailure(.interrupted, "interrupted before any data was received", isResumable: false)
        case .whole(let reason?) where reason == .notProved:
            // Samples are compared first.
            return CommandFailure(
                .interrupted, "interrupted; the adopted data is kept. Run the command again\(again) to continue.")
        case .range, .complete:
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

/// Arguments that are not URLs.
extension GetCommand {
    /// Returns what the user may have meant by an argument that is not a URL; empty if that is not clear.
    func advice(for text: String) -> String {
        if FileManager.default.fileExists(atPath: text) {
            let word = ShellWord.quoted(text)
            return ". There is a file '\(Printable.escaped(text))': to read URLs from it, use -i \(word); to write to "
                + "it, -o \(word)."
        }
        // Not shown, since it may be a password.
        return urls.count > 1 ? ". To name the file, use -o; a URL with spaces must be in quotes." : ""
    }
}
