package import HTTPTypes

/// Decides which sample is requested next.
///
/// The first response shows whether the server sends ranges, and of which representation.
package struct SampleCourse: Sendable, Hashable {
    /// Whether the server's file must be the stored representation.
    package let isProved: Bool
    private let stored: Representation
    /// The representation that each response must be of; nil until the first response.
    private var answered: Representation?
    private let policy: ResumePolicy
    /// The offset in the representation minus the offset in the file.
    private let shift: Int64
    private let samples: Int
    private var left: ArraySlice<Range<Int64>>
    private var hasBegun = false
    private var found: SampleVerdict?

    /// What the samples have shown, when no more are requested.
    package var verdict: SampleVerdict { found ?? .agree(samples: samples) }
    /// The representation of the responses; before the first one, that of the stored bytes.
    package var representation: Representation { answered ?? stored }

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
        self.isProved = isProved
        self.stored = stored
        answered = isProved ? stored : nil
        self.policy = policy
        self.shift = shift
    }

    /// The next request; nil at the end.
    package var next: SampleRequest? {
        guard found == nil, let place = left.first else { return nil }
        let isLong = place.upperBound &- place.lowerBound > SampleGrid.blockLength
        let end = isLong && !hasBegun ? place.lowerBound &+ SampleGrid.blockLength : place.upperBound
        return SampleRequest(range: place.lowerBound..<end, shift: shift, condition: policy.condition)
    }

    /// Judges the head of a response, and learns the representation from the first one.
    ///
    /// - Returns: `append` if the body is compared with the stored bytes; `askForWhole` if it does not have them, or the
    ///   server has another file; `refuse` if the server requires credentials, or a URL that has not expired.
    package mutating func receive(_ head: HTTPResponse, to request: SampleRequest) -> Verdict {
        let timing = ResponseTiming(head)
        switch head.status.code {
        case 206:
            var stored = answered ?? Representation(announcedBy: head)
            stored.completeLength = self.stored.completeLength ?? stored.completeLength
            // Another length is a difference, and not only a failure for now.
            var context = AnswerContext()
            context.isRestart = true
            let verdict = Verdict.partial(
                head.headerFields, range: request.request, stored: stored, policy: policy, in: context)
            switch verdict {
            case .askForWhole(let reason):
                found = reason.facts.contains(.isChange) ? .differ(reason) : .unproved(reason)
            case .retry:
                break
            default:
                answered = stored
            }
            return verdict
        case _ where timing.isTemporary:
            return .retry(.status(of: head), afterSeconds: timing.afterSeconds)
        case 401, 403, 404, 407, 410, 451:
            return .refuse(.status(of: head))
        default:
            found = .unproved(.samplesUnanswered)
            return .askForWhole(.samplesUnanswered)
        }
    }

    /// Compares a response with other bytes.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - received: The requested bytes of the response; nil if it does not have all of them.
    ///   - other: The other bytes; nil if they need not be compared.
    /// - Returns: The offset of the first byte that differs; nil if there is none, or if the response has fewer bytes
    ///   than were requested.
    package mutating func compare(
        _ request: SampleRequest, _ received: ArraySlice<UInt8>?, with other: [UInt8]?
    ) -> Int64? {
        guard let received else {
            found = .unproved(.samplesUnanswered)
            return nil
        }
        var offset = request.range.lowerBound
        for (stored, sent) in zip(other ?? [], received) {
            guard stored == sent else {
                found = .differ(.samplesDiffer(at: offset))
                return offset
            }
            offset &+= 1
        }
        hasBegun = true
        if left.first?.lowerBound == request.range.lowerBound, let place = left.popFirst(),
            request.range.upperBound < place.upperBound
        {
            left = [request.range.upperBound..<place.upperBound] + left
        }
        return nil
    }
}
