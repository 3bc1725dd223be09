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

    /// Returns the size of the file that a download replaces, if this store has not delivered it; nil if there is none.
    ///
    /// curl and wget write the beginning of a file under its name, so that only its length shows that it is not whole.
    func replacedSize(by request: DownloadRequest, of job: Job) -> Int64? {
        guard job.file == nil, files.from == nil, !request.usesServerFilename else { return nil }
        var status = stat()
        guard unsafe lstat(job.destination, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            return nil
        }
        return Int64(status.st_size)
    }
}

extension GetReporter {
    /// Says how to continue a file at the destination, if a download that starts may be the rest of it.
    ///
    /// - Parameters:
    ///   - size: The size of the file at the destination.
    ///   - event: An event of the download.
    ///   - request: The download.
    func mentionReplaced(_ size: Int64?, at event: DownloadEvent, of request: DownloadRequest) {
        guard case .started(let total?) = event, let size, size < total else { return }
        let name = Printable.escaped(request.destination)
        note(
            "\(name): replaces a file of \(ByteCount.text(size)) when it is complete. If curl or wget has left that, press "
                + "Ctrl-C and run 'resumectl get --restart --from \(name)' with the URL.")
    }
}
