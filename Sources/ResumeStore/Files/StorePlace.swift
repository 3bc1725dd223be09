package import ResumeFiles
import ResumeHTTP

/// The way to the folder of a store: the folders and symbolic links through which the system finds it.
///
/// SQLite opens files by path after they were checked, so nobody else may be able to change one of them.
package struct StorePlace {
    /// The path of the store, as it was given.
    let store: String
    /// Whether the user allows others to use, own or replace the store.
    let isShared: Bool
    /// The path as far as it exists, without symbolic links, which SQLite does not follow.
    package private(set) var path = ""
    /// Why the place is not safe; nil if it is.
    package private(set) var objection: StoreError?
    /// The names that do not exist.
    private var missing: ArraySlice<String> = []

    /// Follows the path of a store from the root, so that a part is checked before what others could put in it.
    ///
    /// - Throws: ``SystemError``.
    package init(of store: String, isShared: Bool) throws(SystemError) {
        self.store = store
        self.isShared = isShared
        var rest = try Self.names(store)[...]
        var links = 0
        var endsInLink = false
        if !rest.isEmpty { try check("/") }
        while let name = rest.popFirst() {
            guard missing.isEmpty else {
                if name == ".." { missing.removeLast() } else { missing.append(name) }
                continue
            }
            let next = "\(path)/\(name)"
            if name == ".." {
                // It has no links any more.
                path = Self.path(of: Self.split(path).dropLast())
                continue
            }
            switch try check(next, isLast: rest.isEmpty) {
            case nil:
                missing.append(name)
            case .link:
                links += 1
                endsInLink = endsInLink || rest.isEmpty
                // As many as in Linux.
                guard links <= 40 else {
                    throw SystemError(number: ELOOP, call: "open", path: store)
                }
                let target = try Folder.target(ofLink: next)
                if target.utf8.first == .slash { path = "" }
                rest = Self.split(target) + rest
            default:
                path = next
            }
        }
        // A store is not created where a link leads.
        if endsInLink, !missing.isEmpty { throw SystemError(number: ELOOP, call: "open", path: store) }
    }

    /// Returns the names of an absolute path, or of one in the working folder.
    private static func names(_ path: String) throws(SystemError) -> [String] {
        guard !path.isEmpty else { throw SystemError(number: ENOENT, call: "open", path: path) }
        if path.utf8.first == .slash { return split(path) }
        guard let working = unsafe getcwd(nil, 0) else {
            throw SystemError(number: errno, call: "getcwd", path: path)
        }
        defer { unsafe free(working) }
        return split(unsafe String(systemPath: working)) + split(path)
    }

    /// By bytes, since a combining mark may follow a slash.
    private static func split(_ path: String) -> [String] {
        let parts = path.utf8.split(separator: .slash)
        return parts.map { String(Substring($0)) }.filter { $0 != "." }
    }

    private static func path(of names: some Sequence<String>) -> String {
        names.map { "/\($0)" }.joined()
    }

    /// Creates the missing folders, of which only the last one may be shared.
    ///
    /// - Throws: ``SystemError``
    func create() throws(SystemError) {
        var (path, rest) = (path, missing)
        while let name = rest.popFirst() {
            path += "/\(name)"
            try Folder.create(path, isShared: isShared && rest.isEmpty)
        }
    }

    /// Opens the folder of the store.
    ///
    /// One that only this user may write to is private whatever the user allows, so that its files do not change.
    ///
    /// - Throws: ``SystemError``
    package func open() throws(SystemError) -> Folder {
        let status = try Folder.status(at: folder)
        let isPrivate = status?.owner == geteuid() && (status?.permissions ?? 0) & 0o022 == 0
        return try Folder(folder, as: store, isShared: isShared && !isPrivate)
    }

    /// The path of the deepest folder that exists.
    var folder: String { path.isEmpty ? "/" : path }

    /// Whether nothing is missing.
    package var isThere: Bool { missing.isEmpty }

    /// Checks that missing folders can be created, without creating any.
    ///
    /// - Throws: ``SystemError``
    package func requireCreatable() throws(SystemError) {
        let shown = path + Self.path(of: missing.prefix(1))
        try SystemError.check("mkdir", shown) {
            unsafe faccessat(AT_FDCWD, folder.systemPath, W_OK | X_OK, AT_EACCESS)
        }
    }

    /// Checks that this user may use a shared store.
    ///
    /// - Throws: ``StoreError`` with `notAStore`; ``SystemError``
    func requireMember() throws {
        guard isShared, let status = try Folder.status(at: path) else { return }
        for name in ["", "/blobs", "/\(StoreFolder.databaseName)"] {
            let file = (path + name).systemPath
            guard unsafe faccessat(AT_FDCWD, file, R_OK | W_OK, AT_EACCESS) != 0,
                errno == EACCES
            else { continue }
            let (owner, group, word) = (status.owner, status.group, ShellWord.quoted(store))
            let reason = Reason("no-member", with: geteuid(), store, name, owner, group, group, word, word, word)
            throw StoreError(.notAStore, reason)
        }
    }
}

/// The checks of a part of the way.
extension StorePlace {
    /// Checks a folder or symbolic link on the way to the store, or the store itself.
    ///
    /// - Returns: Its kind; nil if it does not exist.
    @discardableResult
    private mutating func check(_ path: String, isLast: Bool = false) throws(SystemError) -> FileStatus.Kind? {
        guard let status = try Folder.status(at: path) else { return nil }
        guard !isShared, objection == nil else { return status.kind }
        let isLink = status.kind == .link
        if isLast {
            // What the folder itself must be like is checked when it is open.
            guard isLink else { return status.kind }
            let target = try Folder.target(ofLink: path)
            object("\(store) is a symbolic link to \(target), not a folder")
        } else if let problem = Self.problem(status, at: path) {
            let kind = isLink ? "symbolic link" : "folder"
            object("a \(kind) above \(store), \(path), \(problem)")
        }
        return status.kind
    }

    private mutating func object(_ message: String) {
        objection = StoreError(.notAStore, message, remedy: .shareStore)
    }

    /// Returns how others could replace what is in a folder, or a link.
    private static func problem(_ status: FileStatus, at path: String) -> String? {
        let isTrusted = [geteuid(), 0].contains(status.owner)
        if !isTrusted, status.owner != unknownUser || seesAllUsers {
            return sentence("replaceable-owner", status.owner)
        }
        // The permissions of links do not count; in a folder with a sticky bit, names belong to their owners.
        let writers = status.permissions & 0o1022
        guard status.kind == .folder, writers & 0o1000 == 0 else { return nil }
        if writers & 0o002 != 0 {
            return sentence("replaceable-all")
        }
        guard writers != 0 else { return nil }
        guard LocalGroup(number: status.group).isPrivate else {
            return sentence("replaceable-group", status.group)
        }
        // Then the permissions of the group are the most that anyone in the list may do.
        guard (try? Folder(path))?.hasList("access") != false else { return nil }
        return sentence("replaceable-list")
    }

    /// The owner that the kernel reports for users that have no ID in this user namespace.
    private static let unknownUser: uid_t = 65534

    /// Whether this process is in a user namespace with all users, such as the initial one.
    private static var seesAllUsers: Bool {
        let file = try? OpenFile("/proc/self/uid_map", flags: O_RDONLY)
        guard let bytes = try? file?.bytes(64) else { return true }
        return String(decoding: bytes, as: UTF8.self).contains("4294967295")
    }
}

/// A group of this machine.
///
/// Only its files are read: other services would have to be asked for every user.
private struct LocalGroup {
    let number: gid_t

    /// Whether it is known to have no members but this user and root, as the group that most systems create for each user.
    var isPrivate: Bool {
        let user = geteuid()
        var (isKnown, names) = (number == 0, Set<Substring>())
        for fields in Self.lines("/etc/passwd") {
            switch uid_t(fields[2]) {
            case user:
                isKnown = true
                names.insert(fields[0])
            case 0:
                names.insert(fields[0])
            default:
                // The group of another user.
                if gid_t(fields[3]) == number { return false }
            }
        }
        // A number may have several names.
        let entries = Self.lines("/etc/group").filter { gid_t($0[2]) == number }
        guard isKnown, !entries.isEmpty else { return number == user }
        return names.isSuperset(of: entries.flatMap { $0[3].split(separator: ",") })
    }

    /// Returns the fields of each line of a file; none if it is too long.
    private static func lines(_ path: String) -> [[Substring]] {
        let most = 1 << 20
        let file = try? OpenFile(path, flags: O_RDONLY)
        guard let bytes = try? file?.bytes(most), bytes.count < most else { return [] }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return lines.map { $0.split(separator: ":", omittingEmptySubsequences: false) }.filter { $0.count > 3 }
    }
}
