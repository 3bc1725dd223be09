internal import ResumeHTTP
internal import Synchronization

/// Puts the body of a response into a blob: compares what is held already, writes the rest at its offset.
///
/// A synchronous object beside the actor, since whoever receives the bytes writes them on the thread where they came:
/// handing a buffer to another thread costs about as much as writing it does.
final class BodyWriter: Sendable {
    /// Where the next byte of a response's body belongs.
    struct Body {
        let blob: any BodyStorage
        var position: Int64
        /// What lies before this is compared, not written.
        var compareUntil: Int64
        /// The end that the response announced, or of what is wanted of it.
        var end: Int64?
        /// How far the body is to be compared with what is held behind that end, which is no further than the end where
        /// nothing is.
        ///
        /// nil where ``successor`` is to say it; `.max` where too little was held there to be compared.
        var comparedEnd: Int64?
        /// Who writes from the end on, where the end was brought forward while the body came, and how many of his bytes
        /// are compared.
        var successor: (writer: BodyWriter, overlap: Int64)?
        /// The complete length that the answer told, believed once what is held was compared.
        let learned: Int64?
        /// How many of the next bytes are not wanted.
        var skip: Int64
        /// Whether the body may have more than is wanted of it.
        var goesOn: Bool

        var hasAllWanted: Bool { goesOn && (isCompared || comparedEnd == .max && isAtBorder) }

        /// Whether all that it has to write came.
        var isAtEnd: Bool { position >= end ?? .max }

        /// Whether it came as far as what was held before it, so that all of that was compared that was asked for.
        var hasComparedHeld: Bool { position >= compareUntil }

        /// Whether every byte came that was announced of it.
        var isWhole: Bool { !goesOn && isAtEnd }

        /// Whether it came to its end, and what lies behind that is the same as far as it is compared.
        var isCompared: Bool {
            guard isAtEnd else { return false }
            return comparedEnd.map { position >= $0 } ?? (successor == nil)
        }

        /// Whether all that it has to write came, and only what another one has brought as well is to be compared.
        var isAtSuccessor: Bool { successor != nil && isAtBorder }

        /// Whether all that it has to write came, and more is to be compared.
        var isAtBorder: Bool { isAtEnd && !isCompared }

        /// The complete length as this body tells it, once it has ended; nil where it does not.
        func completeLength(after ending: Transfer.BodyEnding) -> Int64? {
            guard hasComparedHeld, !goesOn else { return nil }
            if let learned { return learned }
            return ending != .cut && end == nil ? position : nil
        }

        init(_ continuation: Verdict.Continuation, of blob: any BodyStorage) {
            self.blob = blob
            position = continuation.bodyStart
            compareUntil = continuation.offset
            end = continuation.bodyEnd
            comparedEnd = continuation.comparedEnd
            learned = continuation.representation.completeLength
            skip = continuation.skipped
            goesOn = continuation.goesOn
        }
    }

    /// Locked during a write; only whoever ends the body, or asks between two parts, may wait for it.
    private let body = Mutex<Body?>(nil)
    private let length: Atomic<Int64>
    private let hasCompared = Atomic(false)
    /// The last block, which grows with what is written; locked for no longer than its checksum takes.
    private let tail: Mutex<Block>

    init(held: Int64) {
        length = Atomic(held)
        tail = Mutex(Block(offset: held, length: 0, checksum: 0))
    }

    /// Where the bytes end that lie in the blob, recorded or not: those from 0 on, or from where this one began.
    var held: Int64 { length.load(ordering: .acquiring) }

    /// Whether the bytes behind ``held`` are known to follow on these: the body came up to them, and went on like them.
    var isCompared: Bool { hasCompared.load(ordering: .acquiring) }

    /// Begins with another blob, of which so much is held.
    func reset(to held: Int64) {
        body.withLock { body in
            body = nil
            hasCompared.store(false, ordering: .releasing)
            length.store(held, ordering: .releasing)
            tail.withLock { $0 = Block(offset: held, length: 0, checksum: 0) }
        }
    }

    /// From which length on a block does not grow any more.
    private static let blockLength: Int64 = 2 << 20

    /// The last block with what was written since the last time, to be recorded; nil where it is empty, or goes beyond
    /// a limit.
    func recordableTail(upTo limit: Int64) -> Block? {
        tail.withLock { tail in
            guard tail.length > 0, tail.end <= limit else { return nil }
            defer { if tail.length >= Self.blockLength { Self.beginBlock(&tail) } }
            return tail
        }
    }

    /// Ends the last block where the bytes end that are being synced: after a power loss it is whole.
    func sealTail(at end: Int64) {
        tail.withLock { tail in
            if tail.end == end, tail.length >= Self.blockLength / 2 { Self.beginBlock(&tail) }
        }
    }

    private static func beginBlock(_ tail: inout Block) {
        tail = Block(offset: tail.end, length: 0, checksum: 0)
    }

    /// Whether every byte came that was announced of the body.
    var hasWholeBody: Bool { body.withLock { $0?.isWhole ?? false } }

    /// Whether the body that is being written goes on, but nothing more of it is wanted.
    var hasAllWanted: Bool { body.withLock { $0?.hasAllWanted ?? false } }

    /// Whether all that it has to write came, and only what another one has brought as well is to be compared.
    var isAtSuccessor: Bool { body.withLock { $0?.isAtSuccessor ?? false } }

    /// Whether all that it has to write came, and what is held behind that is to be compared.
    var isAtBorder: Bool { body.withLock { $0?.isAtBorder ?? false } }

    /// Whether a body is being written.
    var hasBody: Bool { body.withLock { $0 != nil } }

    /// Begins with a body.
    ///
    /// - Throws: ``StoreError`` with `misuse` where it would leave a gap.
    func begin(_ body: Body) throws {
        let held = held
        guard body.position <= held else {
            throw StoreError(.misuse, "the response belongs to a plan that later requests of this transfer replaced")
        }
        var body = body
        // Nothing but the end is written, also where the plan was made before the last bytes came.
        body.compareUntil = max(body.compareUntil, held)
        self.body.withLock {
            $0 = body
            hasCompared.store(false, ordering: .releasing)
        }
    }

    /// Brings the end of what is wanted of the body forward, or leaves it where it is, since another one writes from there
    /// on; waits for a write that is under way.
    ///
    /// - Returns: Whether the body had not come so far.
    func shorten(to end: Int64, before successor: BodyWriter, overlap: Int64) -> Bool {
        body.withLock { body in
            guard let current = body, max(current.position, current.compareUntil) < end, end <= current.end ?? .max
            else { return false }
            body?.end = end
            body?.comparedEnd = overlap > 0 ? nil : end
            body?.successor = (successor, max(overlap, 0))
            body?.goesOn = true
            return true
        }
    }

    /// How many of the next bytes of the body lie before an offset, those among them that are only compared or skipped.
    func bytesToCome(before offset: Int64) -> Int64 {
        body.withLock { body in body.map { $0.skip.addingSaturating(max(offset - $0.position, 0)) } ?? 0 }
    }

    /// Ends the body, if one has begun; waits for a write that is under way.
    @discardableResult
    func end() -> Body? {
        body.withLock { $0.take() }
    }

    /// Takes the next part of the body.
    ///
    /// - Returns: Whether more of it is wanted.
    /// - Throws: ``StoreError``: `heldBytesDiffer`, `surplusBytes`, `noSpace`, `io`, `misuse`.
    func append(_ bytes: RawSpan) throws -> Bool {
        try body.withLock { current in
            guard var body = current else {
                throw StoreError(.misuse, "bytes were written before a usable response")
            }
            do {
                // Also where a write fails: what was written before it counts.
                defer { current = body }
                try append(bytes, to: &body)
                hasCompared.store(body.isCompared, ordering: .releasing)
                return !body.hasAllWanted
            } catch let error as SystemError {
                throw StoreError(wrapping: error)
            }
        }
    }

    private func append(_ bytes: RawSpan, to body: inout Body) throws {
        let skipped = Int(min(Int64(bytes.byteCount), body.skip))
        body.skip -= Int64(skipped)
        let bytes = bytes.extracting(droppingFirst: skipped)
        let compared = Int(min(Int64(bytes.byteCount), max(body.compareUntil - body.position, 0)))
        if compared > 0 {
            try Self.compare(bytes.extracting(first: compared), with: body.blob, at: body.position)
            body.position += Int64(compared)
        }
        let rest = bytes.extracting(droppingFirst: compared)
        let room = body.end.map { max($0 - body.position, 0) } ?? Int64.max - body.position
        let wanted = rest.extracting(first: Int(min(Int64(rest.byteCount), room)))
        if !wanted.isEmpty {
            try body.blob.write(wanted, at: body.position)
            body.position += Int64(wanted.byteCount)
            tail.withLock { tail in
                tail.checksum = Checksum.crc32c(wanted, continuing: tail.checksum)
                tail.length += Int64(wanted.byteCount)
                length.store(tail.end, ordering: .releasing)
            }
        }
        let surplus = rest.extracting(droppingFirst: wanted.byteCount)
        if body.isAtEnd { try Self.compareTail(surplus, of: &body) }
        if !surplus.isEmpty, !body.goesOn {
            throw StoreError(.surplusBytes, "the server sent more bytes than it announced")
        }
    }

    /// Compares what comes after the end with what is held there.
    private static func compareTail(_ bytes: RawSpan, of body: inout Body) throws {
        guard let end = body.end, !bytes.isEmpty else { return }
        if body.comparedEnd == nil, let (writer, overlap) = body.successor {
            let comparedEnd = end.addingSaturating(overlap)
            body.comparedEnd = writer.held >= comparedEnd ? comparedEnd : .max
        }
        guard let comparedEnd = body.comparedEnd, comparedEnd < .max else { return }
        let compared = min(Int64(bytes.byteCount), comparedEnd - body.position)
        guard compared > 0 else { return }
        try compare(bytes.extracting(first: Int(compared)), with: body.blob, at: body.position)
        body.position += compared
    }

    private static func compare(_ bytes: RawSpan, with blob: any BodyStorage, at offset: Int64) throws {
        try unsafe withUnsafeTemporaryAllocation(byteCount: min(bytes.byteCount, 65536), alignment: 16) { buffer in
            var done = 0
            while done < bytes.byteCount {
                let part = bytes.extracting(done..<min(done + buffer.count, bytes.byteCount))
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<part.byteCount])
                let count = try unsafe blob.read(into: target, at: offset + Int64(done))
                guard count == part.byteCount, unsafe part.withUnsafeBytes({ unsafe $0.elementsEqual(target) }) else {
                    let reason = Reason.heldBytesDiffer(at: offset + Int64(done))
                    throw StoreError(.heldBytesDiffer, reason.text)
                }
                done += count
            }
        }
    }
}
