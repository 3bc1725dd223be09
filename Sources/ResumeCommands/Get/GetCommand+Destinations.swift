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
            familiar.createsFolders && !writesToOutput
                ? path.utf8.lastIndex(of: .slash).map { String(path[..<$0]) } : nil
        }
        guard let directory = output ?? files.directory, !directory.isEmpty else { return }
        try Self.makeFolder(directory)
        guard (try? Folder.status(at: directory, 0))?.kind ?? .folder == .folder else {
            throw CommandFailure(.cannotCreate, sentence("folder-is-file", directory))
        }
    }

    /// Creates a folder and those above it.
    ///
    /// - Throws: ``CommandFailure``
    static func makeFolder(_ directory: String) throws {
        // Bytes, because a name that begins with a combining mark would hide the slash before it.
        for part in directory.utf8.parts(at: .slash) {
            let made = String(Substring(directory.utf8[..<part.endIndex]))
            guard !part.isEmpty, unsafe mkdir(made.systemPath, 0o777) != 0, errno != EEXIST else { continue }
            let reason = Reason("folder-not-created", with: directory, made, SystemError.reason(errno))
            throw CommandFailure(.cannotCreate, reason.text)
        }
    }

    /// Where `get` writes files.
    struct Naming {
        private let output: String?
        /// The folder with a slash; empty for the working directory.
        private let folder: String
        /// The name if a URL has none.
        private let other: String?
        private let followsLinks: Bool

        init(_ files: Files) {
            followsLinks = files.followLinks
            output = files.output
            folder = files.directory.map { $0.hasSuffix("/") ? $0 : "\($0)/" } ?? ""
            other = files.remoteHeaderName ? "download" : nil
        }

        /// Returns the path in ``folder(named:)`` to write to; nil if there is no name for it.
        func path(for url: DownloadURL, named name: String? = nil) -> String? {
            output ?? name ?? url.lastPathComponent ?? other
        }

        /// Returns the folder with a slash, or one in it that a list names; empty for the working directory.
        func folder(named name: String? = nil) -> String {
            guard let name else { return folder }
            return name.utf8.first == .slash ? "\(name)/" : "\(folder)\(name)/"
        }

        /// The path that the user has named; nil if it depends on the URL.
        var path: String? { output.map { followed(folder + $0) } }

        /// Returns what a path leads to with --follow-links, if it is a link.
        func followed(_ path: String) -> String {
            guard followsLinks, (try? Folder.status(at: path))?.kind == .link,
                let found = unsafe realpath(path.systemPath, nil)
            else { return path }
            defer { unsafe free(found) }
            return unsafe String(systemPath: found)
        }

        /// Whether the name that a URL of a list chooses is hidden, or one that other programs take for an option.
        ///
        /// Only the user may choose such a name, with -o.
        func isUnsafe(_ path: String) -> Bool {
            let first = path.utf8.split(separator: .slash).last?.first
            return output == nil && (first == .dot || first == UInt8(ascii: "-"))
        }
    }
}

/// What is at the destinations of `get`.
extension GetCommand {
    /// Says which links are replaced, and how to continue what other programs have left beside the destinations.
    func mentionPartials(of items: [DownloadList.Item], _ context: CommandContext) {
        guard files.from == nil, !writesToOutput else { return }
        for item in items {
            if mayReplace, !files.skipExisting, (try? Folder.status(at: item.path))?.kind == .link {
                context.say(sentence("link-replaced", item.path))
            }
            guard let (path, program) = ForeignPartial.beside(item.path) else { continue }
            let command = Hint.run("get", "--from", ShellWord.quoted(path))
            context.say(sentence("partial-left", path, program.rawValue, command))
        }
    }

    /// Returns what a download replaces at its destination.
    ///
    /// - Parameters:
    ///   - request: The request of the job.
    ///   - job: The job, which is claimed.
    ///   - record: What is recorded of the destination, if any file may be replaced there.
    /// - Returns: The file; none is found if there is nothing, or if the server names the file.
    func replaced(by request: DownloadRequest, of job: Job, _ record: DeliveryRecord?) -> ReplacedFile {
        ReplacedFile { [files] in
            guard !request.usesServerFilename else { return nil }
            if request.restarts, job.isInPlace || request.replacing == .own { return nil }
            if job.isInPlace {
                let isDamaged = request.digest != nil && request.digest == job.file?.digest
                return isDamaged ? .damaged : .version
            }
            let place = try? Destination(job.destination)
            switch place?.found {
            case .file(let now):
                // A file that the user permitted to be replaced has no time of delivery.
                let own = place.flatMap { record?.own(now, at: $0, for: job.url) }?.deliveredAt ?? -1
                let isOwn = own >= 0 || job.file != nil || request.replacing == .own || files.from != nil
                return .other(bytes: now.size, isForeign: !isOwn)
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
