import ResumeFiles
package import ResumeHTTP
import Synchronization

/// The destination file of a download.
package struct Destination: Sendable, Hashable {
    let folder: String
    /// The file's name in it.
    let name: String

    /// Whether an existing file is replaced; if not, the file and the complete download are both kept.
    package var replaces: Bool
    /// The only file that is replaced; nil for any.
    package var onlyReplaces: FileStamp?
    /// Whether the file is recorded before it gets its name, so that a later run recognizes it.
    package var isRecorded = false

    package let path: String

    /// Creates a destination and checks, before anything is fetched, that it can be written.
    ///
    /// - Parameters:
    ///   - path: An absolute path, or one relative to the working directory.
    ///   - checksName: Whether the name itself must be usable; otherwise only the folder.
    /// - Throws: ``StoreError`` with `destination` if the folder is missing or not writable, or if the path exists, or
    ///   is a link to something, that is not a regular file.
    package init(checking path: String, checksName: Bool = true) throws {
        try self.init(path)
        let destination = self
        try check { if checksName { try destination.requireReplaceable(over: $0()) } }
    }

    /// Returns the length of the file, or of the file that a link leads to; nil if there is none.
    package var existingBytes: Int64? { target.flatMap { $0.kind == .regular ? $0.size : nil } }

    /// Returns the status of what the name leads to; nil if there is nothing.
    private var target: FileStatus? { try? Folder.status(at: path, 0) }

    /// Returns the status of what has the name; nil if nothing does, or if it cannot be read.
    var status: FileStatus? { try? Folder.status(at: path) }

    /// Checks that a file may replace whatever has the name, if anything does.
    ///
    /// - Parameter status: What has the name.
    /// - Throws: ``StoreError`` with `destination`.
    func requireReplaceable(over status: FileStatus?) throws {
        guard let status else { return }
        if let only = onlyReplaces {
            guard only.isUnmodified(since: status.stamp) else { throw isRefused(.appeared) }
            return
        }
        if status.kind == .regular { return }
        // A link to a file may be replaced, as may a broken link; a download must not replace a link to anything else.
        guard status.kind == .link, target.map({ $0.kind == .regular && !isLinkToOpenFile }) ?? true else {
            let reason = status.kind == .folder ? Reason("is-folder", with: path) : Reason("is-special", with: path)
            throw StoreError(.destination, reason)
        }
    }

    /// Runs a check on what has the name, then checks that files can be created in the folder.
    ///
    /// That is not repeated within a second, since many downloads use the same folder, except for names that some file
    /// systems do not have. Later changes show at the delivery.
    private func check(_ look: (() throws -> FileStatus?) throws -> Void) throws {
        do {
            let isUsual = name.utf8.allSatisfy { $0 >= 0x20 && !#":?*"<>|\"#.utf8.contains($0) }
            if isUsual, let last = Self.probed.withLock({ $0 }), last.folder == folder, .now - last.time < .seconds(1) {
                return try look { try Folder.status(at: path) }
            }
            let open = try Folder(folder, followsLinks: true)
            try look { try open.status(of: name) }
            if open.isMounted(on: name) { return _ = try OpenFile(name, in: open.file, flags: O_WRONLY) }
            // The only reliable test: it fails for permissions, read-only mounts and file attributes alike.
            do {
                try open.makeFile(like: name)
                Self.probed.withLock { $0 = (folder, .now) }
            } catch {
                // The folder is there, so what is missing are such names.
                if error.isMissing { throw SystemError(number: EINVAL, call: error.call, path: path) }
                guard error.isRefused, isWrittenInPlace(in: open) else { throw error }
            }
        } catch let error as SystemError {
            let reason = Reason(Self.problem(of: error), with: self.path, error)
            throw StoreError(.destination, reason, cause: error)
        }
    }

    private static func problem(of error: SystemError) -> Reason.Code {
        switch error.number {
        case ENOENT: "no-folder"
        case EINVAL, EILSEQ, ENAMETOOLONG: "not-a-name-there"
        default: "not-writable"
        }
    }

    /// The last folder that was found to be writable.
    private static let probed = Mutex<(folder: String, time: ContinuousClock.Instant)?>(nil)

    /// Whether the link leads to a file through a process's open files, as `/dev/stdout` does.
    private var isLinkToOpenFile: Bool {
        let target = try? Folder.target(ofLink: path)
        return target?.utf8.starts(with: "/proc/".utf8) == true
    }

    /// Splits a path without accessing the disk.
    package init(_ path: String) throws(StoreError) {
        // Bytes, because a name that begins with a combining mark would hide the slash before it.
        var bytes = Array(path.utf8)
        guard !bytes.isEmpty, !bytes.contains(0) else {
            throw StoreError(.destination, "the destination is empty", advice: "Choose a file name.")
        }
        if bytes.first != .slash {
            guard let working = unsafe getcwd(nil, 0) else { throw StoreError(.destination, Reason("no-cwd")) }
            defer { unsafe free(working) }
            bytes = unsafe String(systemPath: working).utf8 + [.slash] + bytes
        }
        let border = bytes.lastIndex(of: .slash) ?? 0
        let last = bytes[(border + 1)...]
        guard !last.isEmpty, last.count > 2 || last.contains(where: { $0 != .dot }) else {
            throw StoreError(.destination, Reason("destination-above", with: path))
        }
        // Other spellings are the same path; ".." is not removed, since the folder before it may be a link.
        var start = bytes[..<border]
        let ends = zip(bytes, bytes.dropFirst())
        if border == 0 || ends.contains(where: { $0 == .slash && ($1 == .slash || $1 == .dot) }) {
            let parts = start.split(separator: .slash).filter { !$0.elementsEqual([.dot]) }
            start = ([.slash] + parts.joined(separator: [.slash]))[...]
        }
        self.init(
            folder: String(decoding: start, as: UTF8.self), name: String(decoding: last, as: UTF8.self),
            replaces: true)
    }

    /// Returns a destination in the same folder with the name that the server suggests.
    ///
    /// It replaces no existing file, since a server must not choose which of the user's files are overwritten.
    ///
    /// - Parameter name: ``Representation/suggestedFilename``; nil if there is none, so that the current name is kept.
    /// - Returns: The destination.
    package func named(byServer name: String?) -> Destination {
        Destination(folder: folder, name: name ?? self.name, replaces: false)
    }

    private init(folder: String, name: String, replaces: Bool) {
        self.folder = folder
        self.name = name
        self.replaces = replaces
        path = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
    }

    /// Checks, before anything is discarded for it, that a destination that replaces nothing is free.
    ///
    /// - Throws: ``StoreError`` with `destinationExists`.
    package func requireFree() throws {
        try check { if try $0() != nil { throw isTaken } }
    }

    /// Returns who may use the file, in the folder of the destination.
    func access(in folder: Folder) throws(SystemError) -> FileAccess {
        try FileAccess(to: name, in: folder, replaces: replaces)
    }

    /// Whether the bytes can only be written into the file that has the name: something is mounted on it, or files cannot
    /// be created beside it.
    func isWrittenInPlace(in folder: Folder) -> Bool {
        guard let status = try? folder.status(of: name), status.kind == .regular else { return false }
        if folder.isMounted(on: name) { return true }
        guard unsafe faccessat(folder.file.descriptor, name.systemPath, W_OK, AT_EACCESS) == 0 else {
            return false
        }
        do {
            try folder.makeFile()
            return false
        } catch {
            return error.isRefused
        }
    }

    /// The error for an existing file that must not be replaced.
    var isTaken: StoreError {
        let cause = SystemError(number: EEXIST, call: "rename", path: path)
        return StoreError(.destinationExists, Reason("taken", with: Printable.escaped(path)), cause: cause)
    }

    /// The error for an existing file that is not this program's.
    package func isRefused(_ refusal: NameDecision.Refusal) -> StoreError {
        let path = Printable.escaped(path)
        let rest = refusal.mayContinue ? sentence("may-be-part", ShellWord.quoted(path)) : ""
        let cause = SystemError(number: EEXIST, call: "rename", path: self.path)
        return StoreError(.destinationExists, Reason("not-replaced", with: path, refusal.text, rest), cause: cause)
    }

    /// Returns the temporary name of a blob's bytes beside the destination until they are complete.
    ///
    /// It is always the same for a blob, so that it can be recognized after a crash.
    static func stagingName(for blob: BlobName) -> String { ".\(blob.fileName).resumectl" }
}

extension Folder {
    /// Creates a file and removes it again.
    ///
    /// The file has no name if the system supports that, so that nothing is left if the process dies in between. File
    /// systems that support it have all names that others have.
    ///
    /// - Parameter name: A name that its own one contains.
    /// - Throws: ``SystemError``
    fileprivate func makeFile(like name: String = "") throws(SystemError) {
        #if os(Linux)
        do {
            // O_TMPFILE, a macro that is not imported; it has this value on all processors that Swift supports.
            _ = try OpenFile(".", in: file, flags: O_WRONLY | O_DIRECTORY | 0o20000000)
            return
        } catch {
            guard [EOPNOTSUPP, EISDIR, EINVAL, ENOENT].contains(error.number) else { throw error }
        }
        #endif
        let like = name.utf8.count > 150 ? "" : name
        let name = ".\(BlobName().fileName).\(like).resumectl"
        _ = try OpenFile(name, in: file, flags: O_WRONLY | O_CREAT | O_EXCL, isFixed: false)
        try remove(name)
    }
}
