import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// `get --output -`: the bytes of a file on standard output.
extension GetCommand {
    /// Whether the file is written to standard output.
    var writesToOutput: Bool { files.output == "-" || files.output == "/dev/stdout" || stream != nil }

    /// The path of a pipe or a device, to which the bytes are written as to standard output.
    var stream: String? {
        guard let path = files.output else { return nil }
        var status = stat()
        return unsafe stat(path.systemPath, &status) == 0 && Self.isStream(status) ? path : nil
    }

    private static func isStream(_ status: stat) -> Bool { [S_IFIFO, S_IFCHR].contains(status.st_mode & S_IFMT) }

    /// Returns the context of a download whose bytes go to a pipe or a device.
    func context(_ context: CommandContext, writingTo path: String) -> CommandContext {
        var context = context
        // Opened with the first byte, since that waits for a reader.
        let opened = Mutex<Int32?>(nil)
        context.outputWidth = nil
        context.bytes = { bytes in
            let file = opened.withLock { file in
                if let file { return file }
                let descriptor = unsafe open(path.systemPath, O_WRONLY | O_CLOEXEC)
                var status = stat()
                // Somebody may have put a link to another file in its place.
                guard descriptor != -1, unsafe fstat(descriptor, &status) == 0, Self.isStream(status) else {
                    if descriptor != -1 { (_, errno) = (close(descriptor), EINVAL) }
                    return -1
                }
                file = descriptor
                return descriptor
            }
            return file == -1 ? errno : CommandContext.put(bytes, to: file)
        }
        return context
    }

    /// Whether the bytes for standard output go through the store.
    var storesOutput: Bool { files.keep || files.hold || files.from != nil }

    /// Downloads a file and writes its bytes to standard output, in order, while they are received.
    ///
    /// The last byte is written when the whole file has been verified.
    ///
    /// - Parameters:
    ///   - list: The list with the file.
    ///   - first: The first part of the list.
    ///   - reporter: Reports events and failures.
    ///   - context: The streams.
    ///   - transport: Sends the requests.
    ///   - downloader: Stores the bytes; nil if nothing is stored.
    ///   - rates: The rate limits.
    /// - Throws: ``CommandFailure`` with the status of a failure that has been reported.
    func write(
        _ list: DownloadList, _ first: DownloadList.Part, _ reporter: GetReporter, _ context: CommandContext,
        over transport: any Transport, through downloader: Downloader? = nil, limiting rates: RateControl
    ) async throws {
        let programs = Programs(self.programs)
        let start = try await list.fetchChecksums(for: first, with: programs, limiting: rates, over: transport)
        guard let item = start.items.first else { return try reject(start, reporter) }
        var request = list.request(for: item)
        rates.limit(&request, 0)
        request.retryPolicy.time = longestWait(within: request.retryPolicy.time)
        try await programs.authorize(&request)
        request.destination = downloader.map { StandardOutput.path(in: $0.store.path) } ?? "standard output"
        reporter.start()
        reporter.begin(request, 0)
        let onEvent: @Sendable (DownloadEvent) -> Void = { [request] in reporter.report($0, of: request, 0) }
        var stream: DownloadStream?
        if let downloader {
            let folder = downloader.store.path
            _ = try await Blocking.run { StandardOutput.leftovers(in: folder, removing: true) }
            // It is downloaded like any other file, so that a lost connection or the end of this process costs nothing
            // until it is complete. Then it is delivered to a name in the store's folder, which is removed at once: the
            // stream reads on from the open file, and if the rest cannot be written, the next run fetches it again.
            request.isPassedOn = !files.hold
            stream = downloader.makeStream(request) { [path = request.destination] event in
                // The end is reported when it has been written.
                guard case .finished = event else { return onEvent(event) }
                _ = unsafe unlink(path.systemPath)
            }
        }
        do {
            let result = try await limitingTime(to: pace.maxTime?.duration, of: request.interruption) {
                [request, stream, holds = files.hold] in
                let write: @Sendable ([UInt8]) async throws -> Void = { piece in
                    try await output { context.bytes(piece) }
                }
                guard let stream else {
                    return try await request.pass(over: transport, onEvent: onEvent, to: write)
                }
                if holds {
                    // The bytes can be read after the delivery as well.
                    _ = try await withCancellation {
                        try await stream.value
                    } onCancel: {
                        stream.cancel()
                    }
                }
                for try await piece in stream { try await write(piece) }
                return try await stream.value
            }
            reporter.report(.finished(result), of: request, 0)
            reporter.completed(0)
        } catch {
            let end = (error as? CommandFailure)?.status
            if end == .io || end == .outputClosed {
                request.interruption?.set(.outputClosed)
            }
            stream?.cancel()
            // It needs the store until it has ended.
            let result = try? await stream?.value
            // As with head, the reader has all that it wants.
            if end == .outputClosed {
                reporter.finish(failed: 0)
                throw error
            }
            let isKept = stream != nil && result == nil
            let failure = Self.failure(error, keeping: isKept)
            let status = await report(failure, of: request, 0, with: downloader, reporter, keeping: isKept).status
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
    private func output(_ write: @escaping @Sendable () -> Int32) async throws {
        let (results, result) = AsyncStream.makeStream(of: Int32.self)
        Blocking.begin {
            result.yield(write())
            result.finish()
        }
        for await number in results {
            if number == EPIPE {
                throw CommandFailure(.outputClosed)
            }
            guard number == 0 else {
                let name = stream ?? "standard output"
                throw CommandFailure(.io, sentence("output-failed", name, SystemError.reason(number)))
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
        let isChanged = (error as? DownloadError)?.code == .representationChanged
        let isOwn = error is CommandFailure || error is CancellationError
        var failure = CommandFailure(error)
        // What is kept is said with the report.
        let isSaid = error is CancellationError || failure.reason == Reason.timeLimit.code
        guard isChanged || isOwn && !(isSaid && isKept) else { return error }
        if isOwn { failure.isResumable = isKept }
        let kept = isOwn && isKept ? "; the partial data is kept" : ""
        failure.message += sentence("advice-output", kept)
        return failure
    }
}
