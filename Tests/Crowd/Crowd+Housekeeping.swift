internal import Foundation
internal import TestSupport

extension Crowd {
    /// The commands that run all the time beside the downloads.
    enum Housekeeping: CaseIterable {
        case collect, purgeAll, purgeOne, verify, list

        /// The wait before the next one, in milliseconds.
        var pause: ClosedRange<Int> {
            switch self {
            case .collect: 100...800
            case .purgeAll: 2000...8000
            case .purgeOne: 300...1500
            case .verify: 200...1000
            case .list: 100...800
            }
        }
    }

    /// Runs one of the commands and checks its result.
    func keepHouse(_ what: Housekeeping, _ base: String) async throws {
        let arguments: [String] =
            switch what {
            case .collect: ["gc", "--max-size", chance.pick(["0", "1MB", "4MB", "10MB", "20MB"]) ?? "0"]
            case .purgeAll: ["purge", "--all", "--yes"]
            case .purgeOne: ["purge", base + (chance.pick(origin.paths) ?? "/")]
            case .verify: ["verify", "--json"]
            case .list: ["list", "--json"]
            }
        let outcome = try await children.run(arguments)
        if outcome.hung { findings.violation("\(arguments) did not end: \(outcome.errors)") }
        switch outcome.ending {
        case .killed(let signal):
            findings.ended(arguments[0], "killed by \(signal)")
            if !outcome.wasKilled, !outcome.hung, !mayDie(of: signal) {
                findings.violation("\(arguments) died of signal \(signal): \(outcome.errors)")
            }
        case .exited(let status):
            findings.ended(arguments[0], "\(status)\(status == 75 ? " busy" : "")")
            if let problem = problem(what, status, outcome) {
                findings.violation("\(arguments) ended with \(status): \(problem) \(outcome.output) \(outcome.errors)")
            }
        }
    }

    /// The problem with the result of a command, or nil.
    private func problem(_ what: Housekeeping, _ status: Int32, _ outcome: Children.Outcome) -> String? {
        // Includes a missing store: the replacement of a damaged one may not have been created yet.
        guard plan.locks == .working else { return [0, 1, 65, 66, 74, 75].contains(status) ? nil : "unexpected" }
        // A process stopped in the middle of a commit blocks all others, which report it.
        if status == 75 { return outcome.errors.contains("stopped") ? nil : "not for a stopped process" }
        switch what {
        case .collect:
            return status == 0 ? nil : "unexpected"
        case .purgeAll, .purgeOne:
            return status == 0 || status == 1 ? nil : "unexpected"
        case .verify:
            // A killed process may leave a file without a row; everything else is always as recorded.
            let kinds = Set(Self.objects(outcome.output).map { $0["kind"] as? String ?? "unreadable" })
            if status == 0 { return kinds.isEmpty ? nil : "findings, but success" }
            return status == 65 && kinds == ["orphan"] ? nil : "unexpected"
        case .list:
            let lines = outcome.output.split(separator: "\n").count
            return status == 0 && Self.objects(outcome.output).count == lines ? nil : "unexpected"
        }
    }

    /// The JSON objects of an output, one per line.
    static func objects(_ output: String) -> [[String: Any]] {
        output.split(separator: "\n").compactMap { line in
            try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        }
    }
}

extension Crowd {
    /// Whether a signal is acceptable here: without any locks, SQLite truncates the index of its log while another
    /// process has it mapped.
    func mayDie(of signal: Int32) -> Bool { plan.locks == .none && signal == SIGBUS }
}
