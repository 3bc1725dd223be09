package import ResumeFiles

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

    /// The most symbolic links on the way, as in Linux.
    private static let mostLinks = 40

    /// Follows the path of a store from the root, so that a part is checked before what others could put in it.
    ///
    /// - Throws: ``SystemError``.
    package init(of store: String, isShared: Bool) throws(SystemError) {
        self.store = store
        self.isShared = isShared
        var rest = try Self.names(store)[...]
        var links = 0
        if !rest.isEmpty { try check("/") }
        while let name = rest.popFirst() {
            guard missing.isEmpty else {
                if name == ".." { missing.removeLast() } else { missing.append(name) }
                continue
            }
            let next = "\(path)/\(name)"
            switch name == ".." ? nil : try check(next, isLast: rest.isEmpty) {
            case nil where name == "..":
                path = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
            case nil:
                missing.append(name)
            case .link:
                links += 1
                guard links <= Self.mostLinks else { throw SystemError(number: ELOOP, call: "open", path: store) }
                let target = try Folder.target(ofLink: next)
                if target.utf8.first == UInt8(ascii: "/") { path = "" }
                rest = Self.split(target) + rest
            default:
                path = next
            }
        }
    }

    /// Returns the names of an absolute path, or of one in the working folder.
    private static func names(_ path: String) throws(SystemError) -> [String] {
        if path.utf8.first == UInt8(ascii: "/") { return split(path) }
        guard let working = unsafe getcwd(nil, 0) else {
            throw SystemError(number: errno, call: "getcwd", path: path)
        }
        defer { unsafe free(working) }
        return split(unsafe String(systemPath: working)) + split(path)
    }

    /// By bytes, since a combining mark may follow a slash.
    private static func split(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }
    }

    /// Creates the missing folders.
    ///
    /// - Throws: ``SystemError``
    func create() throws(SystemError) {
        var path = path
        for name in missing {
            path += "/\(name)"
            try Folder.create(path, isShared: isShared)
        }
    }

    /// The path of the deepest folder that exists.
    var folder: String { path.isEmpty ? "/" : path }

    /// Whether nothing is missing.
    package var isThere: Bool { missing.isEmpty }

    /// Checks that missing folders can be created, without creating any.
    ///
    /// - Throws: ``SystemError``
    package func requireCreatable() throws(SystemError) {
        try SystemError.check("mkdir", isThere ? store : "\(path)/\(missing[0])") {
            unsafe faccessat(AT_FDCWD, folder.systemPath, W_OK | X_OK, AT_EACCESS)
        }
    }

    /// Checks that this user may use a shared store.
    ///
    /// - Throws: ``StoreError`` with `notAStore`; ``SystemError``
    func requireMember() throws {
        guard isShared, let status = try Folder.status(at: path) else { return }
        for name in ["", "/blobs", "/\(StoreFolder.databaseName)"] {
            guard unsafe faccessat(AT_FDCWD, (path + name).systemPath, R_OK | W_OK, AT_EACCESS) != 0, errno == EACCES else {
                continue
            }
            throw StoreError(
                .notAStore,
                "user \(geteuid()) may not use \(store)\(name); the store belongs to user \(status.owner) and group "
                    + "\(status.group)",
                advice: "Let its owner add this user to the group, and run 'chmod -R g+rwX \(ShellWord.quoted(store))'."
            )
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
        // What the store itself must be like is checked when it is open.
        let text: String? =
            if isLast {
                isLink ? "\(store) is a symbolic link to \(try Folder.target(ofLink: path)), not a folder" : nil
            } else {
                Self.problem(status).map { "a \(isLink ? "symbolic link" : "folder") above \(store), \(path), \($0)" }
            }
        objection = text.map { StoreError(.notAStore, $0, remedy: .shareStore) }
        return status.kind
    }

    /// Returns how others could replace what is in a folder, or a link.
    private static func problem(_ status: FileStatus) -> String? {
        if ![geteuid(), 0].contains(status.owner), status.owner != unknownUser || seesAllUsers {
            return "belongs to another user (number \(status.owner)), who could replace the store"
        }
        // The permissions of links do not count; in a folder with a sticky bit, names belong to their owners.
        guard status.kind == .folder, status.permissions & 0o1000 == 0 else { return nil }
        if status.permissions & 0o002 != 0 {
            return "lets all users replace the store: they may write to it, and it has no sticky bit"
        }
        guard status.permissions & 0o020 != 0, !LocalGroup.isPrivate(status.group) else { return nil }
        return "lets the group \(status.group) replace the store: it may write to it, and it has no sticky bit"
    }

    /// The owner that the kernel reports for users that have no ID in this user namespace.
    private static let unknownUser: uid_t = 65534

    /// Whether this process is in a user namespace with all users, such as the initial one.
    private static var seesAllUsers: Bool {
        guard let bytes = try? OpenFile("/proc/self/uid_map", flags: O_RDONLY).bytes(64) else { return true }
        return String(decoding: bytes, as: UTF8.self).contains("4294967295")
    }
}

/// The groups of this machine.
enum LocalGroup {
    /// Whether a group is known to have no members but this user and root, such as the group that most systems create for
    /// each user.
    ///
    /// Only the files of this machine are read: other services would have to be asked for every user.
    static func isPrivate(_ group: gid_t) -> Bool {
        let user = geteuid()
        let users = lines("/etc/passwd", numbers: 2, 3)
        // Root's group has the same members everywhere.
        guard group == 0 || users.contains(where: { $0.numbers[0] == user }) else { return group == user }
        let others = users.filter { ![user, 0].contains($0.numbers[0]) }
        guard let entry = lines("/etc/group", numbers: 2).first(where: { $0.numbers[0] == group }) else {
            return group == user
        }
        let members = entry.fields.count > 3 ? entry.fields[3].split(separator: ",") : []
        let known = users.filter { [user, 0].contains($0.numbers[0]) }.map(\.fields[0])
        return members.allSatisfy(known.contains) && !others.contains { $0.numbers[1] == group }
    }

    /// Returns the lines of such a file that have numbers in these fields.
    private static func lines(
        _ path: String, numbers: Int...
    ) -> [(fields: [Substring], numbers: [uid_t])] {
        guard let bytes = try? OpenFile(path, flags: O_RDONLY).bytes(1 << 20), bytes.count < 1 << 20 else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            let found = numbers.compactMap { $0 < fields.count ? uid_t(fields[$0]) : nil }
            return found.count == numbers.count ? (fields, found) : nil
        }
    }
}
