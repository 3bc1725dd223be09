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
    /// when the whole file has been verified; ``DownloadStream`` says what else is guaranteed.
    ///
    /// - Throws: ``CommandFailure`` with the status of a failure that has been reported.
    func write(
        _ request: DownloadRequest, with downloader: Downloader, _ reporter: GetReporter, _ context: CommandContext
    ) async throws {
        var request = request
        request.destination = StandardOutput.path(in: downloader.store.path)
        reporter.start()
        reporter.begin(request, 0)
        if files.hold { return try await writeWhole(request, with: downloader, reporter, context) }
        let stream = downloader.makeStream(request) { [request] event in
            // The stream reads on from the open file, and the end is reported when it has been written.
            guard case .finished = event else { return reporter.report(event, of: request, 0) }
            try? FileManager.default.removeItem(atPath: request.destination)
        }
        do {
            let result = try await limitingTime {
                for try await piece in stream {
                    let number = try await Blocking.run { context.bytes(piece) }
                    guard number == 0 else { throw Self.outputFailure(number) }
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

    /// Writes a file that has been downloaded and verified as a whole (`--hold`).
    private func writeWhole(
        _ request: DownloadRequest, with downloader: Downloader, _ reporter: GetReporter, _ context: CommandContext
    ) async throws {
        do {
            let result = try await limitingTime {
                try await downloader.download(request) { event in
                    if case .finished = event { return }
                    reporter.report(event, of: request, 0)
                }
            }
            let number = try await Blocking.run { try Self.copy(result.path, to: context.bytes) }
            guard number == 0 else { throw Self.outputFailure(number) }
            reporter.report(.finished(result), of: request, 0)
        } catch {
            let status = await report(error, of: request, 0, with: downloader, reporter).status
            reporter.finish(failed: 1)
            throw CommandFailure(status)
        }
        reporter.finish(failed: 0)
    }

    /// Passes on the bytes of a file, and removes it.
    ///
    /// - Returns: The number of the error, or 0.
    /// - Throws: An error if it cannot be read.
    private static func copy(_ path: String, to write: ([UInt8]) -> Int32) throws -> Int32 {
        let file = try OpenFile(path, flags: O_RDONLY)
        // The name is not needed any more, whatever happens.
        unsafe unlink(path)
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var offset: Int64 = 0
        while true {
            let count = try unsafe buffer.withUnsafeMutableBytes { unsafe try file.read(into: $0, at: offset) }
            if count == 0 { return 0 }
            offset += Int64(count)
            let number = write(Array(buffer.prefix(count)))
            if number != 0 { return number }
        }
    }

    private static func outputFailure(_ number: Int32) -> CommandFailure {
        let reason = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
        return CommandFailure(
            .io,
            "cannot write to standard output: \(reason); the partial data is kept. Run the command again to start the "
                + "output from the first byte.")
    }
}
