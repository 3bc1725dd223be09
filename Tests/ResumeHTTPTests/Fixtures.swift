import HTTPTypes
import ResumeHTTP
import Testing

/// Header fields from lines such as `ETag: "a"`, one scalar per byte, so that obs-text can be written as `\u{E9}`.
func headerFields(_ lines: [String]) -> HTTPFields {
    var fields = HTTPFields()
    for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else {
            Issue.record("no header line: \(line)")
            continue
        }
        let value = parts[1].unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        fields.append(HTTPField(name: name, lenientValue: value))
    }
    return fields
}

/// The head of a response.
func response(_ status: Int, phrase: String = "", _ lines: [String] = []) -> HTTPResponse {
    HTTPResponse(status: .init(code: status, reasonPhrase: phrase), headerFields: headerFields(lines))
}

/// The stored data of the tests, and the requests that follow from it.
///
/// 100,000 bytes of 250,000, so that a request asks for `bytes=95904-`.
enum Fixture {
    static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    /// One second later.
    static let sent = "Sun, 06 Nov 1994 08:49:38 GMT"
    static let total: Int64 = 250_000
    static let length: Int64 = 100_000
    static let start: Int64 = 95_904
    static let contentRange = "Content-Range: bytes 95904-249999/250000"

    /// Stored with the strong entity tag `"a"`.
    static let tagged = HeldPartial(
        representation: Representation(fields: headerFields(["ETag: \"a\"", "Content-Length: 250000"])), length: length)

    /// Stored with a strong date, without an entity tag.
    static let dated = HeldPartial(
        representation: Representation(
            lastModified: modified, date: sent, completeLength: total, contentType: "application/octet-stream"),
        length: length)

    /// Judges an answer to the request that follows from the stored data.
    static func judge(
        _ status: Int, _ lines: [String] = [], held: HeldPartial = tagged, policy: ResumePolicy = ResumePolicy()
    ) -> Verdict {
        Verdict(for: response(status, lines), to: Plan(for: held, policy: policy), held: held, policy: policy)
    }

    /// `Fixture.tagged` with some values changed.
    static func held(length: Int64 = length, _ change: (inout Representation) -> Void) -> HeldPartial {
        var held = tagged
        held.length = length
        if var representation = held.representation {
            change(&representation)
            held.representation = representation
        }
        return held
    }
}

/// One row of a table: the answer, and what must be done.
struct Answer: Sendable, CustomTestStringConvertible {
    let id: String
    let lines: [String]
    let expected: String

    init(_ id: String, _ lines: [String], _ expected: String) {
        self.id = id
        self.lines = lines
        self.expected = expected
    }

    var testDescription: String { id }
}

extension Plan {
    /// Why the whole is requested; nil without a reason, and for other plans.
    var wholeReason: String? { if case .whole(let reason) = self { reason?.code.rawValue } else { nil } }

    /// Why a range is requested from its beginning; nil without a reason, and for other plans.
    var firstReason: String? { if case .first(_, let reason) = self { reason?.code.rawValue } else { nil } }

    /// The request for the rest; nil for other plans.
    var rest: RangeRequest? { if case .range(let range) = self { range } else { nil } }
}

extension SegmentVerdict {
    /// The verdict in one line.
    var summary: String {
        switch self {
        case .use(let part): "use \(part.bodyStart)..<\(part.bodyEnd.map(String.init) ?? "?") at \(part.offset)"
        case .noMore(let reason): "no more: \(reason.code.rawValue)"
        case .stop(let reason): "stop: \(reason.code.rawValue)"
        }
    }
}

extension Verdict {
    /// The verdict in one line, for tables.
    var summary: String {
        switch self {
        case .append(let part):
            "append \(part.bodyStart)..<\(part.bodyEnd.map(String.init) ?? "?") at \(part.offset): \(reasonCode)"
        case .startOver: "start over: \(reasonCode)"
        case .startRange(let part):
            "start \(part.skipped)+\(part.bodyStart)..<\(part.bodyEnd.map(String.init) ?? "?"): \(reasonCode)"
        case .complete: "complete: \(reasonCode)"
        case .askForWhole: "ask for whole: \(reasonCode)"
        case .retry(_, let seconds): "retry \(seconds.map { "after \($0)" } ?? "later"): \(reasonCode)"
        case .refuse: "refuse: \(reasonCode)"
        }
    }

    var reasonCode: String { reason.code.rawValue }

    var reason: Reason {
        switch self {
        case .append(let part), .startRange(let part): part.reason
        case .startOver(_, let reason), .complete(_, let reason), .askForWhole(let reason), .retry(let reason, _),
            .refuse(let reason):
            reason
        }
    }

    /// The continuation with stored bytes; nil for other verdicts.
    var appended: Continuation? { if case .append(let part) = self { part } else { nil } }

    /// The values to store from now on, if the verdict changes them.
    var representation: Representation? {
        switch self {
        case .append(let part), .startRange(let part): part.representation
        case .startOver(let representation, _), .complete(let representation, _): representation
        case .askForWhole, .retry, .refuse: nil
        }
    }
}
