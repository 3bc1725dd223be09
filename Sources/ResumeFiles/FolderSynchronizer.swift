internal import Synchronization

/// Brings the names in folders to disk.
///
/// Whoever asks while a sync runs shares the next one with all who ask meanwhile: for many names it takes hardly longer
/// than for one, and many small downloads begin and end at the same time.
package final class FolderSynchronizer: Sendable {
    /// That of this process: a folder is the same one whichever way it was opened.
    package static let shared = FolderSynchronizer()

    private typealias Waiter = CheckedContinuation<Void, any Error>

    /// Who waits for the next sync, for each folder of which one runs.
    private let waiters = Mutex<[FileIdentity: [Waiter]]>([:])

    /// Makes the names that are in a folder now survive a power loss.
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

    /// Syncs for as long as somebody waits.
    private func serve(_ folder: Folder, _ identity: FileIdentity) {
        while let served = next(identity) {
            let result = Result<Void, any Error> { try folder.file.synchronize() }
            for waiter in served { waiter.resume(with: result) }
            guard case .failure = result else { continue }
            // The system tells a failure once, and the next sync would succeed without having brought to disk the names of
            // those who came while this one ran.
            let failed = waiters.withLock { $0.updateValue([], forKey: identity) } ?? []
            for waiter in failed { waiter.resume(with: result) }
        }
    }

    /// Those whom the sync that begins now serves; nil where nobody waits any more.
    private func next(_ identity: FileIdentity) -> [Waiter]? {
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
