internal import ResumeFiles
internal import ResumeHTTP
internal import Synchronization

/// A file that a download is to become.
public struct Destination: Sendable, Hashable {
    /// The folder.
    let folder: String
    /// The file's name in it.
    let name: String

    /// Whether a file that is there by the time of the delivery is replaced; if not, it stays, and the download as well.
    public var replaces = true

    /// The whole path.
    public var path: String { folder == "/" ? "/\(name)" : "\(folder)/\(name)" }

    /// Makes a destination and finds out whether files can be made in its folder; its own name may not be used.
    ///
    /// - Throws: ``StoreError`` with `destination`.
    package init(checkingFolderOf path: String) throws {
        try self.init(path)
        try check { _ in }
    }

    /// Makes a destination and finds out, before anything is fetched, whether it can be written.
    ///
    /// - Parameter path: An absolute path, or one relative to the working folder.
    /// - Throws: ``StoreError`` with `destination`: the folder is missing or cannot be written, or something that is
    ///   not a regular file has the name, or is what a link of that name leads to.
    public init(checking path: String) throws {
        try self.init(path)
        let destination = self
        try check { try destination.requireReplaceable(in: $0) }
    }

    /// Finds out whether a file may take the place of what has the name, if anything has.
    ///
    /// - Parameter open: The folder.
    /// - Throws: ``StoreError`` with `destination`, ``SystemError``
    func requireReplaceable(in open: Folder) throws {
        guard let status = try open.status(of: name), status.kind != .regular else { return }
        guard status.kind == .link, !Self.isLinkToOther(path) else {
            let what = status.kind == .folder ? "a folder" : "not a regular file"
            throw StoreError(
                .destination, "cannot write \(path): it is \(what)",
                advice: "Choose a file name; only regular files can be replaced.")
        }
    }

    /// Looks at the folder, and then whether files can be made in it.
    private func check(_ look: (Folder) throws -> Void) throws {
        do {
            let open = try Folder(folder, followsLinks: true)
            try look(open)
            // The only true test: permissions, read-only mounts and attributes all show.
            try open.probe()
        } catch let error as SystemError {
            let advice =
                error.isMissing
                ? "Create the folder first, or choose another one." : "Choose a location that this user may write to."
            throw StoreError(
                .destination, "cannot write \(self.path): \(error.description)", advice: advice, cause: error)
        }
    }

    /// Whether a link leads to something else than a regular file, as `/dev/stdout` does, whose place a download would take.
    ///
    /// One to a file is replaced, and so is one that leads nowhere; but not one that leads to a file by way of a
    /// process's open files.
    private static func isLinkToOther(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT != S_IFREG || isLinkToOpenFile(path)
    }

    private static func isLinkToOpenFile(_ path: String) -> Bool {
        let target = unsafe [CChar](unsafeUninitializedCapacity: 64) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            unsafe count = max(readlink(path, start, buffer.count), 0)
        }
        return target.starts(with: "/proc/".utf8.map { CChar(bitPattern: $0) })
    }

    /// Splits a path without looking at the disk.
    package init(_ path: String) throws(StoreError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw StoreError(.destination, "the destination is empty", advice: "Choose a file name.")
        }
        var absolute = path
        // By bytes: a name that begins with a combining mark would hide the slash before it.
        let slash = UInt8(ascii: "/")
        if path.utf8.first != slash {
            guard let working = unsafe getcwd(nil, 0) else {
                throw StoreError(.destination, "the working folder no longer exists", advice: "Use an absolute path.")
            }
            defer { unsafe free(working) }
            absolute = unsafe "\(String(cString: working))/\(path)"
        }
        guard let border = absolute.utf8.lastIndex(of: slash) else {
            throw StoreError(.destination, "cannot write \(path): it is not a file name", advice: "Choose a file name.")
        }
        let last = String(absolute[absolute.utf8.index(after: border)...])
        guard !last.isEmpty, last != ".", last != ".." else {
            throw StoreError(
                .destination, "cannot write \(path): it is a folder",
                advice: "Choose a file name in it.")
        }
        folder = border == absolute.startIndex ? "/" : String(absolute[..<border])
        name = last
    }

    /// What a server names, in the same folder and in place of no other file: whoever lets it do so does not mean to lose
    /// one of his own.
    ///
    /// - Parameter name: ``Representation/suggestedFilename``; nil where it has none, so that its own name counts.
    /// - Returns: That file.
    package func named(byServer name: String?) -> Destination { Destination(folder: folder, name: name ?? self.name) }

    private init(folder: String, name: String) {
        self.folder = folder
        self.name = name
        replaces = false
    }

    /// Finds out, before anything is given up for it, whether it may be written where it replaces nothing.
    ///
    /// - Throws: ``StoreError`` with `destinationExists`.
    package func requireFree() throws {
        let name = name
        try check { if try $0.status(of: name) != nil { throw isTaken } }
    }

    /// Whether nothing has the name.
    var isFree: Bool {
        var file = stat()
        return unsafe lstat(path, &file) != 0 && errno == ENOENT
    }

    /// The error of one that is not to be replaced.
    var isTaken: StoreError {
        StoreError(
            .destinationExists, "\(Printable.escaped(path)) already exists and is not replaced",
            advice: "Move it away, or choose another file name.",
            cause: SystemError(number: EEXIST, call: "rename", path: path))
    }

    /// The temporary name a blob's bytes have beside the destination until they are whole: always the same one for a
    /// blob, so that whoever finds it after a crash knows what it is.
    static func stagingName(for blob: BlobName) -> String { ".\(blob.fileName).resumectl" }
}

extension Folder {
    /// Finds out whether files can be made in it.
    ///
    /// Not again within a second: many downloads go to one folder, and what has changed meanwhile shows in the end.
    fileprivate func probe() throws(SystemError) {
        let identity = try file.status().identity
        if let last = Self.probed.withLock({ $0 }), last.folder == identity, .now - last.time < .seconds(1) { return }
        try makeFile()
        Self.probed.withLock { $0 = Probed(folder: identity, time: .now) }
    }

    private struct Probed {
        let folder: FileIdentity
        let time: ContinuousClock.Instant
    }

    /// The last folder that could be written to.
    private static let probed = Mutex<Probed?>(nil)

    /// Makes a file and removes it again.
    ///
    /// One without a name where the system has such files: nothing is left of it if the process dies in between.
    private func makeFile() throws(SystemError) {
        #if os(Linux)
        do {
            // O_TMPFILE, a macro that is not imported; it has this value on all processors that Swift knows.
            _ = try OpenFile(".", in: file, flags: O_WRONLY | O_DIRECTORY | 0o20000000)
            return
        } catch {
            guard [EOPNOTSUPP, EISDIR, EINVAL, ENOENT].contains(error.number) else { throw error }
        }
        #endif
        let name = ".\(BlobName().fileName).resumectl"
        _ = try OpenFile(name, in: file, flags: O_WRONLY | O_CREAT | O_EXCL)
        try remove(name)
    }
}
