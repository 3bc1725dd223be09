import ResumeFiles
import ResumeHTTP
import Synchronization

/// Compares the body of a response with the blob and writes the rest.
extension PartStream {
    /// A body that is being received.
    struct Body {
        var course: BodyCourse
        let storage: any BodyStorage
    }

    func course<Result: Sendable>(_ read: (BodyCourse) -> Result) -> Result? {
        body.withLock { body in body.map { read($0.course) } }
    }

    /// Begins with the body of a response.
    ///
    /// - Parameters:
    ///   - continuation: The verdict on the response.
    ///   - storage: The blob.
    ///   - end: The end of the representation, if the body announces none.
    ///   - awaitsDigest: Whether a digest of the body will be compared.
    /// - Throws: ``StoreError`` with `misuse` if the body would leave a gap.
    func begin(
        _ continuation: Verdict.Continuation, of storage: any BodyStorage, upTo end: Int64?, awaitsDigest: Bool = false
    ) throws {
        let received = held
        guard continuation.bodyStart <= received else {
            throw StoreError(.misuse, Reason("plan-replaced"))
        }
        let course = BodyCourse(continuation, received: received)
        body.withLock { $0 = Body(course: course, storage: storage) }
        let isToCompare = continuation.bodyEnd ?? .max < continuation.comparedEnd ?? 0
        update {
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
        let border = PartLedger.border(end)
        var before: Int64?
        // Before the body can reach the border. If it has passed it, the bytes behind it would prevent recording those
        // before it.
        while update({ part in
            if part.received > border, part.hasUnrecorded { return true }
            before = part.holdBack(from: border)
            return false
        }) == true {
            try checkpoint()
        }
        let part = successor.partOffset
        // Waits for a running write.
        guard body.withLock({ $0?.course.shorten(to: end, before: part, overlap: overlap) ?? false }) else {
            let isCompared = course(\.isCompared) ?? false
            update {
                $0.holdBack(from: before)
                if isCompared { $0.wasCompared() }
            }
            return false
        }
        update { $0.shorten(to: end) }
        return true
    }

    /// Records that the body has ended and is not known to differ from its `Content-Digest`.
    ///
    /// Everything is recorded from now on, unless bytes behind it are still to be compared.
    func bodyEnded() {
        if course(\.isAtBorder) == false { update { $0.holdBack(from: nil) } }
    }

    /// Ends the body, if there is one; waits for a running write.
    @discardableResult
    func endBody() -> BodyCourse? {
        body.withLock { $0.take()?.course }
    }

    /// Handles the next bytes of the body.
    ///
    /// - Returns: Whether more of the body is needed.
    /// - Throws: ``StoreError``: `heldBytesDiffer`, `surplusBytes`, `noSpace`, `io`, `misuse`.
    func appendPiece(_ bytes: RawSpan) throws -> Bool {
        try body.withLock { current in
            guard var body = current else {
                throw StoreError(.misuse, "bytes were written before a usable response")
            }
            // Also if a write fails: bytes that were written before the failure count.
            defer { current = body }
            try append(bytes, to: &body)
            return !body.course.hasAllWanted
        }
    }

    private func append(_ bytes: RawSpan, to body: inout Body) throws {
        var rest = bytes
        while !rest.isEmpty {
            if let part = body.course.undecidedBorder {
                body.course.meetSuccessor(received: writer.update(part) { $0.received } ?? 0)
            }
            let (step, count) = body.course.next(rest.byteCount)
            let part = rest.extracting(first: count)
            switch step {
            case .skip: break
            case .compare: try Self.compare(part, with: body.storage, at: body.course.position)
            case .write:
                try body.storage.write(part, at: body.course.position)
                writer.spend(count)
                note(part)
            case .refuse:
                body.course.advance(step, by: count)
                throw StoreError(.surplusBytes, "the server sent more bytes than it announced")
            }
            body.course.advance(step, by: count)
            rest = rest.extracting(droppingFirst: count)
        }
        if body.course.isCompared { update { $0.wasCompared() } }
    }

    /// Records written bytes; their checksum is computed outside the ledger's lock.
    private func note(_ bytes: RawSpan) {
        var rest = bytes
        while !rest.isEmpty, let (start, room) = update({ ($0.growingBlock, $0.roomInBlock) }) {
            let next = rest.extracting(first: Int(clamping: min(room, Int64(rest.byteCount))))
            var block = start
            block.checksum = next.crc32c(continuing: start.checksum)
            block.length = start.length.addingSaturating(Int64(next.byteCount))
            let grown = block
            if update({ $0.receive(extending: start, to: grown) }) ?? true {
                rest = rest.extracting(droppingFirst: next.byteCount)
            }
        }
    }

    private static func compare(_ bytes: RawSpan, with storage: any BodyStorage, at offset: Int64) throws {
        for start in stride(from: 0, to: bytes.byteCount, by: 65_536) {
            let part = bytes.extracting(start..<min(start + 65_536, bytes.byteCount))
            let place = offset + Int64(start)
            let held = try storage.read(place..<place + Int64(part.byteCount))
            guard unsafe part.withUnsafeBytes({ unsafe $0.elementsEqual(held) }) else {
                throw StoreError(.heldBytesDiffer, Reason.heldBytesDiffer(at: place).text)
            }
        }
    }
}
