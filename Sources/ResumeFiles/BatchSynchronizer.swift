internal import Synchronization

/// Brings several files of one file system to disk together.
package final class BatchSynchronizer: Sendable {
    /// From how many files on all that was written to the file system is synced, in place of each file.
    private static let fewest = 8
    /// How long that may take: longer is the work of other programs, which is not to be waited for again for a while.
    private static let patience: Duration = .milliseconds(500)
    private static let pause: Duration = .seconds(10)

    /// A folder of the file system.
    ///
    /// It was opened before the files were written: only then the system tells of it which bytes could not be.
    private let folder: Folder
    private let slowUntil = Mutex<ContinuousClock.Instant?>(nil)

    package init(_ folder: Folder) {
        self.folder = folder
    }

    /// Makes the data of files survive a power loss.
    ///
    /// What failed for one file stays failed: the system would tell nothing of it another time.
    ///
    /// - Parameter files: Files of the folder's file system, opened before they were written.
    /// - Returns: For each what it failed with; nil where it did not.
    package func synchronize(_ files: [OpenFile]) -> [SystemError?] {
        if files.count >= Self.fewest, synchronizeAll() { return files.map { _ in nil } }
        // Another file's bytes may be what could not be written. Each of these tells by itself.
        let isAlone = files.count == 1
        let begun = files.map { file in
            isAlone
                ? nil
                : Self.failure { () throws(SystemError) in
                    try SystemError.check("sync_file_range", file.path) { resume_files_begin_sync(file.descriptor) }
                }
        }
        return zip(files, begun).map { file, failure in
            failure ?? Self.failure { () throws(SystemError) in try file.synchronizeData() }
        }
    }

    private static func failure(of body: () throws(SystemError) -> Void) -> SystemError? {
        do {
            try body()
            return nil
        } catch {
            return error
        }
    }

    /// Syncs the file system, where it says what failed and did not take long the last time.
    private func synchronizeAll() -> Bool {
        let begin = ContinuousClock.now
        if let end = slowUntil.withLock({ $0 }), begin < end { return false }
        let isDone = resume_files_sync_file_system(folder.file.descriptor) == 0
        let end = ContinuousClock.now
        if end - begin > Self.patience { slowUntil.withLock { $0 = end + Self.pause } }
        return isDone
    }
}
