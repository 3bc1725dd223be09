internal import ResumeHTTP
internal import Synchronization

/// One stream into a blob: bytes from an offset on, which are written and recorded on the thread where they come.
///
/// A download has one, or several beside one another at offsets of their own, each with a row that says how much of it
/// is held. No two of them ever write the same bytes.
package final class Segment: Sendable {
    /// How many bytes are written at once, at most.
    static let pieceSize = 256 << 10
    /// How many of the last bytes before a border are recorded only when it was compared.
    private static let borderLength: Int64 = 4096

    let writer: BodyWriter
    let recorder: ProgressRecorder
    private let synchronizer: Synchronizer
    /// Told of what is written.
    private let readable: ReadableBlob
    /// Where the part begins whose row says how much is held.
    private let partOffset: Atomic<Int64>
    private let wantedEnd: Atomic<Int64>
    /// Whether its body is still to be compared with its `Content-Digest`.
    private let awaitsDigest = Atomic(false)

    init(
        store: DownloadStore, part: PartReference, held: Int64, synchronizer: Synchronizer,
        readable: ReadableBlob
    ) {
        self.readable = readable
        writer = BodyWriter(held: held)
        recorder = ProgressRecorder(store: store, writer: writer, part: part)
        self.synchronizer = synchronizer
        partOffset = Atomic(part.offset)
        wantedEnd = Atomic(.max)
    }

    /// Where the bytes end that lie in the blob, recorded or not.
    package var held: Int64 { writer.held }

    /// Where the bytes end that survive the process.
    package var recorded: Int64 { recorder.recorded }

    /// The bytes of its part, with those that were held of it before; and whether what lies behind them is known to
    /// follow on them.
    var run: (range: Range<Int64>, isCompared: Bool) {
        // The other way round bytes that came meanwhile might count as compared.
        let isCompared = writer.isCompared
        let start = partOffset.load(ordering: .acquiring)
        return (start..<max(start, held), isCompared)
    }

    /// Where this stream ends, excluded: at the next one, or with the representation.
    package var end: Int64 { wantedEnd.load(ordering: .acquiring) }

    /// Whether every byte came that was announced of its body.
    package var hasWholeBody: Bool { writer.hasWholeBody }

    /// Whether its body goes on, but nothing more of it is wanted.
    package var hasAllWanted: Bool { writer.hasAllWanted }

    /// Whether all of its bytes came, and some that are held behind them are to be compared.
    package var isAtBorder: Bool { held >= end && writer.isAtBorder }

    /// Whether all of its bytes came, and only the next stream's are to be compared with what its body goes on with.
    package var isAtSuccessor: Bool { held >= end && writer.isAtSuccessor }

    /// A part as it is by now, if it is this one's.
    func updating(_ chunk: Entry.Chunk) -> Entry.Chunk {
        guard chunk.offset == partOffset.load(ordering: .acquiring) else { return chunk }
        var chunk = chunk
        chunk.length = max(chunk.length, held - chunk.offset)
        return chunk
    }

    /// Begins with the body of a response.
    ///
    /// Its last bytes are not recorded before it was compared with what is held behind them, nor while a digest of all of
    /// it is to be compared yet: the process may die in between.
    func begin(
        _ continuation: Verdict.Continuation, of blob: OpenFile, upTo end: Int64?, awaitsDigest: Bool = false
    ) throws {
        let isToCompare = continuation.bodyEnd ?? .max < continuation.comparedEnd ?? 0
        recorder.holdBack(from: awaitsDigest || isToCompare ? continuation.bodyEnd.map(Self.border) : nil)
        self.awaitsDigest.store(awaitsDigest, ordering: .relaxed)
        try writer.begin(BodyWriter.Body(continuation, of: blob))
        wantedEnd.store(continuation.bodyEnd ?? end ?? .max, ordering: .releasing)
    }

    /// Gives the rest from an offset on to another stream.
    ///
    /// Its own last bytes are not recorded before the border was compared: whatever ends it sooner leaves a gap, and who
    /// fills that compares what lies on both sides of it.
    ///
    /// - Returns: Whether it had not come so far.
    /// - Throws: ``StoreError``
    func shorten(to end: Int64, before successor: Segment, overlap: Int64) throws -> Bool {
        // Else what has come of them already would keep back all that is not recorded yet.
        if held > Self.border(end) { try checkpoint() }
        // Before the body can come so far.
        let before = recorder.holdBack(from: Self.border(end))
        guard writer.shorten(to: end, before: successor.writer, overlap: overlap) else {
            recorder.holdBack(from: before)
            // It may have come to its old end meanwhile.
            releaseIfCompared()
            return false
        }
        wantedEnd.store(end, ordering: .releasing)
        return true
    }

    /// Takes note that the body has ended, and is not known to be another one than its `Content-Digest` says.
    ///
    /// All that came is recorded from now on, unless what is held behind it was not compared.
    func bodyEnded() {
        guard writer.hasBody, !writer.isAtBorder else { return }
        recorder.holdBack(from: nil)
    }

    private func releaseIfCompared() {
        if writer.isCompared, !awaitsDigest.load(ordering: .relaxed) { recorder.holdBack(from: nil) }
    }

    /// From where on the bytes before a border are not recorded.
    private static func border(_ end: Int64) -> Int64 { max(end - borderLength, 0) }

    /// Takes the next part of the body, on the thread of whoever calls, which it blocks meanwhile.
    ///
    /// One part at a time, in order.
    ///
    /// - Returns: Whether more may come at once; if not, wait for ``catchUp()`` first, unless ``hasAllWanted``, and for
    ///   no longer than it is worth where it ``isAtSuccessor``.
    /// - Throws: ``StoreError``
    package func append(_ bytes: RawSpan) throws -> Bool {
        try StoreError.refuseForkedChild()
        var rest = bytes
        var wantsMore = true
        while !rest.isEmpty, wantsMore {
            // A large part piece by piece, so that what a crash may cost does not grow with it; and up to where a border
            // begins, so that no more than that is held back.
            let border = awaitsDigest.load(ordering: .relaxed) ? .max : recorder.recordableEnd
            let before = border < .max ? writer.bytesToCome(before: border) : 0
            let size = before > 0 ? min(Self.pieceSize, Int(clamping: before)) : Self.pieceSize
            wantsMore = try writer.append(rest.extracting(first: size))
            rest = rest.extracting(droppingFirst: size)
            readable.changed()
            releaseIfCompared()
            if before > 0, held == border { try checkpoint() } else { try recordIfDue() }
        }
        return try synchronizer.keepsUp(with: recorder.unrecorded) && wantsMore && !isAtSuccessor
    }

    /// Waits for a sync that is slower than the network.
    ///
    /// - Throws: What one failed with.
    package func catchUp() async throws {
        if try !synchronizer.keepsUp(with: recorder.unrecorded) { try await synchronizer.finish() }
    }

    /// Goes on with another part of a blob.
    func reset(to part: PartReference, held: Int64) {
        writer.reset(to: held)
        recorder.reset(to: part, held: held)
        partOffset.store(part.offset, ordering: .releasing)
    }

    /// Ends the body, and looks after what came no longer.
    func stop() {
        writer.end()
        recorder.stop()
    }

    /// Records what is held; starts a sync to disk where one is due.
    ///
    /// - Throws: ``StoreError``, with `superseded` where somebody else started the entry over.
    package func checkpoint() throws {
        try telling { note(try recorder.record()) }
    }

    /// Does that now where it is due, and else when it is.
    func recordIfDue() throws {
        try telling {
            let claim = try recorder.recordIfDue { [weak self] in try await self?.recordLater() ?? false }
            if let claim { note(claim) }
        }
    }

    /// Does that on a thread that may block.
    private func recordLater() async throws -> Bool {
        try await Blocking.run { try self.checkpoint() }
        return true
    }

    private func note(_ claim: Claim) {
        if synchronizer.advance(to: claim) { writer.sealTail(at: claim.end) }
    }

    /// Tells of a sync that failed, which ends the generation, rather than of somebody else.
    private func telling(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as StoreError where error.code == .superseded {
            _ = try synchronizer.keepsUp(with: 0)
            throw error
        }
    }
}
