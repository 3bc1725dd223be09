import Synchronization

/// Flushes several files of one file system to disk together.
package final class BatchSynchronizer: Sendable {
    /// The number of files at which the whole file system is synced instead of each file.
    private static let fewest = 8
    /// The longest acceptable duration of such a sync.
    ///
    /// If it takes longer, other programs are writing a lot, and the whole file system is not synced again for a while.
    private static let patience: Duration = .milliseconds(500)
    private static let pause: Duration = .seconds(10)

    /// A folder of the file system.
    ///
    /// It was opened before the files were written, since the system only reports write errors that occurred after
    /// that.
    private let folder: Folder
    private let slowUntil = Mutex<ContinuousClock.Instant?>(nil)

    package init(_ folder: Folder) {
        self.folder = folder
    }

    /// Makes the data of files survive a power loss.
    ///
    /// A file that failed once counts as failed, because the system does not report the error a second time.
    ///
    /// - Parameter files: Files of the folder's file system, opened before they were written.
    /// - Returns: The error of each file; nil if there was none.
    package func synchronize(_ files: [OpenFile]) -> [SystemError?] {
        if files.count >= Self.fewest, synchronizeAll() { return files.map { _ in nil } }
        // The failure may concern another file. Syncing these one by one shows which of them are affected.
        var failures: [SystemError?] = files.map { file in
            guard files.count > 1, resume_files_begin_sync(file.descriptor) == -1 else { return nil }
            return SystemError(number: errno, call: "sync_file_range", path: file.path)
        }
        for (index, file) in files.enumerated() where failures[index] == nil {
            do {
                try file.synchronizeData()
            } catch {
                failures[index] = error
            }
        }
        return failures
    }

    /// Syncs the file system if it reports write errors and the last sync did not take long.
    private func synchronizeAll() -> Bool {
        let begin = ContinuousClock.now
        if let end = slowUntil.withLock({ $0 }), begin < end { return false }
        let isDone = resume_files_sync_file_system(folder.file.descriptor) == 0
        let end = ContinuousClock.now
        if end - begin > Self.patience { slowUntil.withLock { $0 = end + Self.pause } }
        return isDone
    }
}
