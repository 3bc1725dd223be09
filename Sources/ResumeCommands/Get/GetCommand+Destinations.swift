internal import ResumeFiles
internal import ResumeHTTP

/// Where `get` writes files.
extension GetCommand {
    /// Returns the path to write to; nil if the URL contains no name for it.
    func path(for url: DownloadURL) -> String? {
        (files.output ?? url.lastPathComponent ?? (files.remoteHeaderName ? "download" : nil)).map(inDirectory)
    }

    /// Whether the name that a URL of a list chooses is hidden, or one that other programs take for an option.
    ///
    /// Only the user may choose such a name, with -o.
    func isUnsafeName(of url: DownloadURL) -> Bool {
        guard files.output == nil, let name = url.lastPathComponent?.utf8.first else { return false }
        return name == UInt8(ascii: ".") || name == UInt8(ascii: "-")
    }

    /// Whether the user has named the destination, or permits replacing any file.
    var mayReplace: Bool { files.output != nil || files.overwrite || files.from != nil }

    private func inDirectory(_ name: String) -> String {
        files.directory.map { $0.hasSuffix("/") ? "\($0)\(name)" : "\($0)/\(name)" } ?? name
    }

    /// Creates the folder of --directory, or that of --output with --create-dirs, and the folders above it.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be created.
    func makeDirectory() throws {
        let output = files.output.map(inDirectory).flatMap { path in
            familiar.createsFolders && !writesToOutput ? path.lastIndex(of: "/").map { String(path[..<$0]) } : nil
        }
        guard let directory = output ?? files.directory, !directory.isEmpty else { return }
        for part in directory.split(separator: "/", omittingEmptySubsequences: false) {
            let made = directory[..<part.endIndex]
            guard !part.isEmpty, unsafe mkdir(String(made), 0o777) != 0, errno != EEXIST else { continue }
            let reason = SystemError.reason(errno)
            throw CommandFailure(
                .cannotCreate, "cannot write to \(directory): the folder \(made) cannot be created: \(reason)")
        }
        var status = stat()
        guard unsafe stat(directory, &status) != 0 || status.st_mode & S_IFMT == S_IFDIR else {
            throw CommandFailure(
                .cannotCreate, "cannot write to \(directory): it is not a folder. Use --output (-o) to name a file.")
        }
    }
}
