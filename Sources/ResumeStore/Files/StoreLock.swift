package import ResumeFiles
import ResumeHTTP

/// A shared or exclusive lock of a whole store, released when its process ends.
///
/// There are two. Writers hold one of them shared during transactions, and checkpoints hold it exclusively. So no
/// process can reset the write-ahead log during another one's checkpoint, which corrupts the database with SQLite 3.7.0
/// to 3.51.2. The other one is held shared from the creation of a blob to the commit of its row, and exclusively while
/// orphans are removed.
package struct StoreLock: Sendable {
    private let file: OpenFile

    /// How long to wait for the lock before the store counts as busy.
    ///
    /// It is longer than the sync of a checkpoint on a disk with much else to write, which has taken ten seconds.
    private static let patience: Duration = .seconds(30)

    /// Opens the writers' lock of a store: different instances exclude each other even in one process.
    package init(writersIn store: Folder) throws(SystemError) {
        file = try OpenFile("lock", in: store.file, flags: O_RDWR | O_CREAT)
    }

    /// Opens the creation lock, which is a lock on the blobs folder.
    ///
    /// It is separate from the writers' lock, since a creation waits for the database, and the user of the database may
    /// wait for the writers' lock.
    init(creationsIn store: StoreFolder) throws(SystemError) {
        file = try OpenFile(".", in: store.blobs.file, flags: O_RDONLY | O_DIRECTORY)
    }

    /// Acquires the lock as a shared one until ``unlock()``, or until this value is released.
    func holdShared() throws {
        guard try lock(LOCK_SH, patience: Self.patience) else { throw Self.busy }
    }

    /// Releases the lock.
    ///
    /// Closing the descriptor is not enough: a child that another thread is starting has a copy of it until its `exec`.
    func unlock() {
        // In a forked child the lock belongs to the parent.
        if !ForkedChild.isCurrent { flock(file.descriptor, LOCK_UN) }
    }

    /// Runs a closure while holding the lock as a shared one.
    package func shared<Result>(_ body: () throws -> Result) throws -> Result {
        try holdShared()
        defer { flock(file.descriptor, LOCK_UN) }
        return try body()
    }

    /// Runs a closure while holding the lock exclusively; nil if it could not be acquired within `patience`.
    package func exclusive<Result>(patience: Duration = .zero, _ body: () throws -> Result) throws -> Result? {
        guard try lock(LOCK_EX, patience: patience) else { return nil }
        defer { flock(file.descriptor, LOCK_UN) }
        return try body()
    }

    /// Runs a closure like ``exclusive(patience:_:)``, but throws if the lock could not be acquired.
    package func exclusively<Result>(_ body: () throws -> Result) throws -> Result {
        guard let result = try exclusive(patience: Self.patience, body) else { throw Self.busy }
        return result
    }

    private static let busy = StoreError(.busy, Reason("lock-held", with: patience))

    /// Acquires the lock by polling every millisecond, since a blocking `flock` has no timeout.
    private func lock(_ kind: Int32, patience: Duration) throws(SystemError) -> Bool {
        let deadline = ContinuousClock.now + patience
        while true {
            do {
                try SystemError.check("flock", file.path) { flock(file.descriptor, kind | LOCK_NB) }
                return true
            } catch let error where error.number == EWOULDBLOCK {
                if ContinuousClock.now >= deadline { return false }
                usleep(1000)
            }
        }
    }
}

extension StoreFolder {
    /// Opens a lock file; each instance has separate locks.
    func locks(_ file: LockFile) throws(SystemError) -> ByteLocks {
        try ByteLocks(file.rawValue, in: root, flags: O_RDWR | O_CREAT)
    }

    /// Opens a lock file to query its locks; nil if it does not exist, for example because the disk is full.
    func locksThere(_ file: LockFile) throws(SystemError) -> ByteLocks? {
        do {
            return try ByteLocks(file.rawValue, in: root, flags: O_RDWR)
        } catch let error where error.isMissing {
            return nil
        }
    }
}
