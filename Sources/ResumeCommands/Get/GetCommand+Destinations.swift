import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

extension GetCommand {
    /// Whether the user has named the destination, or permits replacing any file.
    var mayReplace: Bool { files.output != nil || files.overwrite || files.from != nil }

    /// Creates the folder of --directory, or that of --output with --create-dirs, and the folders above it.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be created.
    func makeDirectory() throws {
        let output = Naming(files).path.flatMap { path in
            familiar.createsFolders && !writesToOutput ? path.lastIndex(of: "/").map { String(path[..<$0]) } : nil
        }
        guard let directory = output ?? files.directory, !directory.isEmpty else { return }
        for part in directory.parts(at: "/") {
            let made = directory[..<part.endIndex]
            guard !part.isEmpty, unsafe mkdir(String(made).systemPath, 0o777) != 0, errno != EEXIST else { continue }
            let reason = SystemError.reason(errno)
            throw CommandFailure(
                .cannotCreate, "cannot write to \(directory): the folder \(made) cannot be created: \(reason)")
        }
        guard (try? Folder.status(at: directory, 0))?.kind ?? .folder == .folder else {
            throw CommandFailure(
                .cannotCreate, "cannot write to \(directory): it is not a folder. Use --output (-o) to name a file.")
        }
    }

    /// Where `get` writes files.
    struct Naming {
        private let output: String?
        /// The folder with a slash; empty for the working directory.
        private let folder: String
        /// The name if a URL has none.
        private let other: String?

        init(_ files: Files) {
            output = files.output
            folder = files.directory.map { $0.hasSuffix("/") ? $0 : "\($0)/" } ?? ""
            other = files.remoteHeaderName ? "download" : nil
        }

        /// Returns the path to write to; nil if the URL contains no name for it.
        func path(for url: DownloadURL) -> String? { (output ?? url.lastPathComponent ?? other).map { folder + $0 } }

        /// The path that the user has named; nil if it depends on the URL.
        var path: String? { output.map { folder + $0 } }

        /// Whether the name that a URL of a list chooses is hidden, or one that other programs take for an option.
        ///
        /// Only the user may choose such a name, with -o.
        func isUnsafe(_ path: String) -> Bool {
            guard output == nil, let name = path.utf8.dropFirst(folder.utf8.count).first else { return false }
            return name == UInt8(ascii: ".") || name == UInt8(ascii: "-")
        }
    }
}

/// What other programs have left at the destinations of `get`.
extension GetCommand {
    /// Says how to continue what other programs have left beside the destinations.
    func mentionPartials(of items: [DownloadList.Item], _ context: CommandContext) {
        for item in items where files.from == nil && !writesToOutput {
            guard let (path, program) = ForeignPartial.beside(item.path) else { continue }
            context.say(
                "\(path) was left by \(program.rawValue); to continue it, run "
                    + "\(Hint.run("get", "--from", ShellWord.quoted(path))) and the URL")
        }
    }

    /// Returns what a download replaces at its destination.
    ///
    /// - Parameters:
    ///   - request: The request of the job.
    ///   - job: The job, which is claimed.
    /// - Returns: The file; none is found if there is nothing, or if the server names the file.
    func replaced(by request: DownloadRequest, of job: Job) -> ReplacedFile {
        ReplacedFile { [files] in
            guard !request.usesServerFilename else { return nil }
            if request.restarts, job.isInPlace || request.replacing == .own { return nil }
            if job.isInPlace {
                let isDamaged = request.digest != nil && request.digest == job.file?.digest
                return isDamaged ? .damaged : .version
            }
            switch (try? Destination(job.destination))?.found {
            case .file(let now): return .other(bytes: now.size, isForeign: job.file == nil && files.from == nil)
            // Nothing else but a link can be replaced.
            case .other: return .link
            default: return nil
            }
        }
    }

    /// What a download replaces, which is looked at by its events: the queue of a download may block.
    final class ReplacedFile: Sendable {
        private let look: @Sendable () -> GetReporter.Replaced?
        private let found = Mutex<GetReporter.Replaced?>(nil)

        init(_ look: @escaping @Sendable () -> GetReporter.Replaced?) { self.look = look }

        /// Returns the file at an event, the last time just before the delivery: it may have appeared or gone during the
        /// download.
        func found(at event: DownloadEvent) -> GetReporter.Replaced? {
            found.withLock { found in
                switch event {
                case .finished: break
                case .progress(let received, let total) where received != total: break
                default: found = look()
                }
                return found
            }
        }
    }
}
