internal import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeStore
internal import Synchronization

/// What other programs have left at the destinations of `get`.
extension GetCommand {
    /// Says how to continue what other programs have left beside the destinations.
    func mentionPartials(of items: [DownloadList.Item], _ context: CommandContext) {
        for item in items where files.from == nil && !writesToOutput {
            guard let (path, program) = ForeignPartial.beside(item.path) else { continue }
            context.say(
                "\(Printable.escaped(path)) was left by \(program.rawValue); to continue it, run 'resumectl get --from "
                    + "\(ShellWord.quoted(path))' and the URL")
        }
    }

    /// Returns what a download replaces at its destination.
    ///
    /// - Parameters:
    ///   - request: The request of the job.
    ///   - job: The job.
    ///   - isInPlace: Whether the file that it delivered before is there, unchanged.
    /// - Returns: The file; it has no value if there is nothing, or if the server names the file.
    func replaced(by request: DownloadRequest, of job: Job, isInPlace: Bool) -> ReplacedFile {
        let isForeign = job.file == nil && files.from == nil
        return ReplacedFile {
            guard !request.usesServerFilename else { return nil }
            if !request.restarts, isInPlace { return .version }
            var status = stat()
            guard unsafe lstat(job.destination, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            return .other(bytes: Int64(status.st_size), isForeign: isForeign)
        }
    }
}

/// What a download replaces, which is looked at by its first event: the queue of a download may block.
final class ReplacedFile: Sendable {
    private let look: @Sendable () -> Replaced?
    private let found = Mutex<Replaced??>(nil)

    init(_ look: @escaping @Sendable () -> Replaced?) { self.look = look }

    /// The file; nil if there is none.
    var value: Replaced? {
        found.withLock { found in
            let value = found ?? look()
            found = .some(value)
            return value
        }
    }

    /// Looks again before the delivery: the file may have appeared or gone during the download.
    func look(at event: DownloadEvent) {
        guard case .progress(let received, let total) = event, received == total else { return }
        found.withLock { $0 = nil }
    }
}
