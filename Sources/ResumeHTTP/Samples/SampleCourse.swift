package import HTTPTypes

/// Decides which sample is requested next.
///
/// The first response shows whether the server sends ranges, and of which representation.
package struct SampleCourse: Sendable, Hashable {
    /// What to do next.
    package enum Action: Sendable, Hashable {
        case send(SampleRequest)
        /// Stop.
        case end(SampleVerdict)
    }

    /// The representation that each response must be of; nil until the first response.
    package private(set) var representation: Representation?
    /// The conditions that come before any response: the complete length, if it is known.
    private let completeLength: Int64?
    private let policy: ResumePolicy
    /// The offset in the representation minus the offset in the file.
    private let shift: Int64
    private let samples: Int
    private var left: ArraySlice<Range<Int64>>
    private var hasBegun = false
    private var verdict: SampleVerdict?

    /// Creates a course over places that were chosen.
    ///
    /// - Parameters:
    ///   - grid: The places in the delivered file.
    ///   - stored: The representation of the stored bytes.
    ///   - isProved: Whether the server's file must be that representation; otherwise only the length must be the same,
    ///     if it is known.
    ///   - policy: The conditions for resuming.
    ///   - shift: The offset in the representation minus the offset in the file.
    package init(
        _ grid: SampleGrid, of stored: Representation, isProved: Bool, policy: ResumePolicy, shift: Int64 = 0
    ) {
        // As in a damaged row.
        left = grid.places.filter { !$0.upperBound.addingReportingOverflow(shift).overflow && shift >= 0 }[...]
        samples = grid.count
        representation = isProved ? stored : nil
        completeLength = stored.completeLength
        self.policy = policy
        self.shift = shift
    }

    /// Decides what to do next.
    package func next() -> Action {
        if let verdict { return .end(verdict) }
        guard let place = left.first else { return .end(.agree(samples: samples)) }
        let isLong = place.upperBound &- place.lowerBound > SampleGrid.blockLength
        let end = isLong && !hasBegun ? place.lowerBound &+ SampleGrid.blockLength : place.upperBound
        return .send(SampleRequest(range: place.lowerBound..<end, shift: shift, condition: policy.condition))
    }

    /// Judges the head of a response, and learns the representation from the first one.
    package mutating func receive(_ head: HTTPResponse, to request: SampleRequest) -> SampleHead {
        let timing = ResponseTiming(head)
        switch head.status.code {
        case 206:
            var stored = representation ?? Representation(announcedBy: head)
            stored.completeLength = completeLength ?? stored.completeLength
            // Another length is a difference, and not only a failure for now.
            var context = AnswerContext()
            context.isRestart = true
            let range = request.request
            switch Verdict.partial(head.headerFields, range: range, stored: stored, policy: policy, in: context) {
            case .askForWhole(let reason): verdict = Self.isChange(reason) ? .differ(reason) : .unproved(reason)
            case .retry(let reason, _): return .retry(reason)
            default:
                representation = stored
                return .read
            }
        case _ where timing.isTemporary:
            return .retry(.status(of: head), afterSeconds: timing.afterSeconds)
        case 401, 403, 404, 407, 410, 451:
            return .refuse(.status(of: head))
        default:
            verdict = .unproved(.samplesUnanswered)
        }
        return .useless
    }

    /// Whether a reason says that the file changed, and not only that a response is unusable.
    private static func isChange(_ reason: Reason) -> Bool {
        ["entity-tag-changed", "last-modified-changed", "length-changed", "digest-changed", "validators-disagree"]
            .contains(reason.code.rawValue)
    }

    /// Records how a response compares with the stored bytes.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - comparison: What was found.
    package mutating func compare(_ request: SampleRequest, _ comparison: SampleComparison) {
        switch comparison {
        case .differs(let offset): verdict = .differ(.samplesDiffer(at: offset))
        case .missing: verdict = .unproved(.samplesUnanswered)
        case .same:
            hasBegun = true
            guard left.first?.lowerBound == request.range.lowerBound, let place = left.popFirst(),
                request.range.upperBound < place.upperBound
            else { return }
            left = [request.range.upperBound..<place.upperBound] + left
        }
    }
}

/// How the bytes of a response compare with those that are stored.
package enum SampleComparison: Sendable, Hashable {
    case same
    /// The byte at an offset is another one.
    case differs(at: Int64)
    /// The response has fewer bytes than were requested.
    case missing
}
