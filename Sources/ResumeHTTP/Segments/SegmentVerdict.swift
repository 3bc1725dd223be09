package import HTTPTypes

/// What to do with the answer to the request for a segment, decided from its head alone.
///
/// Stricter than ``Verdict``, since there is another way to the bytes: nothing but exactly what was asked for is used.
package enum SegmentVerdict: Sendable, Hashable {
    /// Use the body.
    case use(Verdict.Continuation)
    /// Discard the body, and open no more connections: the server does not want them, or sends no ranges.
    case noMore(Reason)
    /// Discard the body, and end all streams: this is another representation, or may be. The request of a single stream
    /// decides.
    case stop(Reason)

    /// Judges a response.
    ///
    /// - Parameters:
    ///   - response: The response's head; redirects have been followed already.
    ///   - range: What was asked for.
    ///   - stored: What the held bytes belong to.
    ///   - policy: On which terms it is continued.
    package init(
        for response: HTTPResponse, to range: Plan.RangeRequest, stored: Representation, policy: ResumePolicy
    ) {
        let fields = response.headerFields
        switch response.status.code {
        case 206:
            let continuation: Verdict.Continuation
            switch Verdict.partial(fields, range: range, stored: stored, policy: policy) {
            case .append(let usable): continuation = usable
            case .askForWhole(let reason):
                // A gap is found last: the same representation, but not what was asked for.
                self = reason.code == Reason.gapCode ? .noMore(reason) : .stop(reason)
                return
            default:
                self = .stop(.contentRangeInvalid)
                return
            }
            guard case .bytes(range.start, let last, stored.completeLength?) = ContentRange(in: fields),
                last < range.askedEnd ?? .max
            else {
                self = .noMore(.contentRangeInvalid)
                return
            }
            // What ends where the server likes ends there again, so that what lies behind is never compared.
            guard last >= range.end.map({ $0 - 1 }) ?? .max else {
                self = .noMore(.partCutShort)
                return
            }
            // Were it found to be wrong at its end, more than this body would have to go.
            let hasDigest = HTTPDigest(contentDigestIn: fields) != nil
            self = hasDigest ? .noMore(.contentDigestOfPart) : .use(continuation)
        case 200, 203:
            let fresh = Representation(startedBy: response)
            self =
                Verdict.isSame(fresh, as: stored)
                ? .noMore(.wholeForSegment) : .stop(Verdict.change(from: stored, to: fresh))
        case 412, 416:
            self = .stop(Verdict.reason(response))
        default:
            self = .noMore(Verdict.reason(response))
        }
    }
}

extension HeldPartial {
    /// The length of a representation whose bytes may be fetched over several connections; nil where they may not.
    ///
    /// A strong entity tag only: a date may name two states of a second, and answers that come at a time cannot be
    /// told from one another by anything else.
    package func lengthForSegments(_ policy: ResumePolicy) -> Int64? {
        guard selection == nil, policy.condition != .head, let representation, representation.acceptsRanges,
            representation.contentCoding == nil, case .entityTag? = representation.validator
        else { return nil }
        return representation.completeLength
    }
}

extension Plan.RangeRequest {
    /// The request for a segment.
    ///
    /// - Parameters:
    ///   - range: What is missing.
    ///   - held: What is held, also what has come since: bytes that adjoin the range are asked for as well, and compared.
    ///   - validator: What the answer must carry.
    ///   - policy: On which terms it is continued.
    package init(segment range: Range<Int64>, held: [Range<Int64>], validator: Validator?, policy: ResumePolicy) {
        let overlap = max(policy.overlap(for: validator), 0)
        let before = held.first { $0.upperBound == range.lowerBound }
        let after = held.first { $0.lowerBound == range.upperBound }
        self.init(
            start: max(range.lowerBound - overlap, before?.lowerBound ?? range.lowerBound), offset: range.lowerBound,
            end: range.upperBound, tail: min(overlap, after.map { $0.upperBound - $0.lowerBound } ?? 0),
            condition: policy.condition, validator: validator)
    }
}
