internal import ResumeFiles
internal import ResumeSQLite

/// What is looked at before SQLite opens a file of the store, or anything is written to one.
extension StoreFolder {
    /// Refuses a folder that another user owns or may write to, and could put other files into at any time.
    ///
    /// - Parameters:
    ///   - folder: The store's folder, or the one of its blobs.
    ///   - path: Its path.
    ///   - store: The path of the store, for the advice.
    /// - Throws: ``StoreError`` with `notAStore`, ``SystemError``
    static func requirePrivate(_ folder: Folder, at path: String, of store: String) throws {
        if let objection = objection(to: try folder.file.status(), at: path, of: store) { throw objection }
    }

    /// Refuses a place where another user could put another folder under the store's name: SQLite opens files by path,
    /// a moment after they were looked at.
    ///
    /// - Throws: ``StoreError`` with `notAStore`, ``SystemError``
    func requireSafeParents() throws {
        var (name, last) = ("..", try root.file.status().identity)
        while let parent = try root.status(of: name), parent.identity != last {
            let isTrusted = [geteuid(), 0].contains(parent.owner)
            let problem: String? =
                if !isTrusted, parent.owner != Self.unknownUser || Self.seesAllUsers {
                    "belongs to another user (number \(parent.owner)), who could replace the store"
                } else if parent.permissions & 0o002 != 0, parent.permissions & 0o1000 == 0 {
                    "lets all users replace the store: they may write to it, and it has no sticky bit"
                } else {
                    nil
                }
            if let problem {
                throw StoreError(
                    .notAStore, "a folder above \(path) \(problem)",
                    advice: "Choose a folder for the store where only this user and root may write.")
            }
            (name, last) = (name + "/..", parent.identity)
        }
    }

    /// The owner that the kernel shows for users that a user namespace does not know.
    private static let unknownUser: uid_t = 65534

    /// Whether this process is in a user namespace that knows all users, as the first one does.
    private static var seesAllUsers: Bool {
        guard let folder = try? Folder("/proc/self"),
            let file = try? OpenFile("uid_map", in: folder.file, flags: O_RDONLY)
        else { return true }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = (try? unsafe bytes.withUnsafeMutableBytes { try unsafe file.read(into: $0, at: 0) }) ?? 0
        return String(decoding: bytes.prefix(count), as: UTF8.self).contains("4294967295")
    }

    /// Refuses files that are not this user's alone, and a journal that would make SQLite remove another file.
    ///
    /// To be called with ``Presence``, so that no rebuild exchanges them, and before anything else opens one of them.
    package func requireOwnFiles() throws {
        // The reserve serves nothing but a full disk: a wrong one is left alone.
        for name in Self.fileNames where name != Self.reserveName { try requireOwn(name) }
        try refuseSuperJournal()
    }

    /// Refuses a file that is not this user's alone.
    func requireOwn(_ name: String) throws {
        guard let status = try root.status(of: name) else { return }
        let links = try name == Self.databaseName ? 1 + rebuildLinks().count : 1
        let shown = "\(path)/\(name)"
        if let objection = Self.objection(toFile: status, links: links, at: shown, of: path) { throw objection }
    }

    /// Fails where there is neither a database nor a blob, nor a rebuild to be finished.
    package func requireStore() throws {
        guard try root.status(of: Self.databaseName) == nil, try !isBeingRebuilt(), try !hasBlobs() else { return }
        throw Self.noStore(at: path)
    }

    /// What is wrong with a file of the store, and what to do about it.
    ///
    /// - Parameters:
    ///   - status: What the system says about it.
    ///   - links: How many names it may have.
    ///   - path: Its path.
    ///   - store: The path of the store, for the advice.
    /// - Returns: nil if nothing is wrong.
    package static func objection(
        toFile status: FileStatus, links: Int = 1, at path: String, of store: String
    ) -> StoreError? {
        guard status.kind == .regular else {
            return StoreError(
                .notAStore, "\(path) is not a regular file",
                advice: "Move it away, or choose another folder for the store.")
        }
        // What is written to a second name of some file changes that file.
        guard status.links <= links else {
            return StoreError(
                .notAStore, "\(path) has a second name (a hard link), under which another program may use it",
                advice: "Replace it with a copy of itself, or choose another folder for the store.")
        }
        return objection(to: status, at: path, of: store)
    }

    /// What is wrong with the owner and the permissions of a file or folder of the store; nil if nothing is.
    package static func objection(to status: FileStatus, at path: String, of store: String) -> StoreError? {
        // Root is no exception: the owner could exchange files between a look and an opening.
        guard status.owner == geteuid() else {
            return StoreError(
                .notAStore, "\(path) belongs to another user (number \(status.owner), not \(geteuid()))",
                advice: "Run this program as that user, or choose a folder that belongs to this user.")
        }
        guard status.permissions & 0o022 == 0 else {
            return StoreError(
                .notAStore, "other users may write to \(path)",
                advice: "Run 'chmod -R go-w \(store)', or choose another folder for the store.")
        }
        return nil
    }

    /// Refuses a rollback journal that names a super-journal.
    ///
    /// To play it back, SQLite removes the file of that name, wherever it is. No store ever has one, since each transaction
    /// is of one database. A journal that has one ends in the name, its length, a checksum and eight fixed bytes
    /// (<https://www.sqlite.org/fileformat2.html#the_rollback_journal>).
    private func refuseSuperJournal() throws {
        let name = "\(Self.databaseName)-journal"
        let ending: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        guard let size = try root.status(of: name)?.size, size >= ending.count else { return }
        var bytes = [UInt8](repeating: 0, count: ending.count)
        let journal = try OpenFile(name, in: root.file, flags: O_RDONLY)
        let offset = size - Int64(ending.count)
        _ = try unsafe bytes.withUnsafeMutableBytes { try unsafe journal.read(into: $0, at: offset) }
        guard bytes == ending else { return }
        throw StoreError(
            .notAStore,
            "\(path)/\(name) is not a journal of this store: it names another file, which SQLite would remove",
            advice: "Move it away, and find out who put it there.")
    }
}

extension StoreFolder {
    /// Refuses a database that SQLite only reads, because of the format version in its header, although this user may
    /// write to the file.
    func requireKnownFormat(of connection: borrowing Connection) throws {
        // SQLite has read the header then.
        _ = try connection.integer("PRAGMA user_version")
        guard connection.isReadOnly,
            unsafe faccessat(root.file.descriptor, Self.databaseName, W_OK, AT_EACCESS) == 0
        else { return }
        throw StoreError(
            .damaged, "the header of the database at \(path) is damaged: it has an unknown format version",
            advice: "Nothing was deleted. \(StoreError.rebuildAdvice)")
    }
}

/// What a rebuild leaves that has not replaced the database yet.
extension StoreFolder {
    /// Whether a rebuild has begun and not ended: it was killed, or it is running in another process.
    func isBeingRebuilt() throws -> Bool {
        try root.status(of: Self.rebuiltName) != nil || !rebuildLinks().isEmpty
    }

    /// The folders in which a rebuild has given the database a second name, which is its first step of replacing it.
    package func rebuildLinks() throws -> [Folder] { try Self.rebuildLinks(in: root) }

    /// The same for a folder that may be a store's.
    package static func rebuildLinks(in root: Folder) throws -> [Folder] {
        guard let database = try root.status(of: databaseName), database.links > 1 else { return [] }
        let names = try root.names().filter { $0.hasPrefix(asidePrefix) }.sorted()
        return try names.compactMap { name -> Folder? in
            // What is no folder, or cannot be opened, is no rebuild's.
            guard let aside = try? Folder(name, in: root) else { return nil }
            return try aside.status(of: databaseName)?.identity == database.identity ? aside : nil
        }
    }
}
