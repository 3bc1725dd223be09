internal import ResumeFiles
internal import ResumeHTTP
internal import Synchronization

/// Compares the body of a response with a blob and writes the rest.
///
/// It is a synchronous object instead of an actor: bytes are written on the thread that received them, since waking
/// another thread costs about as much as writing them.
final class BodyWriter: Sendable {
    private struct Body {
        var course: BodyCourse
        let storage: any BodyStorage
    }

    /// The account of the part's received bytes.
    let account: PartAccount
    /// Locked during a write; wait for it only to end the body, or between two parts of it.
    private let body = Mutex<Body?>(nil)

    init(_ account: PartAccount) {
        self.account = account
    }

    /// Whether a body is being written.
    var hasBody: Bool { course { _ in true } ?? false }

    /// Reads the course of the current body; nil if there is no body.
    func course<Result: Sendable>(_ read: (BodyCourse) -> Result) -> Result? {
        body.withLock { body in body.map { read($0.course) } }
    }

    /// Starts a body.
    ///
    /// - Throws: ``StoreError`` with `misuse` if the body would leave a gap.
    func begin(_ continuation: Verdict.Continuation, of storage: any BodyStorage) throws {
        let received = account.received
        guard continuation.bodyStart <= received else {
            throw StoreError(.misuse, "the response belongs to a plan that later requests of this transfer replaced")
        }
        let course = BodyCourse(continuation, received: received)
        body.withLock { $0 = Body(course: course, storage: storage) }
    }

    /// Moves the end of the body forward, because another stream writes from that offset; waits for a running write.
    ///
    /// - Returns: False if the body has already reached that offset.
    func shorten(to end: Int64, before part: Int64, overlap: Int64) -> Bool {
        body.withLock { $0?.course.shorten(to: end, before: part, overlap: overlap) ?? false }
    }

    /// Ends the body, if there is one; waits for a running write.
    @discardableResult
    func end() -> BodyCourse? {
        body.withLock { $0.take()?.course }
    }

    /// Ends the body and discards the bytes from an offset on, in memory only.
    func truncate(to end: Int64) {
        self.end()
        account.update { $0.truncate(to: end) }
    }

    /// Handles the next part of the body.
    ///
    /// - Returns: Whether more of the body is needed.
    /// - Throws: ``StoreError``: `heldBytesDiffer`, `surplusBytes`, `noSpace`, `io`, `misuse`.
    func append(_ bytes: RawSpan) throws -> Bool {
        try body.withLock { current in
            guard var body = current else {
                throw StoreError(.misuse, "bytes were written before a usable response")
            }
            do {
                // Also if a write fails: bytes that were written before the failure count.
                defer { current = body }
                try append(bytes, to: &body)
                return !body.course.hasAllWanted
            } catch let error as SystemError {
                throw StoreError(wrapping: error)
            }
        }
    }

    private func append(_ bytes: RawSpan, to body: inout Body) throws {
        var rest = bytes
        while !rest.isEmpty {
            if let part = body.course.undecidedBorder {
                body.course.meetSuccessor(received: account.ledger.withLock { $0[part]?.received } ?? 0)
            }
            let (step, count) = body.course.next(rest.byteCount)
            let part = rest.extracting(first: count)
            switch step {
            case .skip: break
            case .compare: try Self.compare(part, with: body.storage, at: body.course.position)
            case .write:
                try body.storage.write(part, at: body.course.position)
                note(part)
            case .refuse: throw StoreError(.surplusBytes, "the server sent more bytes than it announced")
            }
            body.course.advance(step, by: count)
            rest = rest.extracting(droppingFirst: count)
        }
        if body.course.isCompared { account.update { $0.wasCompared() } }
    }

    /// Records written bytes; their checksum is computed outside the ledger's lock.
    private func note(_ bytes: RawSpan) {
        while let start = account.update({ $0.growingBlock }) {
            var block = start
            block.checksum = Checksum.crc32c(bytes, continuing: start.checksum)
            block.length = start.length.addingSaturating(Int64(bytes.byteCount))
            let grown = block
            if account.update({ $0.receive(extending: start, to: grown) }) ?? true { return }
        }
    }

    private static func compare(_ bytes: RawSpan, with storage: any BodyStorage, at offset: Int64) throws {
        try unsafe withUnsafeTemporaryAllocation(byteCount: min(bytes.byteCount, 65536), alignment: 16) { buffer in
            var done = 0
            while done < bytes.byteCount {
                let part = bytes.extracting(done..<min(done + buffer.count, bytes.byteCount))
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<part.byteCount])
                let count = try unsafe storage.read(into: target, at: offset + Int64(done))
                guard count == part.byteCount, unsafe part.withUnsafeBytes({ unsafe $0.elementsEqual(target) }) else {
                    let reason = Reason.heldBytesDiffer(at: offset + Int64(done))
                    throw StoreError(.heldBytesDiffer, reason.text)
                }
                done += count
            }
        }
    }
}
