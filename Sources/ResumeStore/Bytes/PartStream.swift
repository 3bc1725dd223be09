import ResumeFiles
import Synchronization

/// One stream into a blob: writes bytes on the thread that received them, and records them on another one.
///
/// A download has one stream, or several side by side at different offsets. Each writes one part, whose row says how
/// many of its bytes are recorded. No two streams write the same bytes. ``PartLedger`` decides what is recorded when.
package final class PartStream: Sendable {
    /// The most bytes that are written between two looks at what is to be committed.
    package static let pieceSize = 256 << 10
    /// How often bytes that wait for a commit are checked.
    private static let lookInterval: Duration = .milliseconds(20)
    /// The delay before a commit that failed is tried again, if no bytes arrive.
    private static let retryInterval: Duration = .milliseconds(200)

    /// The offset of the part; nil for the main stream, whose part is set by the ledger.
    private let part: Int64?
    /// The current body, locked during a write: wait for it only to end the body, or between two parts of it.
    let body = OrderedMutex<Body?>(.body, nil)
    let writer: BlobWriter
    /// Commits when no more bytes arrive.
    private let look = OrderedMutex<Task<Void, Never>?>(.look, nil)

    /// Creates the stream that writes the part at an offset; nil for the main stream.
    init(_ offset: Int64?, _ writer: BlobWriter) {
        part = offset
        self.writer = writer
    }

    /// Calls a closure with the account of the part.
    ///
    /// - Returns: The result of the closure; nil if the part was discarded.
    @discardableResult
    func update<Result: Sendable>(_ body: (inout PartLedger) -> Result) -> Result? { writer.update(part, body) }

    var partOffset: Int64 { writer.withLedger { part ?? $0.mainOffset } }

    /// The end of the received bytes in the blob, recorded or not.
    package var held: Int64 { update { $0.received } ?? 0 }

    /// The end of the bytes that survive the process.
    package var recorded: Int64 { update { $0.recorded } ?? 0 }

    /// The end of this stream, excluded: the next stream, or the end of the representation.
    package var end: Int64 { update { $0.wantedEnd } ?? .max }

    /// Whether every announced byte of its body was received.
    package var hasWholeBody: Bool { course(\.isWhole) ?? false }

    /// Whether all requested bytes have been received although the body continues.
    package var hasAllWanted: Bool { course(\.hasAllWanted) ?? false }

    /// Whether all bytes of this stream were received, but bytes behind them remain to be compared.
    var isAtBorder: Bool { course(\.isAtBorder) == true && held >= end }

    /// Whether all bytes of this stream were received, and only bytes of the next stream remain to be compared.
    package var isAtSuccessor: Bool { course(\.isAtSuccessor) == true && held >= end }

    /// Returns the offset at which the next bytes of the body end, without those that are not wanted; nil without a body.
    package func end(after count: Int) -> Int64? { course { $0.end(after: count) } }

    /// What the body is written to.
    private var storage: (any BodyStorage)? { body.withLock { $0?.storage } }

    // MARK: Receiving

    /// Handles the next part of the body: compares it or writes it.
    ///
    /// It waits for the file system only, never for the database, so that an event loop may call it. Parts must be
    /// passed one at a time, in order, and be at most ``pieceSize`` long, since all of one may be lost with the process.
    ///
    /// - Returns: Whether more bytes may follow at once. If not, call ``catchUp()`` first, unless ``hasAllWanted``. If
    ///   it ``isAtSuccessor``, wait no longer than the comparison is worth.
    /// - Throws: ``StoreError``
    package func append(_ bytes: RawSpan) throws -> Bool {
        try StoreError.refuseForkedChild()
        assert(bytes.byteCount <= Self.pieceSize, "more than may be lost")
        let wantsMore = try StoreError.wrapping { try appendPiece(bytes) }
        writer.changed()
        let keepsUp = try writer.keepsUp() && !awaitsCommit()
        return keepsUp && wantsMore && !isAtSuccessor && writer.hasRoom && storage?.hasRoom != false
    }

    /// Makes a commit that is due, and waits for a flush, or a reader, that is slower than the network;
    /// makes room for the next bytes.
    ///
    /// - Throws: The error of a commit or of a flush; `CancellationError`.
    package func catchUp() async throws {
        if awaitsCommit() { try await Blocking.run { try self.recordIfDue() } }
        if try !writer.keepsUp() { try await writer.finish() }
        if !writer.hasRoom, let store = writer.store { try await Collector(store).makeRoom(for: writer) }
        try await storage?.waitForRoom()
    }

    /// Ends the body, and stops checking for bytes that wait for a commit.
    func stop() {
        endBody()
        look.withLock { $0?.cancel() }
    }

    /// Stops like ``stop()``, and continues with the current state of the ledger.
    func restart() {
        stop()
        look.withLock { $0 = nil }
    }

    // MARK: Commits

    /// Records everything that may be recorded, and starts a flush if one is due; blocks.
    ///
    /// - Throws: ``StoreError``, with `superseded` if another process restarted the entry.
    package func checkpoint() throws {
        try writer.record(part)
        writer.proceed()
    }

    /// Records like ``checkpoint()`` if a commit is due, now or later.
    func recordIfDue() throws {
        if awaitsCommit() { try checkpoint() }
    }

    /// Whether a commit is due.
    ///
    /// One that is due later is made in the background if no more bytes arrive.
    private func awaitsCommit() -> Bool {
        let now = writer.clock.now()
        let (isDue, isWaiting) = update { ($0.isDue(at: now), $0.hasUnrecorded) } ?? (false, false)
        if isWaiting, !isDue {
            look.withLock { look in look = look ?? Task { [weak self] in await self?.recordLater() } }
        }
        return isDue
    }

    /// Commits when that becomes due, until nothing waits for a commit.
    private func recordLater() async {
        let clock = writer.clock
        var pause = Self.lookInterval
        while true {
            do {
                try await clock.sleep(clock.now() + pause)
                let now = clock.now()
                let isWaiting = look.withLock { look in
                    let isWaiting = update { $0.hasUnrecorded } ?? false
                    if !isWaiting, !Task.isCancelled { look = nil }
                    return isWaiting
                }
                guard isWaiting else { return }
                if update({ $0.isDue(at: now) }) ?? false {
                    try await Blocking.run { try self.checkpoint() }
                }
                pause = Self.lookInterval
            } catch is CancellationError {
                return
            } catch let error as StoreError where error.code == .superseded {
                // The next call reports it.
                return
            } catch {
                pause = Self.retryInterval
            }
        }
    }
}
