internal import ResumeFiles
internal import ResumeSQLite
internal import Synchronization

/// Small files on their way out of the store, many of them together.
///
/// To bring many files to disk takes hardly longer than to bring one. So those that come while one batch is on its way make
/// the next one; none waits for others to come. For each batch: bytes synced, files named, folders synced, one commit,
/// callers told.
final class DeliveryBatch: Sendable {
    /// A file without a name that is to get one.
    struct File: Sendable {
        let blob: OpenFile
        let length: Int64
        let destination: Destination
        /// Whether somebody waits for the same download: then it is not named.
        let isAwaited: @Sendable () -> Bool
        /// Records the delivery.
        let record: @Sendable (borrowing Connection) throws -> Void
    }

    /// How far a file came.
    enum Outcome: Sendable {
        case delivered
        /// It has no name, and nothing was changed: there is a file of that name, it is on another file system, or somebody
        /// waits for it.
        case unnamed
        /// Its bytes could not be brought to disk.
        case unsynced(SystemError)
        /// It has its name; what comes next failed.
        case named(StoreError)

        fileprivate var isDelivered: Bool {
            if case .delivered = self { true } else { false }
        }
    }

    private typealias Waiting = (file: File, waiter: CheckedContinuation<Outcome, Never>)

    private struct State {
        var waiting: [Waiting] = []
        /// Whether a batch is on its way.
        var isRunning = false
        /// Whether files of the store can get a name in a folder, by the bytes of its path; those where it was tried last.
        var folders: [[UInt8]: Bool] = [:]
    }

    /// How many files a batch has at most, and how many bytes beside its first file.
    private static let most = (files: 256, bytes: 64 << 20 as Int64)

    private let state = Mutex(State())
    private let synchronizer: BatchSynchronizer

    init(of folder: StoreFolder) {
        synchronizer = BatchSynchronizer(folder.blobs)
    }

    /// Whether a file can probably be named at a destination.
    ///
    /// It asks no disk but the store's own, since another one may not answer. Whether a folder is on it shows when a file
    /// is named there: the number of the device would not tell, since one can be mounted at two places.
    func canTake(_ destination: Destination) -> Bool {
        let path = Array(destination.folder.utf8)
        return switch state.withLock({ $0.folders[path] }) {
        case true: destination.isFree
        case false: false
        case nil: true
        }
    }

    /// Delivers a file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - store: Where it comes from.
    /// - Returns: How far it came.
    func deliver(_ file: File, from store: DownloadStore) async -> Outcome {
        await withCheckedContinuation { waiter in
            let isServed = state.withLock { state in
                state.waiting.append((file, waiter))
                defer { state.isRunning = true }
                return state.isRunning
            }
            if !isServed { Blocking.begin { self.serve(store) } }
        }
    }

    /// Whether somebody waits.
    private func hasMore() -> Bool {
        state.withLock { state in
            state.isRunning = !state.waiting.isEmpty
            return state.isRunning
        }
    }

    /// Delivers for as long as somebody waits.
    private func serve(_ store: DownloadStore) {
        repeat {
            for (waiter, outcome) in serveNext(store) { waiter.resume(returning: outcome) }
        } while hasMore()
    }

    /// Delivers the next batch.
    ///
    /// Its files are let go of before anyone is told: with them goes the right to work on the download.
    ///
    /// - Returns: Whom to tell, and what.
    private func serveNext(_ store: DownloadStore) -> [(CheckedContinuation<Outcome, Never>, Outcome)] {
        let batch = next()
        return Array(zip(batch.map(\.waiter), deliver(batch.map(\.file), for: store)))
    }

    /// Gives a file its name, and remembers whether that can be done in this folder.
    private func isNamed(_ file: File, in folder: Folder, _ path: [UInt8]) -> Bool {
        do {
            try file.blob.name(file.destination.name, in: folder)
            note(path, takesFiles: true)
            return true
        } catch {
            if [EXDEV, EPERM, EOPNOTSUPP, ENOSYS].contains(error.number) { note(path, takesFiles: false) }
            // Linux looks for the name first. From now on that is done before the file comes here.
            if error.number == EEXIST { note(path, takesFiles: true) }
            return false
        }
    }

    private func note(_ path: [UInt8], takesFiles: Bool) {
        state.withLock { state in
            if state.folders[path] == nil, state.folders.count >= Self.most.files { state.folders = [:] }
            state.folders[path] = takesFiles
        }
    }

    private func next() -> [Waiting] {
        state.withLock { state in
            var bytes: Int64 = 0
            let count = state.waiting.prefix(Self.most.files).prefix { waiting in
                defer { bytes += waiting.file.length }
                return bytes <= Self.most.bytes
            }.count
            defer { state.waiting.removeFirst(count) }
            return Array(state.waiting.prefix(count))
        }
    }

    /// Delivers some files together.
    ///
    /// - Returns: How far each of them came.
    private func deliver(_ files: [File], for store: DownloadStore) -> [Outcome] {
        var outcomes = synchronizer.synchronize(files.map(\.blob)).map { $0.map(Outcome.unsynced) ?? .unnamed }
        // By the bytes of their paths: two spellings that look the same are two folders.
        var folders: [[UInt8]: (folder: Folder, named: [Int])] = [:]
        for (index, file) in files.enumerated() {
            guard case .unnamed = outcomes[index], !file.isAwaited() else { continue }
            let path = Array(file.destination.folder.utf8)
            guard let folder = folders[path]?.folder ?? (try? Folder(file.destination.folder, followsLinks: true)),
                isNamed(file, in: folder, path)
            else { continue }
            KillPoint.reached(.deliveryRenamed)
            folders[path, default: (folder, [])].named.append(index)
        }
        for (folder, named) in folders.values {
            let outcome: Outcome
            do {
                try folder.file.synchronize()
                outcome = .delivered
            } catch {
                outcome = .named(StoreError(writingDestination: error))
            }
            for index in named { outcomes[index] = outcome }
        }
        let whole = zip(files, outcomes).filter { $1.isDelivered }.map(\.0)
        guard !whole.isEmpty else { return outcomes }
        KillPoint.reached(.deliverySynced)
        do {
            try store.writeNow { connection in
                for file in whole { try file.record(connection) }
            }
            KillPoint.reached(.rowRemoved)
            return outcomes
        } catch {
            let failure = Outcome.named(StoreError(wrapping: error))
            return outcomes.map { $0.isDelivered ? failure : $0 }
        }
    }
}
