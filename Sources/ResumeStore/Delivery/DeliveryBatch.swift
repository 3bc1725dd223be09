import ResumeFiles
import ResumeSQLite
import Synchronization

/// Delivers small files together.
///
/// Syncing many files takes hardly longer than syncing one. Files that arrive while one batch is being delivered form
/// the next one; no file waits for others to arrive. Each batch syncs the bytes, names the files, syncs the folders,
/// makes one commit and then resumes the callers.
final class DeliveryBatch: Sendable {
    /// An unnamed file to be named at its destination.
    final class File: Sendable {
        let blob: OpenFile
        let length: Int64
        let destination: Destination
        let departure: Departure
        /// The lease of the download; if another task or process waits for it, the file is not named.
        let lease: Lease

        init(
            _ blob: OpenFile, length: Int64, to destination: Destination, _ departure: Departure, under lease: Lease
        ) {
            self.blob = blob
            self.length = length
            self.destination = destination
            self.departure = departure
            self.lease = lease
        }

        fileprivate var delivered: DeliveredFile.Text? {
            departure.needsFile ? (try? blob.status()).map(departure.text) : nil
        }
    }

    /// The result of delivering a file.
    enum Outcome {
        case delivered
        /// The file was not named and nothing was changed: the name exists and may not be replaced, the destination is
        /// on another file system, or another task or process waits for the download.
        case unnamed
        /// The file was named in the store, but could not be moved to the destination from there.
        case stored(StoreFolder.BlobCreation)
        /// The file's bytes could not be synced.
        case unsynced(SystemError)
        /// The file was named, but a later step failed.
        case named(StoreError)

        fileprivate var isDelivered: Bool {
            if case .delivered = self { true } else { false }
        }
    }

    private typealias Waiting = (file: File, waiter: CheckedContinuation<Outcome, Never>)

    private struct State {
        var waiting: [Waiting] = []
        /// Whether a batch is being delivered.
        var isRunning = false
        /// Whether files of the store can be named in a folder, by the bytes of its path, for recently used folders.
        var folders: [[UInt8]: Bool] = [:]
    }

    /// The maximum number of files of a batch, and of bytes in addition to its first file.
    private static let most = (files: 256, bytes: 64 << 20 as Int64)

    private let state = Mutex(State())
    private let store: StoreFolder
    private let synchronizer: BatchSynchronizer

    init(of folder: StoreFolder) {
        store = folder
        synchronizer = BatchSynchronizer(folder.blobs)
    }

    /// Whether a file can probably be named at a destination.
    ///
    /// Only the store's own disk is accessed, since another one may not respond. Whether the folder is on the same file
    /// system shows when a file is named there. The device number does not tell, since a device can be mounted in two
    /// places.
    func canTake(_ destination: Destination) -> Bool {
        state.withLock { $0.folders[Array(destination.folder.utf8)] } != false
    }

    /// Delivers a file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - store: The store that has the file.
    /// - Returns: The result.
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

    /// Delivers batches until no file is waiting.
    private func serve(_ store: DownloadStore) {
        while let results = serveNext(store) {
            for (waiter, outcome) in results { waiter.resume(returning: outcome) }
        }
    }

    /// Delivers the next batch.
    ///
    /// Its files are released before any caller is resumed, because each file keeps the lease of its download.
    ///
    /// - Returns: Whom to tell, and what; nil if no file is waiting.
    private func serveNext(_ store: DownloadStore) -> [(CheckedContinuation<Outcome, Never>, Outcome)]? {
        let batch = next()
        if batch.isEmpty { return nil }
        let outcomes = deliver(batch.map(\.file), for: store)
        return Array(zip(batch.map(\.waiter), outcomes))
    }

    /// Names a file, and remembers whether that is possible in this folder.
    ///
    /// - Returns: Why it could not be named; nil if it was.
    private func name(_ file: File, in folder: Folder, _ path: [UInt8]) -> Outcome? {
        do {
            try file.blob.name(file.destination.name, in: folder)
            note(path, takesFiles: true)
            return nil
        } catch {
            if error.number == EEXIST, file.destination.replaces { return replace(file, in: folder, path) }
            if [EXDEV, EPERM, EOPNOTSUPP, ENOSYS].contains(error.number) { note(path, takesFiles: false) }
            return .unnamed
        }
    }

    /// Replaces the file at the destination: an open file can only be given a new name, and a rename needs a name to
    /// begin with.
    ///
    /// That name is in the store, so that what is left after a crash is an orphan that the collector removes.
    private func replace(_ file: File, in folder: Folder, _ path: [UInt8]) -> Outcome? {
        let creation: StoreFolder.BlobCreation
        do {
            // What a link leads to may not respond, and the other files would wait for it.
            let status = try folder.status(of: file.destination.name)
            if status?.kind == .link { return .unnamed }
            // A pipe, a socket or a device may have been created under this name since the start.
            try file.destination.requireReplaceable(over: status)
            creation = try StoreFolder.BlobCreation(of: file.blob, in: store)
        } catch {
            // The delivery of this file alone reports the error.
            return .unnamed
        }
        KillPoint.reached(.deliveryStaged)
        do throws(SystemError) {
            try file.destination.access(in: folder).give(to: file.blob)
            try creation.folder.move(creation.name.fileName, to: folder, as: file.destination.name)
            note(path, takesFiles: true)
            return nil
        } catch {
            // Other errors may concern only the file that is replaced.
            if error.number == EXDEV { note(path, takesFiles: false) }
            return .stored(creation)
        }
    }

    /// Opens the folder of a destination; nil if files of the store would not get its group or access control list.
    private func folder(of destination: Destination, _ path: [UInt8]) -> Folder? {
        guard let folder = try? Folder(destination.folder, followsLinks: true),
            let givesAccess = try? folder.givesAccess
        else { return nil }
        if givesAccess { note(path, takesFiles: false) }
        return givesAccess ? nil : folder
    }

    private func note(_ path: [UInt8], takesFiles: Bool) {
        state.withLock { state in
            if state.folders[path] == nil, state.folders.count >= Self.most.files { state.folders = [:] }
            state.folders[path] = takesFiles
        }
    }

    /// Takes the next batch; if no file is waiting, the next one that arrives begins to deliver again.
    private func next() -> [Waiting] {
        state.withLock { state in
            state.isRunning = !state.waiting.isEmpty
            var bytes: Int64 = 0
            let count = state.waiting.prefix(Self.most.files).prefix { waiting in
                defer { bytes += waiting.file.length }
                return bytes <= Self.most.bytes
            }.count
            defer { state.waiting.removeFirst(count) }
            return Array(state.waiting.prefix(count))
        }
    }

    /// Delivers several files together.
    ///
    /// - Returns: How far each of them came.
    private func deliver(_ files: [File], for store: DownloadStore) -> [Outcome] {
        let announced = files.map(\.delivered)
        if files.contains(where: \.departure.isRecorded) {
            do {
                // Before the sync, which then mostly includes the log of the database.
                try store.writeNow { connection in
                    for case (let file, let delivered?) in zip(files, announced) where file.departure.isRecorded {
                        try file.departure.announce(delivered, connection)
                    }
                }
            } catch {
                return files.map { _ in .unnamed }
            }
        }
        var outcomes = synchronizer.synchronize(files.map(\.blob)).map { $0.map(Outcome.unsynced) ?? .unnamed }
        // By the bytes of their paths: two spellings that look the same are two folders.
        var folders: [[UInt8]: (folder: Folder, named: [Int])] = [:]
        for (index, file) in files.enumerated() {
            guard case .unnamed = outcomes[index], !file.lease.isAwaited else { continue }
            let path = Array(file.destination.folder.utf8)
            guard let folder = folders[path]?.folder ?? self.folder(of: file.destination, path) else { continue }
            if let failure = name(file, in: folder, path) {
                outcomes[index] = failure
                continue
            }
            KillPoint.reached(.deliveryRenamed)
            folders[path, default: (folder, [])].named.append(index)
        }
        for (folder, named) in folders.values {
            let outcome: Outcome
            do {
                try folder.synchronize()
                outcome = .delivered
            } catch {
                outcome = .named(StoreError(writingDestination: error))
            }
            for index in named { outcomes[index] = outcome }
        }
        let whole = zip(zip(files, announced), outcomes).filter { $1.isDelivered }.map(\.0)
        guard !whole.isEmpty else { return outcomes }
        KillPoint.reached(.deliverySynced)
        do {
            try store.writeNow { connection in
                try connection.record(
                    whole.map { file, announced in
                        // Its name has changed its status, and the proof of a digest is that of the status.
                        (
                            file.departure,
                            file.departure.digest == nil ? announced : announced?.renewed(with: file.delivered)
                        )
                    })
            }
            KillPoint.reached(.rowRemoved)
            return outcomes
        } catch {
            let failure = Outcome.named(StoreError(wrapping: error))
            return outcomes.map { $0.isDelivered ? failure : $0 }
        }
    }
}
