/// Locks on single bytes of a file: each entry has the byte at the offset of its number.
///
/// These are open-file-description locks. They exclude other instances in the same process as well as other processes,
/// and the kernel releases them when the descriptor is closed, however the process ends. The file is never removed.
package final class ByteLocks: Sendable {
    private let file: OpenFile

    package init(_ name: String, in store: Folder, flags: Int32) throws(SystemError) {
        file = try OpenFile(name, in: store.file, flags: flags)
    }

    /// Unlocks all bytes.
    ///
    /// Closing the descriptor is not enough: a child process that another thread is starting has a copy of it until its
    /// `exec`.
    deinit {
        // In a forked child, the locks belong to the parent.
        if !ForkedChild.isCurrent { _ = resume_files_lock_bytes(file.descriptor, Int32(F_UNLCK), 0, 0) }
    }

    /// Tries to lock a byte, and those that follow it; returns false if another process or instance has locked one.
    package func tryLock(_ byte: Int64, count: Int64 = 1, exclusively: Bool = true) throws(SystemError) -> Bool {
        let kind = Int32(exclusively ? F_WRLCK : F_RDLCK)
        do {
            try SystemError.check("lock", file.path) { resume_files_lock_bytes(file.descriptor, kind, byte, count) }
            return true
        } catch let error where error.number == EAGAIN || error.number == EACCES {
            return false
        }
    }

    package func unlock(_ byte: Int64) {
        // This fails only if the descriptor is closed, and then the lock is released as well.
        _ = resume_files_lock_bytes(file.descriptor, Int32(F_UNLCK), byte, 1)
    }

    /// Returns whether another process or instance has a shared or exclusive lock on a byte.
    package func isLocked(_ byte: Int64) throws(SystemError) -> Bool {
        try SystemError.check("lock", file.path) { resume_files_is_byte_locked(file.descriptor, byte) } == 1
    }
}
