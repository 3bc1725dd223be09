/// Locks on single bytes of a file, one byte an entry, by the entry's number.
///
/// Open-file-description locks: they exclude instances in one process as well as processes, and the kernel drops
/// them when the descriptor is closed, however its process ends. The file is never removed.
package struct ByteLocks: Sendable {
    private let file: OpenFile
    private let release: Release

    /// Unlocks all bytes when the locks are no longer used.
    ///
    /// Closing the descriptor is not enough: a child that another thread is starting has a copy of it until its `exec`.
    private final class Release: Sendable {
        let file: OpenFile

        init(_ file: OpenFile) { self.file = file }

        deinit {
            // In a forked child the locks are the parent's.
            if !ForkedChild.isCurrent { _ = resume_files_unlock_all(file.descriptor) }
        }
    }

    package init(_ name: String, in store: Folder, flags: Int32) throws(SystemError) {
        file = try OpenFile(name, in: store.file, flags: flags)
        release = Release(file)
    }

    /// Tries to lock a byte; false where somebody else has it.
    package func tryLock(_ byte: Int64, exclusively: Bool = true) throws(SystemError) -> Bool {
        let kind = Int32(exclusively ? F_WRLCK : F_RDLCK)
        do {
            try SystemError.check("lock", file.path) { resume_files_lock_byte(file.descriptor, kind, byte) }
            return true
        } catch {
            if error.number == EAGAIN || error.number == EACCES { return false }
            throw error
        }
    }

    /// Gives a byte back.
    package func unlock(_ byte: Int64) {
        // Only a descriptor that is closed can make this fail, and then the lock is gone as well.
        _ = resume_files_lock_byte(file.descriptor, Int32(F_UNLCK), byte)
    }

    /// Whether somebody else has a lock, shared or not, on a byte.
    package func isLocked(_ byte: Int64) throws(SystemError) -> Bool {
        try SystemError.check("lock", file.path) { resume_files_is_byte_locked(file.descriptor, byte) } == 1
    }
}
