import HTTPTypes
@testable import ResumeHTTP
import TestSupport
import Testing

/// Random URLs and random answers: nothing traps, and the decisions keep the promises.
@Suite(.timeLimit(.minutes(5)))
struct DecisionRobustnessTests {
    private static let shards: [UInt64] = [1, 2, 3, 4]
    private static let count = 50_000
    private static let verdictCount = 10_000

    @Test("H11, H13, L04: an accepted URL can be sent, and its redacted form contains no secret", arguments: shards)
    func urls(seed: UInt64) async throws {
        var generator = SplitMix64(seed: seed)
        let base = try DownloadURL("https://base.example/a/b?c")
        let pieces = [
            "http", "https", "file", "HTTP", ":", "//", "/", "?", "#", "&", "=", "@", "h", "a.example", "[::1]", "%2f",
            "%", "%zz",
            "..", ".", ":80", ":0", ":99999", "token=SECRET", "X-Amz-Signature=SECRET", "sig=SECRET&sv=SECRET",
            "u:SECRET@", "\\",
            " ", "\r\n", "\0", "\u{E9}", "\u{202E}", "|", "\"", "+",
        ]
        var accepted = 0
        for round in 0..<Self.count {
            if round % 1000 == 0 { await Task.yield() }
            var text = Bool.random(using: &generator) ? "https://h" : ""
            for _ in 0..<Int.random(in: 0...7, using: &generator) {
                text += pieces.randomElement(using: &generator) ?? ""
            }
            let isReference = Bool.random(using: &generator)
            guard let url = try? isReference ? base.resolving(text) : DownloadURL(text) else { continue }
            accepted += 1
            let isVisible = { (text: String) in text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
            let again = try DownloadURL(url.absoluteString)
            let shown = try DownloadURL(url.redacted)
            let isSound =
                ["http", "https"].contains(url.scheme) && (1...65_535).contains(url.port) && !url.host.isEmpty
                && isVisible(url.host) && !url.host.utf8.contains { $0 == 0x2F || $0 == 0x40 }
                && url.requestTarget.hasPrefix("/") && isVisible(url.requestTarget) && !url.requestTarget.contains("#")
                && again.absoluteString == url.absoluteString && again.origin == url.origin
                && shown.redacted == url.redacted && shown.origin == url.origin
            if !isSound { Issue.record("\(text.debugDescription) became \(url.absoluteString.debugDescription)") }
            _ = url.lastPathComponent
            _ = url.credentials
        }
        #expect(accepted > Self.count / 10)
    }

    @Test("L04: the parameters of a signed URL are never shown, in any order and in any case", arguments: shards)
    func redaction(seed: UInt64) async throws {
        var generator = SplitMix64(seed: seed)
        let secrets = [
            "X-Amz-Signature", "X-Amz-Credential", "x-goog-signature", "X-OSS-Signature", "Signature", "sig", "token",
        ]
        let harmless = ["a", "versionId", "b", "response-content-type", ""]
        for round in 0..<Self.count / 10 {
            if round % 1000 == 0 { await Task.yield() }
            let parameters = (0..<Int.random(in: 1...6, using: &generator)).map { _ -> String in
                let isSecret = Bool.random(using: &generator)
                let name = (isSecret ? secrets : harmless).randomElement(using: &generator) ?? ""
                return (Bool.random(using: &generator) ? name : name.uppercased()) + (isSecret ? "=SECRET" : "=x")
            }
            let url = try DownloadURL("https://SECRET:SECRET@h/f?\(parameters.joined(separator: "&"))#SECRET")
            let kept = parameters.filter { !$0.hasSuffix("SECRET") }
            let expected = "https://h/f" + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
            if url.redacted != expected { Issue.record("\(url.redacted) instead of \(expected)") }
        }
    }

    private static let lines = [
        "ETag: \"a\"", "ETag: \"b\"", "ETag: W/\"a\"", "ETag: a", "Last-Modified: \(Fixture.modified)",
        "Last-Modified: \(Fixture.sent)", "Date: \(Fixture.sent)", "Content-Type: text/html",
        "Content-Type: application/zip", "Content-Encoding: gzip", "Content-Encoding: identity", "Vary: *",
        "Vary: Accept",
        "Transfer-Encoding: chunked", "Content-Length: 250000", "Content-Length: 9223372036854775807",
        "Content-Length: 9223372036854775808", "Retry-After: 9", "Repr-Digest: sha-256=:A:", "Accept-Ranges: none",
    ]

    private static let helds = [
        Fixture.tagged, Fixture.dated, Fixture.held { $0.completeLength = nil },
        Fixture.held { $0.entityTag = EntityTag(rawValue: "W/\"a\"") },
        Fixture.held(length: .max) { $0.completeLength = nil }, HeldPartial(representation: nil, length: 0),
        Fixture.held { $0.contentType = "application/zip" }, HeldPartial(representation: nil, length: 5),
    ]

    private static func contentRange(using generator: inout SplitMix64) -> String {
        let numbers: [Int64] = [0, 1, 95_904, 99_999, 100_000, 100_001, 249_999, 250_000, 250_001, .max - 1, .max]
        func number() -> String { "\(numbers.randomElement(using: &generator) ?? 0)" }
        return switch UInt8.random(in: 0...7, using: &generator) {
        case 0: "Content-Range: bytes */\(number())"
        case 1: "Content-Range: bytes \(number())-\(number())/*"
        case 2...5: "Content-Range: bytes 95904-249999/250000"
        default: "Content-Range: bytes \(number())-\(number())/\(number())"
        }
    }

    /// Header lines, half of which begin with those of a correct answer.
    private static func lines(using generator: inout SplitMix64) -> [String] {
        var lines: [String] = []
        if Bool.random(using: &generator) {
            lines = ["ETag: \"a\"", "Last-Modified: \(Fixture.modified)", "Content-Length: 250000"]
        }
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            if let line = Self.lines.randomElement(using: &generator) { lines.append(line) }
        }
        for _ in 0..<[0, 1, 1, 1, 2][Int.random(in: 0...4, using: &generator)] {
            lines.append(contentRange(using: &generator))
        }
        return lines
    }

    @Test("T1 to T12: whatever is returned, bytes are combined only with evidence on both sides", arguments: shards)
    func verdicts(seed: UInt64) async {
        var generator = SplitMix64(seed: seed)
        let statuses = [200, 200, 203, 206, 206, 206, 206, 206, 416, 412, 400, 503, 304, 204, 404]
        var appended = 0
        for round in 0..<Self.verdictCount {
            if round % 1000 == 0 { await Task.yield() }
            guard let held = Self.helds.randomElement(using: &generator),
                let status = statuses.randomElement(using: &generator)
            else { return }
            let lines = Self.lines(using: &generator)
            let head = response(status, lines)
            let avoidsRange: Reason? = UInt8.random(in: 0...9, using: &generator) == 0 ? .restartRequested : nil
            let plan = Plan(for: held, avoidsRange: avoidsRange)
            let verdict = Verdict(for: head, to: plan, held: held)
            let isSound: Bool
            switch verdict {
            case .append(let part):
                appended += 1
                isSound = Self.isSound(part, lines: lines, status: status, plan: plan, held: held)
            case .complete(let representation, _):
                isSound =
                    status == 416 && representation.completeLength == held.length
                    && lines.contains("Content-Range: bytes */\(held.length)")
            case .startOver:
                isSound = (status == 200 || status == 203) && !lines.contains("Content-Encoding: gzip")
            case .startRange:
                // No range was requested.
                isSound = false
            case .askForWhole:
                // Requesting the whole file after a request for the whole file would never end.
                isSound = plan.fields[.range] != nil
            case .retry, .refuse:
                isSound = true
            }
            if !isSound { Issue.record("\(verdict.summary): \(status) \(lines) for \(held)") }
        }
        #expect(appended > Self.verdictCount / 50)
    }

    /// An oracle that reads the header lines directly.
    private static func isSound(
        _ part: Verdict.Continuation, lines: [String], status: Int, plan: Plan, held: HeldPartial
    ) -> Bool {
        let values = { (name: String) in Set(lines.filter { $0.hasPrefix("\(name): ") }) }
        let complete = part.representation.completeLength
        guard part.bodyStart >= 0, part.bodyStart <= part.offset, part.offset == held.length,
            !lines.contains("Content-Encoding: gzip"),
            !lines.contains("Vary: *") || held.representation?.entityTag != nil,
            held.representation?.completeLength.map({ $0 == complete }) ?? true
        else { return false }
        // A 200 that has only a part is judged like a 206.
        let isPart = status == 206 || part.bodyStart > 0 || part.bodyEnd != complete
        if let tag = held.representation?.entityTag {
            guard !tag.isWeak, values("ETag") == ["ETag: \(tag.rawValue)"] else { return false }
        } else {
            guard isPart, values("Last-Modified") == ["Last-Modified: \(Fixture.modified)"]
            else { return false }
        }
        // The same representation, whose length is known at its end only.
        guard let end = part.bodyEnd else { return status == 200 && part.bodyStart == 0 && complete == nil }
        guard end <= complete ?? .max, end > held.length || complete == held.length else { return false }
        guard isPart else { return status == 200 }
        guard [200, 206].contains(status) else { return false }
        let told = ["\(complete.map { "\($0)" } ?? "*")", "*"].map {
            "Content-Range: bytes \(part.bodyStart)-\(end - 1)/\($0)"
        }
        let range = values("Content-Range")
        return plan.fields[.range] != nil && range.count == 1 && range.isSubset(of: told)
    }
}
