internal import ResumeFiles
internal import ResumeHTTP
internal import Synchronization

/// One stream into a blob: writes and records bytes on the thread that received them.
///
/// A download has one stream, or several side by side at different offsets. Each writes one part, whose row says how
/// many of its bytes are recorded. No two streams write the same bytes. ``PartLedger`` decides what is recorded when.
package final class PartStream: Sendable {
    /// The most bytes that are written at once.
    static let pieceSize = 256 << 10
    /// How often bytes that wait for a commit are checked.
    private static let lookInterval: Duration = .milliseconds(20)
    /// The delay before a commit that failed is tried again, if no bytes arrive.
    private static let retryInterval: Duration = .milliseconds(200)

    let writer: BodyWriter
    private let store: DownloadStore
    private let sync: BlobSync
    private let readable: ReadableBlob
    /// Commits when no more bytes arrive.
    private let look = Mutex<Task<Void, Never>?>(nil)

    /// Creates the stream that writes the part at an offset; nil for the main stream.
    init(_ offset: Int64?, of store: DownloadStore, sync: BlobSync, readable: ReadableBlob) {
        (self.store, self.sync, self.readable) = (store, sync, readable)
        writer = BodyWriter(PartAccount(ledger: sync.ledger, offset: offset))
    }

    var account: PartAccount { writer.account }

    /// The end of the received bytes in the blob, recorded or not.
    package var held: Int64 { account.received }

    /// The end of the bytes that survive the process.
    package var recorded: Int64 { account.recorded }

    /// The end of this stream, excluded: the next stream, or the end of the representation.
    package var end: Int64 { account.update { $0.wantedEnd } ?? .max }

    /// Whether every announced byte of its body was received.
    package var hasWholeBody: Bool { writer.course(\.isWhole) ?? false }

    /// Whether all requested bytes have been received although the body continues.
    package var hasAllWanted: Bool { writer.course(\.hasAllWanted) ?? false }

    /// Whether all bytes of this stream were received, but bytes behind them remain to be compared.
    package var isAtBorder: Bool { held >= end && writer.course(\.isAtBorder) ?? false }

    /// Whether all bytes of this stream were received, and only bytes of the next stream remain to be compared.
    package var isAtSuccessor: Bool { held >= end && writer.course(\.isAtSuccessor) ?? false }

    // MARK: Bodies

    /// Begins with the body of a response.
    ///
    /// - Parameters:
    ///   - continuation: The verdict on the response.
    ///   - blob: The blob.
    ///   - end: The end of the representation, if the body announces none.
    ///   - awaitsDigest: Whether a digest of the body will be compared.
    /// - Throws: ``StoreError`` with `misuse` if the body would leave a gap.
    func begin(
        _ continuation: Verdict.Continuation, of blob: OpenFile, upTo end: Int64?, awaitsDigest: Bool = false
    ) throws {
        try writer.begin(continuation, of: blob)
        let isToCompare = continuation.bodyEnd ?? .max < continuation.comparedEnd ?? 0
        account.update {
            $0.beginBody(
                upTo: continuation.bodyEnd, isHeldBack: awaitsDigest || isToCompare, awaitsDigest: awaitsDigest,
                representationEnd: end)
        }
    }

    /// Leaves the rest from an offset on to another stream.
    ///
    /// - Returns: False if this one has already reached that offset.
    /// - Throws: ``StoreError``
    func shorten(to end: Int64, before successor: PartStream, overlap: Int64) throws -> Bool {
        // Otherwise the bytes behind the new border would prevent recording all earlier ones.
        if held > PartLedger.border(end) { try checkpoint() }
        // Before the body can reach the border.
        let before = account.update { $0.holdBack(from: PartLedger.border(end)) } ?? nil
        guard writer.shorten(to: end, before: successor.account.partOffset, overlap: overlap) else {
            let isCompared = writer.course(\.isCompared) ?? false
            account.update {
                $0.holdBack(from: before)
                if isCompared { $0.wasCompared() }
            }
            return false
        }
        account.update { $0.shorten(to: end) }
        return true
    }

    /// Records that the body has ended and is not known to differ from its `Content-Digest`.
    ///
    /// Everything is recorded from now on, unless bytes behind it are still to be compared.
    func bodyEnded() {
        guard writer.hasBody, writer.course(\.isAtBorder) == false else { return }
        account.update { $0.holdBack(from: nil) }
    }

    /// Handles the next part of the body; blocks the calling thread.
    ///
    /// Parts must be passed one at a time, in order.
    ///
    /// - Returns: Whether more bytes may follow at once. If not, call ``catchUp()`` first, unless ``hasAllWanted``. If
    ///   it ``isAtSuccessor``, wait no longer than the comparison is worth.
    /// - Throws: ``StoreError``
    package func append(_ bytes: RawSpan) throws -> Bool {
        try StoreError.refuseForkedChild()
        var rest = bytes
        var wantsMore = true
        while !rest.isEmpty, wantsMore {
            // In pieces, so that the loss in a crash does not grow with the size of the part, and exactly up to the
            // border, so that only bytes behind the border are held back.
            let border = account.update { $0.awaitsDigest ? nil : $0.border } ?? nil
            let beforeBorder = border.flatMap { border in writer.course { $0.bytesToCome(before: border) } } ?? 0
            let size = beforeBorder > 0 ? min(Self.pieceSize, Int(clamping: beforeBorder)) : Self.pieceSize
            wantsMore = try writer.append(rest.extracting(first: size))
            rest = rest.extracting(droppingFirst: size)
            readable.changed()
            if beforeBorder > 0, held == border { try checkpoint() } else { try recordIfDue() }
        }
        return try sync.keepsUp() && wantsMore && !isAtSuccessor
    }

    /// Waits for a flush that is slower than the network.
    ///
    /// - Throws: The error of a flush.
    package func catchUp() async throws {
        if try !sync.keepsUp() { try await sync.finish() }
    }

    /// Ends the body, and stops checking for bytes that wait for a commit.
    func stop() {
        writer.end()
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
        try sync.record(account)
        sync.proceed()
    }

    /// Records like ``checkpoint()`` if a commit is due, now or later.
    func recordIfDue() throws {
        let now = store.configuration.clock.now()
        let (isDue, isWaiting) = account.update { ($0.isDue(at: now), $0.hasUnrecorded) } ?? (false, false)
        if isDue {
            try sync.record(account, onlyIfDue: true)
            sync.proceed()
        } else if isWaiting {
            look.withLock { look in look = look ?? Task { [weak self] in await self?.recordLater() } }
        }
    }

    /// Commits when that becomes due, until nothing waits for a commit.
    private func recordLater() async {
        let clock = store.configuration.clock
        var pause = Self.lookInterval
        while true {
            do {
                try await clock.sleep(clock.now() + pause)
                let now = clock.now()
                let isWaiting = look.withLock { look in
                    let isWaiting = account.update { $0.hasUnrecorded } ?? false
                    if !isWaiting, !Task.isCancelled { look = nil }
                    return isWaiting
                }
                guard isWaiting else { return }
                if account.update({ $0.isDue(at: now) }) ?? false {
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
