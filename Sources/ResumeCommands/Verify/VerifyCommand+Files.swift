import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore

/// Files in place, which are read and compared with a digest, without a network.
extension VerifyCommand {
    /// What became of files that were compared.
    struct Comparison {
        /// How many have another digest, or cannot be read.
        var wrong = 0
        /// How many are not there.
        var missing = 0
        /// How many have no line in the list.
        var unlisted = 0

        static func files(_ count: Int, _ one: String, _ many: String) -> String {
            count == 1 ? "1 file \(one)" : "\(count) files \(many)"
        }

        /// Throws if files were wrong.
        func finish() throws {
            if wrong > 0 {
                let them = wrong == 1 ? "it again with its checksum" : "them again with their checksums"
                let reason = sentence("files-damaged", Self.files(wrong, "does", "do"), them, Hint.run("get"))
                throw CommandFailure(.damaged, reason)
            }
            if missing > 0 { throw CommandFailure(.notFound, Self.files(missing, "is", "are") + " not there") }
            if unlisted > 0 { throw CommandFailure(.refused, Self.files(unlisted, "was", "were") + " not compared") }
        }
    }

    /// Compares a file with the digest that is given, or files and those in folders with their lines in a list.
    func compareFiles(_ context: CommandContext) async throws {
        let list = try await Blocking.run { [checksums] in try checksums.map { try Checksums(path: $0) } }
        let own = try checksums.map { try Destination($0).path }
        var comparison = Comparison()
        var folders: [String] = []
        var paths: [String] = []
        for name in entries {
            let found = try await Blocking.run { try StoreError.wrapping { try Self.files(below: name) } }
            if let found, found.isEmpty { throw CommandFailure(.notFound, "\(name) contains no files") }
            if found != nil { folders.append(name) }
            guard folders.isEmpty || digests.digest == nil else { throw CommandFailure(.usage, sentence("verify-one")) }
            var unlisted: [String] = []
            for file in found ?? [name] {
                let place = try Destination(file)
                if found != nil, place.path == own { continue }
                paths.append(place.path)
                do {
                    guard let digest = try digests.digest ?? list?.digest(ofPath: place.path) else { continue }
                    try await compare(place.path, with: digest, in: &comparison, context)
                } catch let error as CommandFailure where error.reason == Checksums.missing {
                    let isMissing = place.found == .nothing
                    if isMissing { comparison.missing += 1 }
                    unlisted.append(isMissing ? sentence("verify-nowhere", name) : error.message)
                }
            }
            for line in unlisted.prefix(3) {
                context.say(line)
            }
            if unlisted.count > 3 {
                context.say("and \(unlisted.count - 3) more")
            }
            // A folder may hold other files as well, such as the list.
            if unlisted.count == found?.count ?? 1 { comparison.unlisted += unlisted.count }
        }
        let missing = folders.isEmpty ? [] : list?.missing(among: paths) ?? []
        if !missing.isEmpty {
            comparison.missing += missing.count
            let names = missing.prefix(3).map(Printable.escaped) + (missing.count > 3 ? ["…"] : [])
            let of = "of \(checksums ?? "")"
            let files = Comparison.files(missing.count, "\(of) is", "\(of) are")
            context.say("\(files) not in \(folders.joined(separator: ", ")): \(names.joined(separator: ", "))")
        }
        try comparison.finish()
    }

    /// Returns the files in a folder and below it, in order; nil if there is no folder.
    ///
    /// Links below it are not followed.
    private static func files(below path: String) throws -> [String]? {
        guard (try? Folder.status(at: path, 0))?.kind == .folder else { return nil }
        var files: [String] = []
        var folders = [path]
        while let next = folders.popLast() {
            let folder = try Folder(next, followsLinks: true)
            for name in try folder.names() {
                switch try folder.status(of: name)?.kind {
                case .regular: files.append(folder.path(of: name))
                case .folder: folders.append(folder.path(of: name))
                default: break
                }
            }
        }
        return files.sorted()
    }

    /// Compares a file, and records that it is right if the digest proves that.
    func compare(
        _ path: String, with digest: HTTPDigest, in comparison: inout Comparison, _ context: CommandContext
    ) async throws {
        let place = try Destination(path)
        let read = try await read(place, digest.algorithm, context)
        let isRight = read?.digest == digest
        let isMissing = read == nil && place.found == .nothing
        if json {
            let found = read?.digest?.hexadecimal
            context.print(digest.members.adding(["path": path, "right": isRight, "found": found]))
        } else {
            let problem = isMissing ? "is not there" : "cannot be read, or is not a file"
            let result =
                isRight
                ? "\(digest.algorithm.rawValue.uppercased()) verified"
                : read?.digest.map { "expected \(digest.hexadecimal), found \($0.hexadecimal)" } ?? problem
            context.print("\(path): \(result)")
        }
        if isMissing {
            comparison.missing += 1
        } else if !isRight {
            comparison.wrong += 1
        }
        guard isRight, digest.isProof, let read else { return }
        _ = try? await context.withExistingStore(storeOptions) { store in
            guard let (record, known) = try await store.delivered(named: path) else { return }
            var file = known
            file.stamp = read.stamp
            file.digest = digest
            file.checkedAt = WallClock.milliseconds
            try await DeliveryRecords(of: store).renew(file, at: path, from: record.url)
        }
    }

    /// Reads a file, with a line of progress if it is large.
    private func read(
        _ place: Destination, _ algorithm: HTTPDigest.Algorithm, _ context: CommandContext
    ) async throws -> (digest: HTTPDigest?, stamp: FileStamp)? {
        guard case .file(let now) = place.found, now.size >= NameDecision.comparedWhole, !json else {
            return try await place.digest(algorithm)
        }
        let display = ProgressDisplay(
            ProgressState(stallTimeout: .zero), linesEvery: context.terminalSize() == nil ? .seconds(30) : nil,
            size: context.terminalSize, write: context.errors)
        // A file that is read to its end is not saved.
        let show = { @Sendable (bytes: Int64) in
            let event = DownloadEvent.progress(receivedBytes: min(bytes, now.size - 1), totalBytes: now.size)
            display.update { _ = $0.take(event, of: 0) }
        }
        display.update { $0.begin(0, named: Printable.escaped(place.path.pieces(at: "/").last ?? "")) }
        show(0)
        display.start()
        defer { display.finish() }
        return try await place.digest(algorithm, onRead: show)
    }

    /// Throws what to type if a name is that of a file or a folder.
    static func requireNoFile(_ name: String) async throws {
        let kind = try await Blocking.run { (try? Folder.status(at: name, 0))?.kind }
        guard kind == .regular || kind == .folder else { return }
        let word = ShellWord.quoted(name)
        let list = Hint.run("verify", "\(word) --checksums LIST")
        if kind == .folder { throw CommandFailure(.notFound, sentence("verify-folder", name, list)) }
        let digest = Hint.run("verify", "\(word) --sha256 HEX")
        throw CommandFailure(.notFound, sentence("verify-file", name, digest, list))
    }
}
