internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeStore

extension GetCommand {
    /// Returns all downloads with their destinations.
    ///
    /// - Throws: ``CommandFailure`` if an argument is not a URL, before anything is downloaded. Lines of the input file
    ///   that are not are listed.
    func list(_ context: CommandContext) throws -> DownloadList {
        var list = DownloadList(renames: files.autoRename)
        let known = Known(
            checksums: try checks.checksums.map(Checksums.init), netrc: try familiar.netrc(context.environment))
        for (index, text) in urls.enumerated() { try add(text, at: .argument(index), to: &list, known, context) }
        for line in try files.inputFile.map(InputFile.lines) ?? [] {
            do {
                try add(line.text, at: .line(line.number), to: &list, known, context)
            } catch {
                list.reject(because: CommandFailure(.refused, error.message))
            }
        }
        return list
    }

    /// What files tell about downloads.
    private struct Known {
        let checksums: Checksums?
        let netrc: Netrc?
    }

    private func add(
        _ text: String?, at position: DownloadList.Position, to list: inout DownloadList, _ known: Known,
        _ context: CommandContext
    ) throws(CommandFailure) {
        let place = shown(position, context)
        guard let text else { throw CommandFailure(.usage, "\(place): not in UTF-8") }
        let url: DownloadURL
        do {
            url = try TypedURL.parse(text)
        } catch {
            throw CommandFailure(.usage, "\(place): \(Redaction.problem(error, with: text))")
        }
        guard let path = path(for: url) else {
            throw CommandFailure(
                .usage, "\(place): \(Redaction.url(url)) does not contain a file name. Specify one with --output.")
        }
        let digest: HTTPDigest?
        do {
            digest = try known.checksums?.digest(of: url)
        } catch {
            throw CommandFailure(error.status, "\(place): \(error.message)")
        }
        list.add(
            DownloadList.Item(
                url: url, path: path, position: position, digest: digest,
                authorization: requests.setsAuthorization ? nil : known.netrc?.authorization(for: url)),
            isNamedByServer: files.remoteHeaderName)
    }

    private func shown(_ position: DownloadList.Position, _ context: CommandContext) -> String {
        switch position {
        case .argument(let index): context.position(of: urls[index])
        case .line(let number): "\(Printable.escaped(files.inputFile ?? "")), line \(number)"
        }
    }

    /// Returns the error of a download whose file is that of another one.
    func error(for clash: DownloadList.Clash, _ context: CommandContext) -> StoreError {
        let (place, first) = (shown(clash.item.position, context), shown(clash.first, context))
        return StoreError(
            .destination,
            "\(place): would be written to \(clash.item.path), as would the URL of \(first); not downloaded",
            advice: "Use --auto-rename, or download it with --output.")
    }

    /// Returns the path to write to; nil if the URL contains no name for it.
    private func path(for url: DownloadURL) -> String? {
        (files.output ?? url.lastPathComponent ?? (files.remoteHeaderName ? "download" : nil)).map(inDirectory)
    }

    private func inDirectory(_ name: String) -> String {
        files.directory.map { $0.hasSuffix("/") ? "\($0)\(name)" : "\($0)/\(name)" } ?? name
    }

    /// Creates the folder of --directory, and the folders above it.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be created.
    func makeDirectory() throws {
        guard let directory = files.directory else { return }
        for part in directory.split(separator: "/", omittingEmptySubsequences: false) {
            let made = directory[..<part.endIndex]
            guard !part.isEmpty, unsafe mkdir(String(made), 0o777) != 0, errno != EEXIST else { continue }
            let reason = unsafe strerror(errno).map { ": " + (unsafe String(cString: $0)) } ?? ""
            throw CommandFailure(
                .cannotCreate, "cannot write to \(directory): the folder \(made) cannot be created\(reason)")
        }
        var status = stat()
        guard unsafe stat(directory, &status) != 0 || status.st_mode & S_IFMT == S_IFDIR else {
            throw CommandFailure(
                .cannotCreate, "cannot write to \(directory): it is not a folder. Use --output (-o) to name a file.")
        }
    }
}
