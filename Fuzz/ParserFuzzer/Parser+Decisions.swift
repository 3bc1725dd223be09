import HTTPTypes
import ResumeHTTP

extension Parser {
    /// The representation in a first response: it has a validator only if that can be sent back.
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

    /// The response to a HEAD request: the representation is unchanged only if the validator is the same.
    static let headVerdict = Parser(
        "HEAD",
        [
            "0 200 0 0 -\nETag: \"a\"\n\nETag: \"a\"\n<lines>", "0 <number> 0 0 -\nETag: <tag>\n\n<lines>",
            "0 200 0 0 -\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\nDate: Sun, 06 Nov 1994 08:49:38 GMT\n\n<lines>",
        ]
    ) { bytes in
        guard let exchange = Exchange(bytes), let validator = exchange.held.representation?.validator else {
            return .rejected
        }
        switch HeadVerdict(for: exchange.response, validator: validator) {
        case .unchanged: return .expecting(["the same validator came": exchange.carries(validator)])
        case .changed: return .expecting(["another validator came": !exchange.carries(validator)])
        case .unknown: return .rejected
        case .retry(_, let seconds): return .expecting(["a bearable wait": (0...600).contains(seconds ?? 0)])
        }
    }

    /// The whole decision: the fields of a first response, received bytes, a plan, a response, a verdict.
    static let verdict = Parser(
        "verdict",
        [
            "100000 206 4096 0 -\n<held>Content-Range: bytes 95904-249999/250000",
            "100000 206 4096 0 -\nETag: \"a\"\nContent-Length: 250000\n\n<lines><lines>",
            "100000 206 4096 0 -\nETag: \"a\"\n\nETag: \"a\"\nContent-Range: bytes <number>-<number>/<number>",
            "100000 206 0 6 -\nContent-Length: 250000\n\nContent-Range: bytes <number>-249999/250000",
            "100000 206 0 2 -\nContent-Length: 250000\n\nContent-Range: bytes <number>-249999/250000",
            "100000 200 0 0 -\n<held>Content-Length: <number>\n<lines>",
            "100000 416 0 0 -\nETag: \"a\"\n\nETag: \"a\"\nContent-Range: bytes */<number>\n<lines>",
            "0 206 <number> <number> <ranges>\n<lines>\nContent-Range: bytes <number>-<number>/<number>",
            "<number> 206 <number> <number> <ranges>\n<held>Content-Range: bytes <number>-<number>/250000",
            "<number> 200 <number> <number> <ranges>\n<lines>\n<lines>",
            "<number> 206 <number> <number> -\n<lines>\n<lines>",
            "<number> <number> <number> <number> <ranges>\n<lines>\n<lines>",
        ]
    ) { bytes in
        guard let exchange = Exchange(bytes) else { return .rejected }
        let verdict = Verdict(
            for: exchange.response, to: exchange.plan, held: exchange.held, policy: exchange.policy)
        if case .broken(let problem) = exchange.outcomeOfPlan { return .broken(problem) }
        return exchange.outcome(of: verdict)
    }
}
