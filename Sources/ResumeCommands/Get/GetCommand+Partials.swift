internal import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeStore

/// What other programs have left at the destinations of `get`.
extension GetCommand {
    /// Says how to continue what other programs have left beside the destinations.
    func mentionPartials(of items: [DownloadList.Item], _ context: CommandContext) {
        for item in items where files.from == nil && !writesToOutput {
            guard let (path, program) = ForeignPartial.beside(item.path) else { continue }
            let shown = Printable.escaped(path)
            context.say(
                "\(shown) was left by \(program.rawValue); to continue it, run 'resumectl get --from \(shown)' and the URL"
            )
        }
    }

    /// Finds what a download replaces at its destination.
    ///
    /// - Parameters:
    ///   - request: The request of the job.
    ///   - job: The job.
    ///   - isInPlace: Whether the file that it delivered before is there, unchanged.
    /// - Returns: nil if there is nothing, or if the server names the file.
    func replaced(by request: DownloadRequest, of job: Job, isInPlace: Bool) -> Replaced? {
        guard !request.usesServerFilename else { return nil }
        if !request.restarts, isInPlace { return .version }
        var status = stat()
        guard unsafe lstat(job.destination, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return .other(bytes: Int64(status.st_size), isForeign: job.file == nil && files.from == nil)
    }
}
