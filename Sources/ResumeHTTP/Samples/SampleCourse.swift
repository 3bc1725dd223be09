package import HTTPTypes

/// Decides which samples are requested next: one alone, whose response shows whether the server sends ranges and of
/// which representation, then several ranges in each request, or single ranges side by side if the server does not
/// send several.
package struct SampleCourse: Sendable, Hashable {
    /// What to do next.
    package enum Action: Sendable, Hashable {
        /// Send these requests, several at the same time if possible.
        case send([SampleRequest])
        /// Stop.
        case end(SampleVerdict)
    }

    /// The maximum number of ranges in one request, which keeps its header short.
    static let mostRanges = 64

    /// The representation that each response must be of; nil until the first response.
    package private(set) var representation: Representation?
    /// The conditions that come before any response: the complete length, if it is known.
    private let completeLength: Int64?
    private let policy: ResumePolicy
    /// The offset in the representation minus the offset in the file.
    private let shift: Int64
    private let samples: Int
    /// Whether each request is for one range, one after the other.
    private let isSingle: Bool
    private var left: [Range<Int64>]
    private var hasBegun = false
    private var asksForSeveral = true
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
    ///   - isSingle: Whether each request is for one range, one after the other.
    package init(
        _ grid: SampleGrid, of stored: Representation, isProved: Bool, policy: ResumePolicy, shift: Int64 = 0,
        isSingle: Bool = false
    ) {
        self.isSingle = isSingle
        // As in a damaged row.
        left = grid.places.filter { !$0.upperBound.addingReportingOverflow(shift).overflow && shift >= 0 }
        samples = grid.count
        representation = isProved ? stored : nil
        completeLength = stored.completeLength
        self.policy = policy
        self.shift = shift
    }

    /// Decides what to do next.
    package func next() -> Action {
        if let verdict { return .end(verdict) }
        guard let first = left.first else { return .end(.agree(samples: samples)) }
        if !hasBegun || isSingle { return .send([request([first.prefix(SampleGrid.blockLength)])]) }
        guard asksForSeveral, left.count > 1 else { return .send(left.map { request([$0]) }) }
        let batches = stride(from: 0, to: left.count, by: Self.mostRanges).map { start in
            request(Array(left[start..<min(start + Self.mostRanges, left.count)]))
        }
        return .send(batches)
    }

    private func request(_ ranges: [Range<Int64>]) -> SampleRequest {
        SampleRequest(ranges: ranges, shift: shift, condition: policy.condition)
    }

    /// Judges the head of a response, and learns the representation from the first one.
    package mutating func receive(_ head: HTTPResponse, to request: SampleRequest) -> SampleHead {
        let known = representation
        var stored = known ?? Representation(announcedBy: head)
        stored.completeLength = completeLength ?? stored.completeLength
        let judged = SampleHead(for: head, to: request, stored: stored, policy: policy)
        switch judged {
        case .read where known == nil: representation = stored
        case .useless(let reason): refuse(request, because: reason)
        case .changed(let reason): verdict = verdict ?? .differ(reason)
        case .read, .retry, .refuse: break
        }
        return judged
    }

    /// Records that ranges of a request were compared and are the same.
    package mutating func agree(on compared: [Range<Int64>], of request: SampleRequest) {
        let done = Set(compared)
        hasBegun = true
        left = left.flatMap { range in
            done.contains(range)
                ? []
                : done.first { $0.lowerBound == range.lowerBound && $0.upperBound < range.upperBound }
                    .map { [$0.upperBound..<range.upperBound] } ?? [range]
        }
        if compared.count < request.ranges.count { refuse(request, because: .samplesUnanswered) }
    }

    /// Records that the server has another byte than the stored one.
    package mutating func differ(at offset: Int64) {
        verdict = .differ(.samplesDiffer(at: offset))
    }

    /// Records that a request was not answered with its ranges.
    private mutating func refuse(_ request: SampleRequest, because reason: Reason) {
        if request.ranges.count > 1 {
            asksForSeveral = false
        } else if verdict == nil {
            verdict = .unproved(reason)
        }
    }
}

extension Range<Int64> {
    fileprivate func prefix(_ count: Int64) -> Range<Int64> {
        upperBound &- lowerBound > count ? lowerBound..<lowerBound &+ count : self
    }
}
