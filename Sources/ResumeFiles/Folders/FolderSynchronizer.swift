import Synchronization

/// Flushes the names in folders to disk.
///
/// Requests that arrive during a sync share the next one. A sync of many names takes hardly longer than that of one,
/// and many small downloads start and end at the same time.
package final class FolderSynchronizer: Sendable {
    /// The synchronizer of this process.
    ///
    /// A folder is identified by its inode, so it does not matter how it was opened.
    package static let shared = FolderSynchronizer()

    private typealias Waiter = CheckedContinuation<Void, any Error>

    /// The requests that wait for the next sync of each folder that is being synced.
    private let waiters = Mutex<[FileStatus.Identity: [Waiter]]>([:])

    /// Makes the current names in a folder survive a power loss.
    ///
    /// - Throws: ``SystemError``
    package func synchronize(_ folder: Folder) async throws {
        let identity = try folder.file.status().identity
        try await withCheckedThrowingContinuation { (waiter: Waiter) in
            let isServed = waiters.withLock { waiters in
                defer { waiters[identity, default: []].append(waiter) }
                return waiters[identity] != nil
            }
            if !isServed { Blocking.begin { self.serve(folder, identity) } }
        }
    }

    /// Syncs the folder until no request is waiting.
    private func serve(_ folder: Folder, _ identity: FileStatus.Identity) {
        while let served = next(identity) {
            let result = Result<Void, any Error> { try folder.synchronize() }
            for waiter in served { waiter.resume(with: result) }
            guard case .failure = result else { continue }
            // The system reports a failure once. The next sync would succeed although the names of the requests that
            // arrived during this one may not be on disk.
            guard let failed = next(identity) else { return }
            for waiter in failed { waiter.resume(with: result) }
        }
    }

    /// Takes the requests that the next sync serves; nil if there are none.
    private func next(_ identity: FileStatus.Identity) -> [Waiter]? {
        waiters.withLock { waiters in
            guard let waiting = waiters[identity], !waiting.isEmpty else {
                waiters[identity] = nil
                return nil
            }
            waiters[identity] = []
            return waiting
        }
    }
}
