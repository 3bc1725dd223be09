package import HTTPTypes

/// A range of the stored bytes that is requested again and compared, if there is neither a validator nor a digest.
///
/// The overlap before the first missing byte is not sufficient, since files may have the same bytes there and differ
/// elsewhere.
package struct SpotCheck: Sendable, Hashable {
    /// The range in the delivered file.
    package let range: Range<Int64>
    /// The request for the range.
    package let request: Plan.RangeRequest

    /// Compares received bytes of the range with the stored ones.
    ///
    /// - Returns: The reason to start over if they differ; nil if they do not.
    package func difference(between held: [UInt8], and sent: [UInt8]) -> Reason? {
        zip(held, sent).enumerated().first { $1.0 != $1.1 }
            .map { .spotCheckDiffers(at: range.lowerBound &+ Int64($0.offset)) }
    }

    /// The number of bytes that are compared at each place.
    static let length = ResumePolicy.unvalidatedOverlap
    /// The number of random places, in addition to the first block.
    static let randomPlaces = 3

    /// Decides what to compare before a plan is carried out.
    ///
    /// - Parameters:
    ///   - plan: The next request.
    ///   - held: The state of the store, the same value that `plan` was made for.
    ///   - policy: The conditions for resuming.
    ///   - seed: The seed for the random places.
    /// - Returns: The ranges, sorted and not adjacent; empty if a validator or digest proves the bytes.
    package static func all(for plan: Plan, held: HeldPartial, policy: ResumePolicy, seed: UInt64) -> [SpotCheck] {
        guard case .range(let next) = plan, next.validator == nil, !policy.hasDigest else { return [] }
        // The bytes after that are compared with the response to the plan's request.
        let (first, end) = (next.first &- next.shift, next.start &- next.shift)
        let held = [first..<max(first, end)] + (held.nextHeld.map { [$0] } ?? [])
        return places(in: held, seed: seed).compactMap { range in
            let (start, isOver) = range.lowerBound.addingReportingOverflow(next.shift)
            let (end, isBeyond) = range.upperBound.addingReportingOverflow(next.shift)
            // As in a damaged row; the response to the plan's request decides about such bytes.
            guard !isOver, !isBeyond, start >= 0, end > start else { return nil }
            return SpotCheck(
                range: range,
                request: Plan.RangeRequest(
                    start: start, offset: start, end: end, condition: next.condition, first: next.first,
                    shift: next.shift))
        }
    }

    /// Returns the first block of the stored bytes and some random ones; all stored bytes if they are not more.
    static func places(in held: [Range<Int64>], seed: UInt64) -> [Range<Int64>] {
        let held = held.filter { !$0.isEmpty }
        let total = held.reduce(Int64(0)) { sum, range in
            let (total, isOver) = sum.addingReportingOverflow(range.length)
            return isOver ? .max : total
        }
        guard total > length * Int64(randomPlaces + 1) else { return held }
        var random = Places(state: seed)
        let offsets = [0] + (0..<randomPlaces).map { _ in Int64.random(in: length...(total - length), using: &random) }
        var places: [Range<Int64>] = []
        for offset in offsets.sorted() {
            guard let place = block(at: offset, in: held) else { continue }
            if let last = places.last, last.upperBound >= place.lowerBound {
                places[places.count - 1] = last.lowerBound..<max(last.upperBound, place.upperBound)
            } else {
                places.append(place)
            }
        }
        return places
    }

    /// Returns the block at an offset into the stored bytes, up to the next gap.
    private static func block(at offset: Int64, in held: [Range<Int64>]) -> Range<Int64>? {
        var offset = offset
        for range in held {
            if offset < range.length {
                let start = range.lowerBound &+ offset
                return start..<(range.upperBound &- start > length ? start &+ length : range.upperBound)
            }
            offset &-= range.length
        }
        return nil
    }

    /// SplitMix64, by Steele, Lea and Flood.
    private struct Places: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }
}

/// What to do with the response to a ``SpotCheck``, decided from its head alone.
package enum SpotVerdict: Sendable, Hashable {
    /// Compare the body with the stored bytes.
    case compare
    /// Discard the body and request the whole file: the server did not send the requested range, or has another file.
    case askForWhole(Reason)
    /// Discard the body and repeat the request later.
    case retry(Reason, afterSeconds: Int64?)
    /// Discard the body: the server requires credentials, or a URL that has not expired.
    case refuse(Reason)

    /// Judges a response.
    ///
    /// - Parameters:
    ///   - response: The response's head; redirects have been followed already.
    ///   - check: The requested range.
    ///   - stored: The representation of the stored bytes.
    ///   - policy: The conditions for resuming.
    package init(
        for response: HTTPResponse, to check: SpotCheck, stored: Representation, policy: ResumePolicy
    ) {
        let fields = response.headerFields
        switch response.status.code {
        case 206:
            let verdict = Verdict.partial(fields, range: check.request, stored: stored, policy: policy)
            if case .askForWhole(let reason) = verdict {
                self = .askForWhole(reason)
            } else if case .bytes(check.request.start, let last, _) = ContentRange(in: fields),
                let end = check.request.end, last >= end - 1
            {
                self = .compare
            } else {
                self = .askForWhole(.spotCheckUnanswered)
            }
        case 401, 403, 407, 451:
            self = .refuse(Verdict.reason(response))
        case let code where Verdict.isForNow(code):
            self = .retry(Verdict.reason(response), afterSeconds: RetryAfter.seconds(in: fields))
        default:
            self = .askForWhole(.spotCheckUnanswered)
        }
    }
}
