import ResumeFiles
import ResumeSQLite
import Synchronization

/// What the streams into one blob share: the accounts of its parts, its flushes to disk, and what may be read of it.
final class BlobWriter: Sendable {
    /// The blob that is flushed.
    struct Subject {
        let entry: Entry
        let blob: OpenFile
        let name: BlobName

        init?(_ entry: Entry, blob: (any BodyStorage)?) {
            guard let blob = blob as? OpenFile, let name = entry.blobName else { return nil }
            self.entry = entry
            self.blob = blob
            self.name = name
        }

        /// Whether both are the same bytes of the same row.
        func isSame(as other: Self?) -> Bool {
            entry.id == other?.entry.id && entry.generation == other?.entry.generation && blob === other?.blob
        }
    }

    enum Phase {
        case idle
        /// Waiting until a flush of a small amount of data is due.
        case waiting(Task<Void, Never>)
        case flushing(Task<Void, any Error>)
    }

    struct Flushing {
        let subject: Subject?
        /// The start of the last flush, by the store's clock.
        var lastStart: Duration
        var phase = Phase.idle
        var failure: StoreError?
    }

    struct State {
        var ledger: Ledger
        var flushing: Flushing
        var reading: Reading
    }

    /// The store; nil for one in memory, which has neither rows nor files.
    let store: DownloadStore?
    let state: OrderedMutex<State>
    /// Held during a commit, so that the commits of a part are made in order.
    private let committing = OrderedMutex(.commit, ())
    let clock: StoreClock
    /// The number of bytes that may be written before room is made for more.
    let allowance: Atomic<Int64>
    /// The most bytes that a power loss may cost.
    let interval: Int64

    init(_ entry: Entry, _ blob: (any BodyStorage)?, in store: DownloadStore?, unread: [Block], isWithheld: Bool) {
        self.store = store
        // Memory has limits of its own.
        allowance = Atomic(store == nil ? .max : 0)
        interval = store?.configuration.durableInterval ?? .max
        clock = store?.configuration.clock ?? .continuous
        let now = clock.now()
        state = OrderedMutex(
            .state,
            State(
                ledger: Ledger(entry, at: now, interval: interval),
                flushing: Flushing(subject: Subject(entry, blob: blob), lastStart: now),
                reading: Reading(
                    blob: blob, totalLength: entry.totalBytes, unread: unread, isWithheld: isWithheld)))
    }

    /// Calls a closure with the accounts of all parts.
    func withLedger<Result: Sendable>(_ body: (inout Ledger) -> Result) -> Result {
        state.withLock { body(&$0.ledger) }
    }

    /// Changes the account of a part; see ``Ledger/update(_:_:)``.
    @discardableResult
    func update<Result: Sendable>(_ offset: Int64?, _ change: (inout PartLedger) -> Result) -> Result? {
        withLedger { $0.update(offset, change) }
    }

    /// Continues with a blob, or without one.
    ///
    /// - Parameters:
    ///   - blob: The blob.
    ///   - entry: The entry.
    ///   - givesUp: Whether bytes that could be read are no longer valid.
    ///   - unread: The blocks of another blob that must be compared with their checksums before they are read.
    func begin(with blob: (any BodyStorage)?, of entry: Entry, givesUp: Bool, unread: [Block]) {
        let ledger = Ledger(entry, at: clock.now(), interval: interval)
        reset(to: Subject(entry, blob: blob)) { state in
            state.ledger = ledger
            state.reading.begin(with: blob, totalLength: entry.totalBytes, givesUp: givesUp, unread: unread)
        }
        changed()
    }

    /// Ends writing: the blob may have another writer from now on.
    func release() { reset(to: nil) { _ in } }

    private func reset(to subject: Subject?, _ change: (inout State) -> Void) {
        var next = Flushing(subject: subject, lastStart: clock.now())
        // A file is closed after the lock is given up.
        let old = state.withLock { state in
            let old = state
            // It commits later, and is waited for by whoever closes the blob.
            if case .flushing = old.flushing.phase, subject?.isSame(as: old.flushing.subject) == true {
                next.phase = old.flushing.phase
            }
            state.flushing = next
            change(&state)
            return old
        }
        if case .waiting(let task) = old.flushing.phase { task.cancel() }
    }

    /// Whether more bytes may follow before a flush has ended.
    ///
    /// - Returns: False if the disk is slower than the network, so that the caller must wait for a flush.
    /// - Throws: The error of a flush in the background.
    func keepsUp() throws(StoreError) -> Bool {
        let (failure, atRisk) = state.withLock { ($0.flushing.failure, $0.ledger.atRisk) }
        if let failure { throw failure }
        return atRisk < interval
    }

    /// Records the bytes of a part that may be recorded; blocks.
    ///
    /// - Parameter part: The offset of the part; nil for the one that the main stream writes.
    /// - Throws: ``StoreError``, with `superseded` if another process restarted the entry.
    func record(_ part: Int64?) throws {
        do {
            try committing.withLock { _ in
                let now = clock.now()
                guard let commit = update(part, { $0.commit(at: now) }) ?? nil else { return }
                KillPoint.reached(.bytesWritten)
                let isCurrent = try store?.writeNow { connection in
                    try connection.checkpoint(
                        commit.row, received: commit.end - commit.row.offset, durable: 0, blocks: commit.blocks)
                }
                guard isCurrent == true else { throw StoreError.superseded }
                KillPoint.reached(.checkpointCommitted)
                update(part) { $0.wasRecorded(commit) }
            }
        } catch let error as StoreError where error.code == .superseded {
            // A failed flush also changes the generation, and is the better explanation.
            _ = try keepsUp()
            throw error
        }
    }

    /// Records the bytes of all parts; blocks.
    func recordAll() throws {
        for offset in withLedger({ $0.parts.map(\.offset) }) { try record(offset) }
    }
}

/// The bytes that may be written before room is made for more.
extension BlobWriter: StoreRoom.Receiver {
    var held: Int64 { withLedger(\.parts.heldBytes) }

    /// Whether more bytes may be written before room is made for them.
    var hasRoom: Bool { allowance.load(ordering: .relaxed) > 0 }

    /// Permits more bytes to be written.
    func allow(_ bytes: Int64) {
        allowance.add(bytes, ordering: .relaxed)
    }

    /// Counts bytes that were written.
    func spend(_ bytes: Int) {
        allowance.subtract(Int64(bytes), ordering: .relaxed)
    }
}
