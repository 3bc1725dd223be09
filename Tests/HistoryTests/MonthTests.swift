import Foundation
import Histories
import TestSupport
import Testing

/// Five ways of use, simulated for a month each.
@Suite(.timeLimit(.minutes(10)), .serialized)
struct MonthTests {
    private func report(_ use: Month.Use) async throws -> Month.Report {
        let outcome = try await Shell.outcome(HistoryWalkTests.program, ["--month", use.rawValue])
        try #require(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        let report = try JSONDecoder().decode(Month.Report.self, from: Data(outcome.output.utf8))
        #expect(report.wrong.isEmpty, "\(report.wrong)")
        print("\(use): sent \(report.multiple) times the bytes, waited \(report.waited) s, said \(report.said)")
        return report
    }

    @Test("Models with expiring tokens and signed redirects: no byte is lost, and hardly any is sent twice")
    func models() async throws {
        let report = try await report(.models)
        #expect(report.delivered == 4 && report.multiple < 1.02, "\(report)")
        #expect(report.failures <= 8 && report.longestWait < 60, "\(report)")
    }

    @Test("A nightly list of 2,000 with checksums, of which one is down for a week")
    func list() async throws {
        let report = try await report(.list)
        #expect(report.multiple < 1.01 && report.failures == 7, "\(report)")
        // Two files are fetched at a time: the 503 for one may be due to the other.
        let expected: Set = ["status-503", "no-further-connection"]
        #expect(report.said["status-503"] != nil && expected.isSuperset(of: report.said.keys), "\(report)")
        #expect(report.longestWait <= 30, "\(report)")
    }

    @Test("200 machines and an origin that says 429: all get their update, and do not return in the same second")
    func machines() async throws {
        let report = try await report(.machines)
        #expect(report.delivered == 1000 && report.multiple == 1, "\(report)")
        // All begin in the same second; afterwards they are spread.
        #expect(report.longestWait >= 60 && report.longestWait <= 66, "\(report)")
    }

    @Test("A laptop with captive portals: no page is taken for a file, and no byte is lost")
    func laptop() async throws {
        let report = try await report(.laptop)
        #expect(report.delivered == 6 && report.multiple < 1.02, "\(report)")
        #expect((report.said["portal-suspected"] ?? 0) > 0 && report.longestWait < 5, "\(report)")
    }
}
