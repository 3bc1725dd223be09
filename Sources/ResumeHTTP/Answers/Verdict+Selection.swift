import HTTPTypes

/// Verdicts for downloads of ranges. Each range is requested separately, since responses to requests for several ranges
/// differ too much between servers.
extension Verdict {
    /// Whether a response does not say that it has only a part of the file, as some servers do with status 200.
    static func isWhole(_ response: HTTPResponse) -> Bool {
        guard response.headerFields.contains(.contentRange) else { return true }
        guard case .bytes(0, let last, let length) = ContentRange(in: response.headerFields) else {
            return false
        }
        return last + 1 == length
    }

    /// Judges a 206 response to the request for the first range.
    static func firstPart(
        _ response: HTTPResponse, of selection: RangeSelection, held: HeldPartial, policy: ResumePolicy
    ) -> Verdict {
        let fields = response.headerFields
        if let reason = obstacle(in: fields, policy) { return .refuse(reason) }
        guard case .bytes(let first, let last, let completeLength) = ContentRange(in: fields) else {
            return .refuse(.contentRangeInvalid)
        }
        var fresh = Representation(startedBy: response)
        // Content-Length of a part is not the length of the file.
        fresh.completeLength = completeLength
        return start(fresh, of: selection, from: first, to: last + 1, held: held, policy)
    }

    /// Judges a 200 response, which is the whole file from byte 0 although a range was requested.
    static func wholeForRange(
        _ fresh: Representation, of selection: RangeSelection, plan: Plan, held: HeldPartial, policy: ResumePolicy
    ) -> Verdict {
        guard case .range(let range) = plan, let stored = held.representation else {
            return start(fresh, of: selection, from: 0, to: fresh.completeLength, held: held, policy)
        }
        guard isSame(fresh, as: stored), fresh.completeLength.map({ $0 > range.offset || $0 == range.end }) ?? true
        else {
            // Requesting the range again is cheaper than extracting it from the whole file.
            return .askForWhole(change(from: stored, to: fresh))
        }
        return .append(
            Continuation(
                from: 0, to: fresh.completeLength, range: range, representation: stored, reason: .prefixKept))
    }

    private static func start(
        _ fresh: Representation, of selection: RangeSelection, from first: Int64, to end: Int64?, held: HeldPartial,
        _ policy: ResumePolicy
    ) -> Verdict {
        guard let parts = selection.parts(completeLength: fresh.completeLength), let part = parts.first else {
            return .refuse(fresh.completeLength == nil ? .completeLengthUnknown : .beyondEnd)
        }
        guard parts.count == 1 || fresh.validator != nil || policy.allowsUnvalidated && policy.hasProof else {
            return .refuse(.rangesNeedValidator)
        }
        guard first <= part.first else { return .refuse(.gap(expected: part.first, got: first)) }
        guard end.map({ $0 > part.first }) ?? true else { return .refuse(.noProgress) }
        let range = Plan.RangeRequest(
            start: part.first, offset: part.first, end: part.end, condition: .ifRange, first: part.first,
            shift: part.first)
        let stored = held.isEmpty ? nil : held.representation
        let reason = stored.map { Reason.representationChanged($0.validator, fresh.validator) }
        return .startRange(
            Continuation(
                from: first, to: end, range: range, representation: fresh, reason: reason ?? .firstRequest))
    }
}
