package import HTTPTypes

/// What to do with the response to a request for a segment, decided from its head alone.
///
/// It is stricter than ``Verdict``, since the bytes can be requested in another way: only exactly the requested range
/// is used.
package enum SegmentVerdict: Sendable, Hashable {
    case use(Verdict.Continuation)
    /// Discard the body and open no more connections: the server refuses them, or does not send ranges.
    case noMore(Reason)
    /// Discard the body and close all streams: this is or may be another representation. The request of a single stream
    /// decides.
    case stop(Reason)

    /// Judges a response.
    ///
    /// - Parameters:
    ///   - response: The response's head; redirects have been followed already.
    ///   - range: The requested range.
    ///   - stored: The representation of the stored bytes.
    ///   - policy: The conditions for resuming.
    package init(
        for response: HTTPResponse, to range: Plan.RangeRequest, stored: Representation, policy: ResumePolicy
    ) {
        switch response.status.code {
        case 206,
            200 where !Verdict.isWhole(response):
            self = Self.part(response.headerFields, range, stored, policy)
        case 200, 203:
            let fresh = Representation(startedBy: response)
            self =
                Verdict.isSame(fresh, as: stored)
                ? .noMore(.wholeForSegment) : .stop(Verdict.change(from: stored, to: fresh))
        case 412, 416:
            self = .stop(.status(of: response))
        default:
            self = .noMore(.status(of: response))
        }
    }

    private static func part(
        _ fields: HTTPFields, _ range: Plan.RangeRequest, _ stored: Representation, _ policy: ResumePolicy
    ) -> SegmentVerdict {
        let verdict = Verdict.partial(fields, range: range, stored: stored, policy: policy)
        // A gap is checked last, so it is the same representation, but not the requested range.
        if case .askForWhole(let reason) = verdict {
            return reason.code == .rangeGap ? .noMore(reason) : .stop(reason)
        }
        guard case .append(let continuation) = verdict else { return .stop(.contentRangeInvalid) }
        guard case .bytes(range.start, let last, stored.completeLength?) = ContentRange(in: fields),
            last < range.askedEnd ?? .max
        else { return .noMore(.contentRangeInvalid) }
        // A server that ends ranges early does so again, so the bytes at the end would never be compared.
        guard last >= range.end.map({ $0 - 1 }) ?? .max else { return .noMore(.partCutShort) }
        // If the digest did not match at the end, more than the bytes of this body would have to be discarded.
        return HTTPDigest(contentDigestIn: fields) == nil ? .use(continuation) : .noMore(.contentDigestOfPart)
    }
}

extension HeldPartial {
    /// The length of the representation if it may be fetched over several connections, otherwise nil.
    ///
    /// Requires a strong entity tag. A date may stand for two versions within a second, and for simultaneous responses
    /// there is no other way to distinguish them.
    package func lengthForSegments(_ policy: ResumePolicy) -> Int64? {
        guard selection == nil, policy.condition != .head, let representation, representation.acceptsRanges,
            representation.contentCoding == nil, case .entityTag? = representation.validator
        else { return nil }
        return representation.completeLength
    }
}

extension Plan.RangeRequest {
    /// Creates the request for a segment.
    ///
    /// - Parameters:
    ///   - range: The missing range.
    ///   - held: All stored ranges, including recently received ones; bytes next to the range are requested again and
    ///     compared.
    ///   - validator: The validator that the response must have.
    ///   - policy: The conditions for resuming.
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
