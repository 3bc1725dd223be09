internal import ResumeFiles

/// The folder of a store and what lies in it.
///
/// `store.sqlite` is opened by SQLite alone, while it has it open: closing any other descriptor of it would drop SQLite's
/// locks. A rebuild copies it when nobody has.
package struct StoreFolder: Sendable {
    package static let databaseName = "store.sqlite"
    static let reserveName = "reserve"
    /// What a rebuild makes before it takes the database's place.
    package static let rebuiltName = "rebuilt.sqlite"
    /// The copy of the database that a rebuild reads by way of another first page.
    package static let salvageName = "salvage.sqlite"
    /// What the names of folders begin with that a rebuild sets things aside in.
    package static let asidePrefix = "aside-"
    /// The files of a store beside its blobs.
    package static let fileNames =
        [
            databaseName, rebuiltName, salvageName,
        ].flatMap { name in ["", "-wal", "-shm", "-journal"].map { name + $0 } }
        + ["lock", reserveName] + LockFile.allCases.map(\.rawValue)
    /// Given up when the file system is full, so that rows can be deleted: that needs a page of log for some 150 rows,
    /// and an entry of 16 GiB has 8,000 checksums.
    static let reserveSize: Int64 = 1 << 20

    /// The files whose bytes are locked, each for an entry or a queue of its number.
    enum LockFile: String, CaseIterable {
        /// Held by who works on an entry.
        case leases
        /// Shared by who waits for an entry; byte 0 by who has the store open.
        case waiters
        /// Held by who works with a queue.
        case queues
        /// Shared by tasks that have paused work on an entry.
        case paused
    }

    package let path: String
    /// The same without symbolic links above the folder, which SQLite does not follow.
    private let pathWithoutLinks: String
    package let root: Folder
    package let blobs: Folder
    let leases = LeaseTable()

    /// Opens the folder, making it first where that is wanted.
    package init(path: String, creating: Bool) throws {
        do {
            if creating { try Self.createFolders(path) }
            root = try Folder(path)
            // A store that has lost its blobs can be looked at all the same; each entry then begins anew.
            let isThere = try root.status(of: Self.databaseName) != nil
            if creating || isThere {
                // First, since nothing is to be made in another user's folder.
                try Self.requirePrivate(root, at: path, of: path)
                try Folder.create("blobs", in: root)
            }
            blobs = try Folder("blobs", in: root)
        } catch let error as SystemError {
            switch error.number {
            case ENOENT where !creating:
                throw Self.noStore(at: path, cause: error)
            case ENOTDIR, ELOOP:
                throw StoreError(
                    .notAStore, "\(path) or its blobs folder is a link or a file, not a folder",
                    advice: "Choose a separate folder for the store.", cause: error)
            default:
                throw StoreError(
                    .io, error.description,
                    advice: "Check that the folder exists and that this user may write to it.",
                    cause: error)
            }
        }
        self.path = path
        pathWithoutLinks = Self.withoutLinks(path)
        try Self.requirePrivate(root, at: path, of: path)
        try Self.requirePrivate(blobs, at: "\(path)/blobs", of: path)
        try requireSamePlace()
        try requireSafeParents()
        if let kind = root.networkFileSystem {
            throw StoreError(
                .unsupportedFileSystem,
                "\(path) is on a network file system (\(kind)), where SQLite's write-ahead log does not work",
                advice: "Choose a folder on a local disk with --store or RESUMECTL_STORE.")
        }
    }

    static func noStore(at path: String, cause: (any Error)? = nil) -> StoreError {
        StoreError(
            .noStore, "there is no store at \(path)",
            advice: "Choose another folder with --store, or create a store with 'resumectl get'.", cause: cause)
    }

    /// The path of a folder that exists, with each symbolic link replaced by what it leads to.
    private static func withoutLinks(_ path: String) -> String {
        guard let found = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    /// Makes sure that SQLite, which opens files by path, finds the folder that was looked at.
    private func requireSamePlace() throws {
        guard try Folder(pathWithoutLinks).file.status().identity == root.file.status().identity else {
            throw StoreError(
                .notAStore, "\(path) was replaced by another folder while it was opened",
                advice: "Find out which program replaces it, and try again.")
        }
    }

    /// Makes the folder with its parents, all of them private.
    private static func createFolders(_ path: String) throws(SystemError) {
        do {
            try Folder.create(path)
        } catch {
            guard error.isMissing, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
                slash > path.startIndex
            else { throw error }
            try createFolders(String(path[..<slash]))
            try Folder.create(path)
        }
    }

    var databasePath: String { path(of: Self.databaseName) }

    /// Where SQLite finds a file of the folder.
    package func path(of name: String) -> String { "\(pathWithoutLinks)/\(name)" }

    /// Makes an empty database where there is none.
    ///
    /// - Returns: Whether it was made.
    func prepareDatabaseFile(creating: Bool) throws -> Bool {
        guard try !isBeingRebuilt() else {
            throw StoreError(
                .damaged, "a rebuild of the store at \(path) was interrupted",
                advice: "Nothing was deleted. Run 'resumectl doctor --rebuild' again to finish it.")
        }
        guard try root.status(of: Self.databaseName) == nil else { return false }
        guard try !hasBlobs() else {
            throw StoreError(
                .damaged, "the database at \(path) is missing although there are data files",
                advice: "Nothing was deleted. \(StoreError.rebuildAdvice)")
        }
        guard creating else { throw Self.noStore(at: path) }
        do {
            // SQLite gives its log and index files the permissions of this one.
            _ = try OpenFile(Self.databaseName, in: root.file, flags: O_RDWR | O_CREAT | O_EXCL)
            return true
        } catch {
            if error.number == EEXIST { return false }
            throw error
        }
    }

    /// Whether there is a blob: then a database that is empty or gone was lost.
    func hasBlobs() throws(SystemError) -> Bool {
        try blobs.names().contains { BlobName(fileName: $0) != nil }
    }

    /// How many bytes the write-ahead log has.
    package func logSize() throws(SystemError) -> Int64 {
        try root.status(of: "\(Self.databaseName)-wal").map { $0.size } ?? 0
    }

    /// Puts real blocks aside, where there is room; not having them is no error.
    func fillReserve() {
        if let status = try? root.status(of: Self.reserveName) {
            // A link, a device or a second name of some file is not ours to write to, nor to remove.
            guard status.isOwn, status.size < Self.reserveSize else { return }
        }
        guard let file = try? OpenFile(Self.reserveName, in: root.file, flags: O_RDWR | O_CREAT),
            (try? file.status())?.isOwn == true
        else { return }
        let block = [UInt8](repeating: 0x52, count: 64 * 1024)
        for offset in stride(from: 0, to: Self.reserveSize, by: block.count) {
            do {
                try file.write(unsafe block.span.bytes, at: offset)
            } catch {
                giveUpReserve()
                return
            }
        }
    }

    /// Frees the reserve.
    package func giveUpReserve() {
        guard (try? root.status(of: Self.reserveName))?.isOwn == true else { return }
        // Where this fails there is nothing to free; the caller's next try says so.
        _ = try? root.remove(Self.reserveName)
    }
}
