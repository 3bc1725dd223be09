package import ResumeFiles

/// A lock of a whole store, which some hold beside one another and some alone.
///
/// It dies with its process.
/// There are two. Writers hold one shared around their transactions, a checkpoint holds it alone: so no process can
/// reset the write-ahead log inside another one's checkpoint, which corrupts the database with SQLite 3.7.0 to 3.51.2.
/// And who makes a blob holds the other one shared until its row is committed, who sweeps orphans holds it alone.
package struct StoreLock: Sendable {
    private let file: OpenFile

    /// How long to wait for the lock before the store counts as busy.
    ///
    /// Longer than the sync of a checkpoint takes on a disk with much else to write, which was seen to be ten seconds.
    private static let patience: Duration = .seconds(30)

    /// Opens the lock of writers of the store in a folder.
    ///
    /// - Throws: ``SystemError``
    package init(writersOf path: String) throws {
        try self.init(writersIn: Folder(path))
    }

    /// Opens the lock of writers anew: locks of different instances exclude one another even in one process.
    package init(writersIn store: Folder) throws(SystemError) {
        file = try OpenFile("lock", in: store.file, flags: O_RDWR | O_CREAT)
    }

    /// Opens the lock of those who make blobs, which is that of their folder.
    ///
    /// Not the writers' one: a creation waits for the database, and whoever has the database may wait for that one.
    init(creationsIn store: StoreFolder) throws(SystemError) {
        file = try OpenFile(".", in: store.blobs.file, flags: O_RDONLY | O_DIRECTORY)
    }

    /// Takes the lock beside others until ``unlock()``, or until this goes away.
    func holdShared() throws {
        guard try lock(LOCK_SH, patience: Self.patience) else { throw Self.busy }
    }

    /// Gives the lock back.
    ///
    /// Closing the descriptor is not enough: a child that another thread is starting has a copy of it until its `exec`.
    func unlock() {
        // In a forked child the lock is the parent's.
        if !ForkedChild.isCurrent { flock(file.descriptor, LOCK_UN) }
    }

    /// Runs a body beside others who hold it shared.
    package func shared<Result>(_ body: () throws -> Result) throws -> Result {
        try holdShared()
        defer { flock(file.descriptor, LOCK_UN) }
        return try body()
    }

    /// Runs a body with nobody else anywhere; nil where that cannot be had within `patience`.
    package func exclusive<Result>(patience: Duration = .zero, _ body: () throws -> Result) throws -> Result? {
        guard try lock(LOCK_EX, patience: patience) else { return nil }
        defer { flock(file.descriptor, LOCK_UN) }
        return try body()
    }

    /// Like ``exclusive(patience:_:)``, for what must not be left undone.
    package func exclusively<Result>(_ body: () throws -> Result) throws -> Result {
        guard let result = try exclusive(patience: Self.patience, body) else { throw Self.busy }
        return result
    }

    private static let busy = StoreError(
        .busy, "another process has held the store's lock for more than \(patience)",
        advice: "Look for a stopped process, and try again.")

    /// Takes the lock, looking again every millisecond: a blocking `flock` could not be bounded.
    private func lock(_ kind: Int32, patience: Duration) throws(SystemError) -> Bool {
        let deadline = ContinuousClock.now + patience
        while true {
            do {
                try SystemError.check("flock", file.path) { flock(file.descriptor, kind | LOCK_NB) }
                return true
            } catch {
                guard error.number == EWOULDBLOCK else { throw error }
            }
            if ContinuousClock.now >= deadline { return false }
            usleep(1000)
        }
    }
}

extension StoreFolder {
    /// Opens a file of locks; each opening has locks of its own.
    func locks(_ file: LockFile) throws(SystemError) -> ByteLocks {
        try ByteLocks(file.rawValue, in: root, flags: O_RDWR | O_CREAT)
    }

    /// Opens a file of locks to look at; nil where nobody has made it: a full disk may have no room for it.
    func locksThere(_ file: LockFile) throws(SystemError) -> ByteLocks? {
        do {
            return try ByteLocks(file.rawValue, in: root, flags: O_RDWR)
        } catch {
            if error.isMissing { return nil }
            throw error
        }
    }
}
