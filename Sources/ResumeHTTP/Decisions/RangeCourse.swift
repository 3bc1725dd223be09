/// What is requested after a server has refused a range of a file, or has ignored it.
///
/// First the plain file, whose head shows whether the server sends it at all. Then closed ranges (`bytes=N-M`), which
/// some servers send although they refuse `bytes=N-`. At last the plain body, whose beginning is compared.
package struct RangeCourse: Sendable, Hashable {
    private enum State: Hashable { case open, probing, closed, plain }

    /// The first size of closed ranges, in bytes.
    static let firstSize: Int64 = 8 << 20
    /// The largest size of closed ranges, in bytes.
    static let largestSize: Int64 = 256 << 20
    /// The size that is tried if a server refuses the first one.
    static let smallSize: Int64 = 1 << 20
    /// A stored beginning of this length is not received again before a range without a condition was requested.
    static let conditionalPrefix: Int64 = 1 << 20

    /// How many stored bytes may be sent again without a message.
    package static let largestUnsaid: Int64 = 64 << 20

    private var state = State.open
    private var accepted: Int64 = 0
    /// The number of bytes that were requested last, which are fewer at the end of the file.
    private var asked: Int64 = .max
    private var isCapped = false
    private var hasOmittedCondition = false
    private var nextSize: Int64
    /// Whether the range is requested without a condition; then the fields of the response and the overlap prove it.
    private(set) var omitsCondition = false

    /// Creates a course.
    ///
    /// - Parameter size: The size of the closed ranges that the server has sent before; nil if none were necessary.
    package init(closed size: Int64? = nil) {
        nextSize = size.map { min(max($0, 2), Self.largestSize) } ?? Self.firstSize
        if size != nil { state = .closed }
    }

    /// The number of bytes in the next range; nil if its end is open.
    var size: Int64? { state == .closed ? nextSize : nil }

    /// The size to remember with the entry; nil if no closed range was sent.
    package var acceptedSize: Int64? { state == .closed && accepted > 0 ? accepted : nil }

    /// Whether the plain file is received from its first byte because all ranges are refused.
    package var isPlain: Bool { state == .plain }

    /// Records that a range was refused.
    ///
    /// - Returns: Whether the next request is for the plain file.
    mutating func refused() -> Bool {
        omitsCondition = false
        switch state {
        case .open: state = .probing
        case .closed:
            let isAccepted = accepted > 0
            let smaller = isAccepted ? accepted : Self.smallSize
            if smaller < (isAccepted ? nextSize : min(nextSize, asked)) {
                (nextSize, isCapped) = (smaller, true)
                return false
            }
            state = .plain
        case .probing, .plain: break
        }
        return true
    }

    /// Decides about a response with the whole file, whose beginning is stored.
    ///
    /// - Parameters:
    ///   - prefix: The number of stored bytes that the body would bring again.
    ///   - isConditional: Whether a range was requested under a condition.
    /// - Returns: Whether to close the body and request a range again.
    mutating func closeBody(prefix: Int64, isConditional: Bool) -> Bool {
        if state == .probing {
            state = .closed
            return true
        }
        omitsCondition = isConditional && !hasOmittedCondition && prefix >= Self.conditionalPrefix
        if omitsCondition { hasOmittedCondition = true }
        return omitsCondition
    }

    /// Records that the body of a whole file ended before it brought anything new.
    mutating func endedInPrefix(isConditional: Bool) {
        guard isConditional, !hasOmittedCondition else { return }
        omitsCondition = true
        hasOmittedCondition = true
    }

    /// Records that a new representation is received from its first byte.
    mutating func startedOver() {
        if state == .probing { state = .open }
        omitsCondition = false
    }

    /// Records that a range was sent.
    ///
    /// - Parameter count: The number of bytes in the response.
    mutating func sent(_ count: Int64) {
        guard state == .closed else { return }
        if count < asked { (nextSize, isCapped) = (max(count, 2), true) }
        accepted = min(nextSize, asked)
        if !isCapped { nextSize = min(nextSize * 2, Self.largestSize) }
    }

    /// Closes a range that may be open.
    ///
    /// - Parameters:
    ///   - range: The range.
    ///   - length: The length of the file; nil if it is unknown.
    fileprivate mutating func close(_ range: inout Plan.RangeRequest, within length: Int64?) {
        guard let size else { return }
        if range.validator != nil { range.start = max(range.start, range.offset - size / 2) }
        let (sum, isOver) = range.start.addingReportingOverflow(size)
        let most = min(range.end ?? .max, length ?? .max)
        let end = isOver ? most : min(sum, most)
        guard end < .max, end > range.offset else { return }
        if end < range.end ?? .max { (range.end, range.tail) = (end, 0) }
        asked = (range.askedEnd ?? end) - range.start
    }

    /// Records that a response had only bytes that are stored, since the server sends few at a time.
    ///
    /// - Returns: Whether a range of at most half the size is requested, with fewer bytes to compare.
    mutating func sentNothingNew(_ count: Int64) -> Bool {
        guard count >= 2, state != .closed || count <= nextSize / 2 else { return false }
        state = .closed
        nextSize = min(count, Self.largestSize)
        isCapped = true
        return true
    }
}

extension Plan {
    /// The plan with the range that a course permits.
    ///
    /// - Parameters:
    ///   - course: The course.
    ///   - length: The length of the file; nil if it is unknown.
    /// - Returns: The plan.
    func limited(by course: inout RangeCourse, of length: Int64? = nil) -> Plan {
        guard case .range(var range) = self else { return self }
        range.isUnconditional = course.omitsCondition && range.condition == .ifRange && range.validator != nil
        course.close(&range, within: length)
        return .range(range)
    }
}
