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
