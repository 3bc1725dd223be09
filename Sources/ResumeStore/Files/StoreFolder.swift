package import ResumeFiles
import ResumeHTTP

/// The folder of a store and its contents.
///
/// Only SQLite may open `store.sqlite` while it uses it: closing any other descriptor of the file would release
/// SQLite's locks. A rebuild copies it when it is not open.
package struct StoreFolder: Sendable {
    package static let databaseName = "store.sqlite"
    static let reserveName = "reserve"
    /// The new database of a rebuild, before it replaces the old one.
    package static let rebuiltName = "rebuilt.sqlite"
    /// A copy of the database with a replaced first page, from which a rebuild reads rows.
    package static let salvageName = "salvage.sqlite"
    /// The prefix of folders to which a rebuild moves old files.
    package static let asidePrefix = "aside-"
    /// What SQLite appends to the name of a database.
    package static let databaseSuffixes = ["", "-wal", "-shm", "-journal"]
    /// The files of a store except blobs.
    package static let fileNames =
        [
            databaseName, rebuiltName, salvageName,
        ].flatMap { name in databaseSuffixes.map { name + $0 } }
        + ["lock", reserveName] + LockFile.allCases.map(\.rawValue)
    /// The size of a file that is removed when the file system is full, so that rows can be deleted.
    ///
    /// That needs a page of log for about 150 rows, and an entry of 16 GiB has 8,000 checksums.
    static let reserveSize: Int64 = 1 << 20

    /// Files whose bytes are locked; the offset is the number of an entry or queue.
    enum LockFile: String, CaseIterable {
        /// Locked by the task that works on an entry.
        case leases
        /// Locked, shared, by tasks that wait for an entry; byte 0 by all that have the store open.
        case waiters
        /// Locked by the process that uses a queue.
        case queues
        /// Locked by the process that runs a job of the command line.
        case jobs
        /// Locked, shared, by tasks that paused work on an entry.
        case paused
    }

    package let path: String
    /// The path with symbolic links to its parents resolved, since SQLite does not follow them.
    private let pathWithoutLinks: String
    package let root: Folder
    package let blobs: Folder
    let leases: Lease.Table
    let waiters: Lease.Table
    let paused: Lease.Table

    /// Opens the folder, and creates it first if `creating` is true.
    ///
    /// Everything is checked before anything is created: what a refusal left behind would be in the way of its owner.
    package init(path: String, creating: Bool, isShared: Bool = false) throws {
        do {
            var place = try StorePlace(of: path, isShared: isShared)
            if creating, !place.isThere, place.objection == nil {
                // A folder that cannot be read is checked when the store is there.
                try Self.requireLocalDisk(try? Folder(place.folder), of: path)
                try place.create()
                // Another user may have created one of them in the meantime.
                place = try StorePlace(of: path, isShared: isShared)
            }
            if creating || place.isThere, let objection = place.objection { throw objection }
            guard place.isThere else { throw SystemError(number: ENOENT, call: "open", path: path) }
            try place.requireMember()
            pathWithoutLinks = place.path
            root = try place.open()
            // A store without its blobs can still be read; each entry is then downloaded again.
            let isThere = try root.status(of: Self.databaseName) != nil
            if creating || isThere {
                try Self.requirePrivate(root, at: path, of: path)
                try Self.requireLocalDisk(root, of: path)
                try Folder.create("blobs", in: root)
            }
            blobs = try Folder("blobs", in: root)
        } catch let error as SystemError {
            switch error.number {
            case ENOENT where !creating:
                throw Self.noStore(at: path, cause: error)
            case ENOTDIR, ELOOP:
                throw StoreError(.notAStore, Reason("other-folder", with: path), cause: error)
            default:
                throw StoreError(wrapping: error)
            }
        }
        leases = Lease.Table(.leases, in: root)
        waiters = Lease.Table(.waiters, in: root)
        paused = Lease.Table(.paused, in: root)
        self.path = path
        try Self.requirePrivate(root, at: path, of: path)
        try Self.requirePrivate(blobs, at: "\(path)/blobs", of: path)
        try requireSamePlace()
    }

    private static func requireLocalDisk(_ folder: Folder?, of path: String) throws(StoreError) {
        guard let kind = folder?.networkFileSystem else { return }
        throw StoreError(.unsupportedFileSystem, Reason("not-local", with: path, kind), remedy: .localDisk)
    }

    static func noStore(at path: String, cause: (any Error)? = nil) -> StoreError {
        StoreError(.noStore, "there is no store at \(path)", remedy: .createStore, cause: cause)
    }

    /// Checks that SQLite, which opens files by path, uses the same folder.
    func requireSamePlace() throws {
        guard try Folder(pathWithoutLinks).file.status().identity == root.file.status().identity else {
            throw StoreError(.notAStore, Reason("folder-replaced", with: path))
        }
    }

    var databasePath: String { path(of: Self.databaseName) }

    /// Returns the path of a file in the folder for SQLite.
    package func path(of name: String) -> String { "\(pathWithoutLinks)/\(name)" }

    /// Creates an empty database if there is none.
    ///
    /// - Returns: Whether it was created.
    func prepareDatabaseFile(creating: Bool) throws -> Bool {
        guard try !isBeingRebuilt() else {
            throw StoreError(.damaged, Reason("unfinished", with: path), remedy: .rebuildAgain)
        }
        guard try root.status(of: Self.databaseName) == nil else { return false }
        guard try !hasBlobs() else {
            throw StoreError(.damaged, Reason("database-missing", with: path), remedy: .rebuild)
        }
        guard creating else { throw Self.noStore(at: path) }
        do {
            // SQLite creates its log and index files with the permissions of this file.
            _ = try OpenFile(Self.databaseName, in: root.file, flags: O_RDWR | O_CREAT | O_EXCL)
            return true
        } catch {
            if error.number == EEXIST { return false }
            throw error
        }
    }

    /// Returns the size of the write-ahead log in bytes.
    package func logSize() throws(SystemError) -> Int64 {
        try root.status(of: "\(Self.databaseName)-wal").map { $0.size } ?? 0
    }

    /// Allocates the reserve if there is enough space; failing to do so is not an error.
    func fillReserve() {
        if let status = try? root.status(of: Self.reserveName) {
            // A link, a device or a file with several names must not be written to or removed.
            guard status.isSingle, status.size < Self.reserveSize else { return }
        }
        guard let file = try? OpenFile(Self.reserveName, in: root.file, flags: O_RDWR | O_CREAT),
            (try? file.status())?.isSingle == true
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

    /// Removes the reserve to free its space.
    package func giveUpReserve() {
        guard (try? root.status(of: Self.reserveName))?.isSingle == true else { return }
        // If this fails, nothing is freed, and the caller's next attempt reports the error.
        _ = try? root.remove(Self.reserveName)
    }
}
