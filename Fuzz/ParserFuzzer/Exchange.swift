import HTTPTypes
import ResumeHTTP

/// The partial data, the request for the rest and the response to it, as described by an input.
///
/// An input is `HELD STATUS OVERLAP TERMS RANGES`, then the field lines of the first response, an empty line, and those
/// of the second response.
struct Exchange {
    /// The partial data.
    let held: HeldPartial
    /// The conditions for resuming.
    let policy: ResumePolicy
    /// The request.
    let plan: Plan
    /// The response.
    let response: HTTPResponse
    private let answer: ResponseText

    /// Parses an input; nil if it is invalid.
    init?(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        let words = lines[0].split(separator: 0x20, maxSplits: 4, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard lines.count == 2, words.count == 5, let length = Int64(words[0]), length >= 0,
            let status = Int(words[1]), (100...999).contains(status), let overlap = Int64(words[2]),
            let terms = UInt8(words[3])
        else { return nil }
        let rest = lines[1]
        let gap = rest.indices.dropLast().first { rest[$0] == 0x0A && rest[rest.index(after: $0)] == 0x0A }
        let first = ResponseText(rest[..<(gap ?? rest.endIndex)])
        answer = ResponseText(rest[(gap ?? rest.endIndex)...])
        held = HeldPartial(
            representation: Representation(fields: first.fields), length: length, selection: RangeSelection(words[4]))
        let conditions = ResumePolicy.Condition.allCases
        policy = ResumePolicy(
            condition: conditions[Int(terms >> 4) % conditions.count], overlap: overlap,
            allowsUnvalidated: terms & 2 != 0, digest: terms & 4 != 0 ? HTTPDigest(.sha256, of: []) : nil,
            storesCoded: terms & 8 != 0)
        plan = Plan(for: held, policy: policy, avoidsRange: terms & 1 != 0 ? .restartRequested : nil)
        response = HTTPResponse(status: .init(code: status), headerFields: answer.fields)
    }

    /// Whether the response's own lines contain a validator, and no other one of its kind.
    func carries(_ validator: Validator) -> Bool {
        switch validator {
        case .entityTag(let tag): !tag.isWeak && answer.values("etag") == [tag.bytes]
        case .lastModified(let date): answer.values("last-modified") == [Array(date.utf8)]
        }
    }

    /// Checks whether the planned request can be sent.
    var outcomeOfPlan: Parser.Outcome {
        guard case .range(let range) = plan else { return .accepted }
        return .expecting([
            "a range": range.start >= 0 && range.start <= range.offset && range.end.map { $0 > range.offset } ?? true,
            "what is asked for can be sent": plan.fields.allSatisfy { HTTPField.isValidValue($0.value) },
            "asks under what is held": range.validator == held.representation?.validator,
            "no validator only where it is allowed": range.validator != nil || policy.allowsUnvalidated,
        ])
    }

    /// Checks a verdict against the received lines instead of the parsed fields.
    func outcome(of verdict: Verdict) -> Parser.Outcome {
        let status = response.status.code
        switch verdict {
        case .append(let part):
            return appended(part)
        case .startRange(let part):
            return .expecting([
                "a selection": held.selection != nil, "200, 203 or 206": [200, 203, 206].contains(status),
                "from the first wanted byte": part.bodyStart == 0 && part.offset == 0 && part.skipped >= 0,
                "an end": part.bodyEnd ?? .max > 0, "uncoded": isUncoded,
            ])
        case .complete(let representation, _):
            return .expecting([
                "complete only by 416": status == 416, "no selection": held.selection == nil,
                "every byte is held": representation.completeLength == held.length,
                "the length is the server's": answer.values("content-range").count == 1,
            ])
        case .startOver(let representation, _):
            return .expecting([
                "a whole one": status == 200 || status == 203, "no selection": held.selection == nil,
                "uncoded": isUncoded, "a length": representation.completeLength ?? 0 >= 0,
            ])
        case .askForWhole:
            // Requesting the whole after it has been requested would never end.
            return .expecting(["the rest was asked for": asksForRest])
        case .retry(_, let seconds):
            return .expecting(["a bearable wait": (0...600).contains(seconds ?? 0)])
        case .refuse:
            return .rejected
        }
    }

    private var asksForRest: Bool { if case .range = plan { true } else { false } }

    private var isUncoded: Bool {
        policy.storesCoded || !answer.values("content-encoding").contains(Array("gzip".utf8))
    }

    private func appended(_ part: Verdict.Continuation) -> Parser.Outcome {
        let status = response.status.code
        let (old, complete) = (held.representation, part.representation.completeLength)
        let wanted = held.selection.map { $0.length(completeLength: complete) ?? .max } ?? complete
        let compared = part.offset - part.bodyStart
        let isProven =
            if let validator = old?.validator {
                carries(validator)
            } else {
                // Only the bytes themselves can show that the file is the same.
                status == 206
                    && (policy.hasProof
                        || policy.allowsUnvalidated && compared >= ResumePolicy.unvalidatedOverlap)
            }
        return .expecting([
            "206, or a whole one": status == 206 || status == 200,
            "no gap": part.bodyStart >= 0 && part.bodyStart <= part.offset && part.skipped >= 0,
            "from what is held": part.offset == held.length,
            "an end": part.bodyEnd.map { $0 > part.bodyStart && $0 >= part.offset && $0 <= wanted ?? .max }
                ?? (status == 200),
            "proof": isProven,
            "the same validator stays": part.representation.validator == old?.validator,
            "the same length": old?.completeLength == nil || complete == nil || old?.completeLength == complete,
            "uncoded": isUncoded,
            "does not always vary": policy.hasProof || !answer.values("vary").contains([UInt8(ascii: "*")]),
        ])
    }
}
