import ResumeHTTP

/// Decides which bytes of a response body are skipped, compared, written or refused.
///
/// It is a pure value; ``PartStream`` carries out its steps.
struct BodyCourse {
    /// What to do with the next bytes.
    enum Step: Hashable {
        /// Skip them: they were not requested.
        case skip
        /// Compare them with the blob at ``position``.
        case compare
        /// Write them to the blob at ``position``.
        case write
        /// Refuse them: the server announced fewer.
        case refuse
    }

    /// The offset in the blob of the next byte.
    private(set) var position: Int64
    /// Bytes before this offset are compared, not written.
    private(set) var compareUntil: Int64
    /// The end that the response announced, or that of the requested bytes in it; nil if unknown.
    private(set) var end: Int64?
    /// The end of the bytes behind ``end`` that are compared with the blob.
    ///
    /// nil if ``successor`` decides it; `.max` if the blob holds too few bytes there.
    private(set) var comparedEnd: Int64?
    /// The part that another stream writes from the end on, and how many of its bytes are compared, if the end was
    /// moved forward during the body.
    private(set) var successor: (part: Int64, overlap: Int64)?
    /// The complete length from the response, which is valid once the overlap has been compared.
    private let announcedLength: Int64?
    /// The number of the next bytes that were not requested.
    private var skipped: Int64
    /// Whether the body may contain more bytes than are requested.
    private var goesOn: Bool
    /// Whether the body is the whole file, of which only the store may know the length.
    private let isWholeFile: Bool
    /// The number of bytes that were refused.
    private(set) var surplus: Int64 = 0

    /// - Parameters:
    ///   - continuation: The verdict on the response.
    ///   - received: The end of the bytes in the blob: only bytes behind it are written, also if the plan was made
    ///     before the last of them arrived.
    init(_ continuation: Verdict.Continuation, received: Int64) {
        position = continuation.bodyStart
        compareUntil = max(continuation.offset, received)
        end = continuation.bodyEnd
        comparedEnd = continuation.comparedEnd
        announcedLength = continuation.representation.completeLength
        skipped = continuation.skipped
        goesOn = continuation.goesOn
        isWholeFile = continuation.reason == .prefixKept
    }

    /// The step for the next bytes, and how many of them it covers.
    func next(_ count: Int) -> (step: Step, count: Int) {
        func step(_ step: Step, upTo limit: Int64) -> (Step, Int) { (step, Int(min(Int64(count), limit))) }
        if skipped > 0 { return step(.skip, upTo: skipped) }
        if position < compareUntil { return step(.compare, upTo: compareUntil - position) }
        if position < end ?? .max { return step(.write, upTo: (end ?? .max) - position) }
        if let comparedEnd, comparedEnd < .max, position < comparedEnd {
            return step(.compare, upTo: comparedEnd - position)
        }
        return (goesOn ? .skip : .refuse, count)
    }

    /// The offset at which the next bytes end, without those that are not wanted.
    func end(after count: Int) -> Int64 {
        min(position.addingSaturating(max(Int64(count) - skipped, 0)), max(end ?? .max, position))
    }

    /// Records that a step was carried out.
    mutating func advance(_ step: Step, by count: Int) {
        switch step {
        case .skip: skipped = max(skipped - Int64(count), 0)
        case .compare, .write: position = position.addingSaturating(Int64(count))
        case .refuse: surplus = Int64(count)
        }
    }

    /// The part whose length decides how far the bytes behind the end are compared; nil if that is known.
    var undecidedBorder: Int64? { isAtEnd && comparedEnd == nil ? successor?.part : nil }

    /// Decides how far the bytes behind the end are compared.
    ///
    /// - Parameter received: The end of the bytes that the successor has written.
    mutating func meetSuccessor(received: Int64) {
        guard let end, let successor else { return }
        let comparedEnd = end.addingSaturating(successor.overlap)
        self.comparedEnd = received >= comparedEnd ? comparedEnd : .max
    }

    /// Moves the end forward, because another stream writes from that offset.
    ///
    /// - Returns: False if the body has already reached that offset; then nothing changes.
    mutating func shorten(to end: Int64, before part: Int64, overlap: Int64) -> Bool {
        guard max(position, compareUntil) < end, end <= self.end ?? .max else { return false }
        self.end = end
        comparedEnd = overlap > 0 ? nil : end
        successor = (part, max(overlap, 0))
        goesOn = true
        return true
    }

    // MARK: Progress

    /// Whether all bytes that this body must write were received.
    var isAtEnd: Bool { position >= end ?? .max }

    /// Whether all bytes that were stored before this body were compared.
    var hasComparedHeld: Bool { position >= compareUntil }

    /// Whether every announced byte was received.
    var isWhole: Bool { !goesOn && isAtEnd }

    /// Whether the body reached its end, and the bytes behind it match as far as they are compared.
    var isCompared: Bool {
        guard isAtEnd else { return false }
        return comparedEnd.map { position >= $0 } ?? (successor == nil)
    }

    /// Whether all bytes to write were received, but more must be compared.
    var isAtBorder: Bool { isAtEnd && !isCompared }

    /// Whether all bytes to write were received, and only bytes of another stream must be compared.
    var isAtSuccessor: Bool { successor != nil && isAtBorder }

    /// Whether all requested bytes have been received although the body continues.
    var hasAllWanted: Bool { goesOn && (isCompared || comparedEnd == .max && isAtBorder) }

    /// Whether the file is longer than the store knows.
    var exceedsFile: Bool { isWholeFile && surplus > 0 }

    /// Returns the complete length that this body proves once it has ended; nil if it proves none.
    func completeLength(isCut: Bool) -> Int64? {
        guard hasComparedHeld, !goesOn else { return nil }
        if let announcedLength { return announcedLength }
        return !isCut && end == nil ? position : nil
    }
}
