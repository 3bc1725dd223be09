#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeDownload
internal import ResumeFiles
internal import ResumeStore

/// `get --output -`: the bytes of a file on standard output.
extension GetCommand {
    /// Whether the file is written to standard output.
    var writesToOutput: Bool { files.output == "-" }

    /// Downloads a file and writes its bytes to standard output, in order, while they are received.
    ///
    /// The download goes through the store like any other one, so that a lost connection or the end of this process
    /// costs nothing. It is delivered to a name in the store's folder, which is removed at once. The last byte is written
    /// when the whole file has been verified, and with --hold, so is the first; ``DownloadStream`` says what else is
    /// guaranteed.
    ///
    /// - Throws: ``CommandFailure`` with the status of a failure that has been reported.
    func write(
        _ request: DownloadRequest, with downloader: Downloader, _ reporter: GetReporter, _ context: CommandContext
    ) async throws {
        var request = request
        StandardOutput.removeLeftovers(in: downloader.store.path)
        request.destination = StandardOutput.path(in: downloader.store.path)
        reporter.start()
        reporter.begin(request, 0)
        let stream = downloader.makeStream(request) { [request] event in
            // The stream reads on from the open file, and the end is reported when it has been written.
            guard case .finished = event else { return reporter.report(event, of: request, 0) }
            try? FileManager.default.removeItem(atPath: request.destination)
        }
        do {
            let result = try await limitingTime { [files] in
                // The bytes can be read after the delivery as well.
                if files.hold { _ = try await stream.value }
                for try await piece in stream {
                    try await Self.output(keeping: !files.hold) { context.bytes(piece) }
                }
                return try await stream.value
            }
            reporter.report(.finished(result), of: request, 0)
        } catch {
            stream.cancel()
            // Until it has ended, it needs the store.
            _ = try? await stream.value
            let status = await report(error, of: request, 0, with: downloader, reporter).status
            reporter.finish(failed: 1)
            throw CommandFailure(status)
        }
        reporter.finish(failed: 0)
    }

    /// Waits until bytes have been written, or the task is cancelled.
    ///
    /// A write to a pipe that nobody reads cannot be ended. Its thread is left behind, and ends with the program.
    ///
    /// - Parameters:
    ///   - isKept: Whether the store still has the bytes of the file.
    ///   - write: Writes the bytes, and returns the number of an error, or 0.
    /// - Throws: ``CommandFailure`` if they cannot be written; `CancellationError`.
    private static func output(keeping isKept: Bool, _ write: @escaping @Sendable () -> Int32) async throws {
        let (results, result) = AsyncStream.makeStream(of: Int32.self)
        Blocking.begin {
            result.yield(write())
            result.finish()
        }
        for await number in results {
            guard number == 0 else { throw outputFailure(number, keeping: isKept) }
            return
        }
        throw CancellationError()
    }

    private static func outputFailure(_ number: Int32, keeping isKept: Bool) -> CommandFailure {
        let rest = isKept ? "; the partial data is kept" : ""
        return CommandFailure(
            .io,
            "cannot write to standard output: \(SystemError.reason(number))\(rest). Run the command again to start the "
                + "output from the first byte.")
    }
}
