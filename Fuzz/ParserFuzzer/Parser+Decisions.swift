import HTTPTypes
import ResumeHTTP

extension Parser {
    /// What is kept of a first response: only what can be sent back proves anything.
    static let representation = Parser("first response", ["<lines>", "<lines><lines>"]) { bytes in
        let text = ResponseText(bytes)
        let representation = Representation(fields: text.fields)
        guard let validator = representation.validator else {
            return .expecting(["no validator has a reason": representation.weakness != nil])
        }
        let isBacked =
            switch validator {
            case .entityTag(let tag): !tag.isWeak && text.values("etag") == [tag.bytes]
            case .lastModified(let date):
                text.values("etag").isEmpty && text.values("last-modified") == [Array(date.utf8)]
            }
        return .expecting([
            "a validator needs no reason": representation.weakness == nil,
            "the validator is what came": isBacked,
            "the validator can be sent": HTTPField.isValidValue(validator.fieldValue),
            "a length": representation.completeLength ?? 0 >= 0,
        ])
    }

    /// The whole decision: the fields of a first response, bytes held, a plan, an answer, a verdict.
    ///
    /// An input is `HELD STATUS OVERLAP AVOIDS`, then the first response's lines, an empty one, and the answer's.
    static let verdict = Parser(
        "verdict",
        [
            "100000 206 4096 0\nETag: \"a\"\nContent-Length: 250000\n\nETag: \"a\"\nContent-Range: bytes 95904-249999/250000",
            "100000 206 4096 0\nETag: \"a\"\nContent-Length: 250000\n\n<lines><lines>",
            "100000 206 4096 0\nETag: \"a\"\n\nETag: \"a\"\nContent-Range: bytes <number>-<number>/<number>",
            "100000 200 0 0\nETag: \"a\"\nContent-Length: 250000\n\nETag: \"a\"\nContent-Length: <number>\n<lines>",
            "100000 416 0 0\nETag: \"a\"\n\nETag: \"a\"\nContent-Range: bytes */<number>\n<lines>",
            "<number> 206 <number> 0\n<lines>\n<lines>", "<number> <number> <number> <number>\n<lines>\n<lines>",
        ]
    ) { bytes in
        let lines = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        let numbers = lines[0].split(separator: 0x20, omittingEmptySubsequences: false)
            .map { Int64(String(decoding: $0, as: UTF8.self)) }
        guard lines.count == 2, numbers.count == 4, let length = numbers[0], length >= 0, let status = numbers[1],
            (100...999).contains(status), let overlap = numbers[2]
        else { return .rejected }
        let rest = lines[1]
        let gap = rest.indices.dropLast().first { rest[$0] == 0x0A && rest[rest.index(after: $0)] == 0x0A }
        let first = ResponseText(rest[..<(gap ?? rest.endIndex)])
        let answer = ResponseText(rest[(gap ?? rest.endIndex)...])
        let held = HeldPartial(representation: Representation(fields: first.fields), length: length)
        let plan = Plan(for: held, overlap: overlap, avoidsRange: numbers[3] == 1 ? .restartRequested : nil)
        let head = HTTPResponse(status: .init(code: Int(status)), headerFields: answer.fields)
        let verdict = Verdict(for: head, to: plan, held: held)
        return Judgement(held: held, plan: plan, status: Int(status), answer: answer).outcome(of: verdict)
    }
}

/// What was decided on, to judge the verdict by the lines that came rather than by what was parsed.
private struct Judgement {
    let held: HeldPartial
    let plan: Plan
    let status: Int
    let answer: ResponseText

    func outcome(of verdict: Verdict) -> Parser.Outcome {
        switch verdict {
        case .append(let part):
            return appended(part)
        case .complete(let representation, _):
            return .expecting([
                "complete only by 416": status == 416,
                "every byte is held": representation.completeLength == held.length,
                "the length is the server's": answer.values("content-range").count == 1,
            ])
        case .startOver(let representation, _):
            return .expecting([
                "a whole one": status == 200 || status == 203,
                "uncoded": !answer.values("content-encoding").contains(Array("gzip".utf8)),
                "a length": representation.completeLength ?? 0 >= 0,
            ])
        case .askForWhole:
            // To ask for the whole after the whole was asked for would never end.
            return .expecting(["a range was asked for": plan.fields[.range] != nil])
        case .retry(_, let seconds):
            return .expecting(["a bearable wait": (0...600).contains(seconds ?? 0)])
        case .refuse:
            return .rejected
        }
    }

    private func appended(_ part: Verdict.Continuation) -> Parser.Outcome {
        let old = held.representation
        let complete = part.representation.completeLength
        let isBacked =
            switch old?.validator {
            case .entityTag(let tag): !tag.isWeak && answer.values("etag") == [tag.bytes]
            case .lastModified(let date): answer.values("last-modified") == [Array(date.utf8)]
            case nil: false
            }
        return .expecting([
            "206, or a whole one": status == 206 || status == 200,
            "no gap": part.bodyStart >= 0 && part.bodyStart <= part.offset,
            "from what is held": part.offset == held.length,
            "an end": part.bodyEnd.map { $0 > part.bodyStart && $0 >= part.offset && $0 <= complete ?? .max } ?? false,
            "the same validator came": isBacked,
            "the same validator stays": part.representation.validator == old?.validator,
            "the same length": old?.completeLength == nil || old?.completeLength == complete,
            "uncoded": !answer.values("content-encoding").contains(Array("gzip".utf8)),
            "does not always vary": !answer.values("vary").contains([UInt8(ascii: "*")]),
        ])
    }
}
