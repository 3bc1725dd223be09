internal import Synchronization

/// Brings the names in folders to disk.
///
/// Whoever asks while a sync runs shares the next one with all who ask meanwhile: for many names it takes hardly longer
/// than for one, and many small downloads begin and end at the same time.
final class FolderSynchronizer: Sendable {
    /// That of this process: a folder is the same one whichever way it was opened.
    static let shared = FolderSynchronizer()

    private typealias Waiter = CheckedContinuation<Void, any Error>

    /// Who waits for the next sync, for each folder of which one runs.
    private let waiters = Mutex<[FileIdentity: [Waiter]]>([:])

    /// Makes the names that are in a folder now survive a power loss.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - transfer: Whose queue this may block.
    /// - Throws: ``SystemError``
    func synchronize(_ folder: Folder, on transfer: isolated Transfer) async throws {
        let identity = try folder.file.status().identity
        let isAlone = waiters.withLock { waiters in
            guard waiters[identity] == nil else { return false }
            waiters[identity] = []
            return true
        }
        if isAlone {
            let result = Result { try folder.file.synchronize() }
            if case .failure = result { failWaiters(of: identity, with: result) }
            // Those who come meanwhile are served elsewhere: there may be no end of them.
            Task { await serve(folder, identity) }
            return try result.get()
        }
        try await withCheckedThrowingContinuation { (waiter: Waiter) in
            let isServed = waiters.withLock { waiters in
                guard waiters[identity] != nil else {
                    waiters[identity] = [waiter]
                    return false
                }
                waiters[identity]?.append(waiter)
                return true
            }
            if !isServed { Task { await serve(folder, identity) } }
        }
    }

    /// Syncs for as long as somebody waits.
    private func serve(_ folder: Folder, _ identity: FileIdentity) async {
        while let served = next(identity) {
            let result: Result<Void, any Error>
            do {
                result = .success(try await Blocking.run { try folder.file.synchronize() })
            } catch {
                result = .failure(error)
            }
            for waiter in served { waiter.resume(with: result) }
            if case .failure = result { failWaiters(of: identity, with: result) }
        }
    }

    /// Tells a failure also to those who came while that sync ran: the system tells it once, and the next one would
    /// succeed without having brought their names to disk.
    private func failWaiters(of identity: FileIdentity, with result: Result<Void, any Error>) {
        let failed = waiters.withLock { waiters in
            defer { waiters[identity] = [] }
            return waiters[identity] ?? []
        }
        for waiter in failed { waiter.resume(with: result) }
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
