package import HTTPTypes

/// A request for one or several ranges of the stored bytes, to be compared.
package struct SampleRequest: Sendable, Hashable {
    /// The ranges in the delivered file, sorted and disjoint.
    package let ranges: [Range<Int64>]
    /// The offset in the representation minus the offset in the file.
    let shift: Int64
    let condition: ResumePolicy.Condition

    /// The request, without a validator: the bytes themselves are compared.
    package var plan: Plan { .range(request) }

    var request: Plan.RangeRequest {
        let asked = ranges.map { $0.lowerBound &+ shift..<$0.upperBound &+ shift }
        let first = asked.first ?? 0..<0
        return Plan.RangeRequest(
            start: first.lowerBound, offset: first.lowerBound, end: first.upperBound, condition: condition,
            shift: shift, further: Array(asked.dropFirst()))
    }

    /// The maximum number of bytes of the response's body: the ranges, and a header for each.
    package var longestBody: Int {
        // Disjoint ranges, and never more than a few hundred.
        let frames = ranges.count > 1 ? (Int64(ranges.count) &+ 1) &* Int64(MultipartRanges.longestFrame) : 0
        return Int(clamping: ranges.totalLength &+ frames)
    }

    /// Splits a received body into its parts.
    ///
    /// - Returns: The offset in the delivered file and the bytes of each part, as many as there are.
    package func parts(of body: [UInt8], after head: HTTPResponse) -> [SamplePart] {
        let fields = head.headerFields
        var parts: [SamplePart] = []
        if let boundary = MultipartRanges.boundary(in: fields) {
            parts = MultipartRanges.parts(of: body, boundary: boundary)
        } else if case .bytes(let first, _, _) = ContentRange(in: fields) {
            parts = [SamplePart(offset: first, bytes: body[...])]
        }
        return parts.compactMap { part in
            let (offset, isOver) = part.offset.subtractingReportingOverflow(shift)
            return isOver ? nil : SamplePart(offset: offset, bytes: part.bytes)
        }
    }
}

/// Received bytes, and their offset.
package struct SamplePart: Sendable, Hashable {
    package let offset: Int64
    package let bytes: ArraySlice<UInt8>

    /// Returns the bytes of a range; nil if the part does not contain all of it.
    package func bytes(in range: Range<Int64>) -> ArraySlice<UInt8>? {
        let (start, isOver) = range.lowerBound.subtractingReportingOverflow(offset)
        guard !isOver, start >= 0, range.length <= Int64(bytes.count), start <= Int64(bytes.count) - range.length
        else { return nil }
        let first = bytes.startIndex + Int(start)
        return bytes[first..<first + Int(range.length)]
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
        var fields = response.headerFields
        switch response.status.code {
        case 206:
            let request = sample.request
            if sample.ranges.count > 1, MultipartRanges.boundary(in: fields) != nil {
                // The ranges of the parts are checked when their bytes are compared.
                fields[.contentType] = nil
                fields[.contentRange] = request.end.map { "bytes \(request.start)-\($0 &- 1)/*" }
            }
            // Another length is a difference, and not only a failure for now.
            var context = AnswerContext()
            context.isRestart = true
            switch Verdict.partial(fields, range: request, stored: stored, policy: policy, in: context) {
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
