package import HTTPTypes

/// A request for a range of the stored bytes, to be compared.
package struct SampleRequest: Sendable, Hashable {
    /// The range in the delivered file.
    package let range: Range<Int64>
    /// The offset in the representation minus the offset in the file.
    let shift: Int64
    let condition: ResumePolicy.Condition

    /// The request, without a validator: the bytes themselves are compared.
    package var plan: Plan { .range(request) }

    var request: Plan.RangeRequest {
        let start = range.lowerBound &+ shift
        return Plan.RangeRequest(
            start: start, offset: start, end: range.upperBound &+ shift, condition: condition, shift: shift)
    }

    /// The number of requested bytes.
    package var length: Int { Int(clamping: range.length) }

    /// Returns the requested bytes of a response; nil if it does not have all of them.
    package func bytes(of body: [UInt8], after head: HTTPResponse) -> ArraySlice<UInt8>? {
        guard case .bytes(let first, _, _) = ContentRange(in: head.headerFields) else { return nil }
        let (start, isOver) = request.start.subtractingReportingOverflow(first)
        guard !isOver, start >= 0, length <= body.count, start <= body.count - length else { return nil }
        return body[Int(start)..<Int(start) + length]
    }
}

/// What to do with the response to a ``SampleRequest``, decided from its head alone.
package enum SampleHead: Sendable, Hashable {
    /// Compare the body with the stored bytes.
    case read
    /// Discard the body: it does not have the requested bytes.
    case useless(Reason)
    /// Discard the body: the server has another file.
    case changed(Reason)
    /// Discard the body and repeat the request later.
    case retry(Reason, afterSeconds: Int64? = nil)
    /// Discard the body: the server requires credentials, or a URL that has not expired.
    case refuse(Reason)

    /// Judges a response.
    init(for response: HTTPResponse, to sample: SampleRequest, stored: Representation, policy: ResumePolicy) {
        let timing = ResponseTiming(response)
        switch response.status.code {
        case 206:
            // Another length is a difference, and not only a failure for now.
            var context = AnswerContext()
            context.isRestart = true
            let fields = response.headerFields
            switch Verdict.partial(fields, range: sample.request, stored: stored, policy: policy, in: context) {
            case .askForWhole(let reason): self = Self.isChange(reason) ? .changed(reason) : .useless(reason)
            case .retry(let reason, _): self = .retry(reason)
            default: self = .read
            }
        case _ where timing.isTemporary:
            self = .retry(.status(of: response), afterSeconds: timing.afterSeconds)
        case 401, 403, 404, 407, 410, 451:
            self = .refuse(.status(of: response))
        default:
            self = .useless(.samplesUnanswered)
        }
    }

    /// Whether a reason says that the file changed, and not only that a response is unusable.
    private static func isChange(_ reason: Reason) -> Bool {
        ["entity-tag-changed", "last-modified-changed", "length-changed", "digest-changed", "validators-disagree"]
            .contains(reason.code.rawValue)
    }
}
