internal import Foundation
internal import OriginServer
internal import TestSupport

extension Crowd {
    /// What one download requests.
    private struct Wish {
        let path: String
        let destination: String
        /// The requested bytes; nil for all.
        let range: ClosedRange<Int64>?
        let arguments: [String]
    }

    private func wish(_ base: String, number: Int) -> Wish {
        // Half of all request one of two files, so that processes wait for each other.
        let favourites = Array(origin.paths.suffix(2))
        let path = chance.pick(chance.happens(50) ? favourites : origin.paths) ?? "/"
        let destination = folder["\(chance.pick(Self.outputFolders) ?? "")/file\(number)"]
        var arguments = [
            "get", base + path, "--output", destination, "--json", "--retries", "4", "--stall-timeout", "20",
        ]
        var range: ClosedRange<Int64>?
        if chance.happens(20) {
            let first = Int64(chance.pick([0, 1000, 100_000]) ?? 0)
            let last = first + Int64(chance.pick([0, 50_000, 400_000]) ?? 0)
            range = first...last
            arguments += ["--range", "bytes=\(first)-\(last)"]
        }
        if chance.happens(5) { arguments.append("--restart") }
        if chance.happens(10) { arguments += ["--limit-rate", "1MB"] }
        return Wish(path: path, destination: destination, range: range, arguments: arguments)
    }

    /// Downloads something and checks the delivered file.
    func visit(_ base: String, number: Int, mayFail: Bool) async throws {
        let wish = wish(base, number: number)
        let outcome = try await children.run(wish.arguments)
        let events = Self.events(outcome.output)
        note(outcome, of: wish.arguments, reason: Self.reason(events))
        if !mayFail, outcome.ending != .exited(0), !Task.isCancelled {
            // The origin may have cut it: the next one resumes.
            return try await visit(base, number: number, mayFail: false)
        }
        // A killed process may also have delivered. One that reports a delivery must have delivered.
        guard FileManager.default.fileExists(atPath: wish.destination) else {
            if outcome.ending == .exited(0) {
                findings.violation("\(wish.arguments) ended with 0 and left no file: \(outcome.output)")
            }
            return
        }
        try judge(wish, outcome, events)
        try FileManager.default.removeItem(atPath: wish.destination)
    }

    private func judge(_ wish: Wish, _ outcome: Children.Outcome, _ events: [[String: Any]]) throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: wish.destination))
        let names = Set(events.compactMap { $0["event"] as? String })
        let wasAnswered = !names.isDisjoint(with: ["started", "resumed", "restarted"])
        // A process that asked the server got a version from that time; one that took a complete file got any earlier
        // version.
        let matching = origin.versions(of: wish.path).filter { Self.isVersion($0, bytes, wish.range) }
        let isRight = matching.contains { !wasAnswered || $0.overlaps(outcome.span) }
        guard isRight else {
            let what = matching.isEmpty ? "no version of it" : "a version that the server no longer had"
            findings.note { report in
                report.wrong += 1
                report.violations.append(
                    """
                    wrong bytes: \(wish.arguments): \(bytes.count) bytes, \(what); ended \(outcome.ending); \
                    versions \(origin.versions(of: wish.path).map(\.content.length)); said \(outcome.output)
                    """)
            }
            return
        }
        findings.note { report in
            report.downloads += 1
            if !wasAnswered { report.copies += 1 }
            if names.contains("resumed") { report.resumed += 1 }
        }
    }

    private static func isVersion(
        _ version: VersionedOrigin.Version, _ bytes: Data, _ range: ClosedRange<Int64>?
    ) -> Bool {
        let wanted = (range.map { $0.lowerBound..<$0.upperBound + 1 } ?? version.content.all)
            .clamped(to: version.content.all)
        guard bytes.count == Int(wanted.upperBound - wanted.lowerBound) else { return false }
        return Data(version.content.bytes(in: wanted)) == bytes
    }

    /// Records how a download ended, and whether that is permitted.
    private func note(_ outcome: Children.Outcome, of arguments: [String], reason: String) {
        if outcome.hung { findings.violation("\(arguments) did not end: \(outcome.output) \(outcome.errors)") }
        switch outcome.ending {
        case .killed(let signal):
            findings.ended("get", "killed by \(signal)")
            if !outcome.wasKilled, !outcome.hung, !mayDie(of: signal) {
                findings.violation("\(arguments) died of signal \(signal): \(outcome.errors)")
            }
        case .exited(0):
            findings.ended("get", "0")
        case .exited(let status):
            findings.ended("get", "\(status) \(reason)")
            let isAllowed =
                plan.locks == .working
                ? status == 75 && reason != "superseded" : [1, 65, 73, 74, 75].contains(status)
            if status == 65 { children.replaceStore(outcome.store) }
            if !isAllowed {
                findings.violation("\(arguments) ended with \(status): \(outcome.output) \(outcome.errors)")
            }
        }
    }

    private static func events(_ output: String) -> [[String: Any]] {
        output.split(separator: "\n").compactMap { line in
            try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        }
    }

    private static func reason(_ events: [[String: Any]]) -> String {
        events.last.flatMap { $0["event"] as? String == "failed" ? $0["reason"] as? String : nil } ?? "?"
    }
}
