#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeStore

/// `get --output -`: the bytes of a file on standard output.
extension GetCommand {
    /// Whether the file is written to standard output.
    var writesToOutput: Bool { files.output == "-" }

    /// Downloads a file and writes its bytes to standard output, in order, while they are received.
    ///
    /// The download goes through the store like any other one, so that a lost connection or the end of this process
    /// costs nothing until it is complete. Then it is delivered to a name in the store's folder, which is removed at
    /// once: if the rest cannot be written, the next run fetches the file again. The last byte is written
    /// when the whole file has been verified, and with --hold, so is the first; ``DownloadStream`` says what else is
    /// guaranteed.
    ///
    /// - Throws: ``CommandFailure`` with the status of a failure that has been reported.
    func write(
        _ request: DownloadRequest, with downloader: Downloader, _ reporter: GetReporter, _ context: CommandContext
    ) async throws {
        var request = request
        let store = downloader.store.path
        _ = try await Blocking.run { StandardOutput.removeLeftovers(in: store) }
        request.destination = StandardOutput.path(in: store)
        reporter.start()
        reporter.begin(request, 0)
        let stream = downloader.makeStream(request) { [request] event in
            // The stream reads on from the open file, and the end is reported when it has been written.
            guard case .finished = event else { return reporter.report(event, of: request, 0) }
            try? FileManager.default.removeItem(atPath: request.destination)
        }
        do {
            let result = try await limitingTime(of: request.interruption) { [files] in
                // The bytes can be read after the delivery as well.
                if files.hold {
                    _ = try await withCancellation {
                        try await stream.value
                    } onCancel: {
                        stream.cancel()
                    }
                }
                for try await piece in stream { try await Self.output { context.bytes(piece) } }
                return try await stream.value
            }
            reporter.report(.finished(result), of: request, 0)
        } catch {
            if (error as? CommandFailure)?.status == .io { request.interruption?.set(.outputClosed) }
            stream.cancel()
            // Until it has ended, it needs the store.
            let isComplete = (try? await stream.value) != nil
            let failure = Self.failure(error, keeping: !isComplete)
            let status = await report(failure, of: request, 0, with: downloader, reporter, keeping: !isComplete).status
            reporter.finish(failed: 1)
            throw CommandFailure(status)
        }
        reporter.finish(failed: 0)
    }

    /// Waits until bytes have been written, or the task is cancelled.
    ///
    /// A write to a pipe that nobody reads cannot be ended. Its thread is left behind, and ends with the program.
    ///
    /// - Parameter write: Writes the bytes, and returns the number of an error, or 0.
    /// - Throws: ``CommandFailure`` if they cannot be written; `CancellationError`.
    private static func output(_ write: @escaping @Sendable () -> Int32) async throws {
        let (results, result) = AsyncStream.makeStream(of: Int32.self)
        Blocking.begin {
            result.yield(write())
            result.finish()
        }
        for await number in results {
            guard number == 0 else {
                throw CommandFailure(.io, "cannot write to standard output: \(SystemError.reason(number))")
            }
            return
        }
        throw CancellationError()
    }

    /// Returns the error of an output with what the next run can do.
    ///
    /// - Parameters:
    ///   - error: The error of the download, of the output, or of --max-time.
    ///   - isKept: Whether the store still has the bytes of the file.
    /// - Returns: The error to report.
    private static func failure(_ error: any Error, keeping isKept: Bool) -> any Error {
        var failure: CommandFailure
        switch error {
        // What is kept is said with the report.
        case let known as CommandFailure where known.reason == Reason.timeLimit.code.rawValue && isKept: return known
        case let known as CommandFailure: failure = known
        case is CancellationError where !isKept: failure = CommandFailure(error)
        default: return error
        }
        let kept = isKept ? "; the partial data is kept" : ""
        failure.message += "\(kept). Run the command again to start the output from the first byte."
        failure.isResumable = isKept
        return failure
    }
}
