import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// Which events `log` prints.
@Suite(.timeLimit(.minutes(20)))
struct LogTests {
    private let home = Home()

    /// Leaves 60 events, one an hour from 2020-02-28T00:00:00Z, each with its number as bytes.
    private func leaveSixty() async throws {
        try await home.leavePartial(options: ["--key", "a"])
        try await home.sql(
            """
            DELETE FROM event;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
            INSERT INTO event (key, at, kind, reason, bytes)
            SELECT 'a', 1582848000000 + (i - 1) * 3600000, 'resumed',
            CASE WHEN i % 10 = 0 THEN 'resumed: text' ELSE 'other-code: text' END, i FROM n;
            """)
    }

    private func numbers(_ arguments: String...) async throws -> [Int64] {
        let outcome = await home.run(["log", "--json"] + arguments).expect(.success)
        return try outcome.json.compactMap { $0["bytes"]?.integer }
    }

    @Test("The events of delivered files are found by a part of their URL")
    func delivered() async throws {
        try await leaveSixty()
        try await home.sql(
            "UPDATE event SET key = 'http://a.invalid/files/gone' || (id % 2) || '.bin' WHERE bytes <= 4")
        #expect(try await numbers("gone") == [1, 2, 3, 4])
        #expect(try await numbers("gone1.bin").count == 2)
        #expect(await home.run("log", "gone").lines.allSatisfy { $0.contains("/files/gone") })
        #expect(await home.run("log", "gone0.bin").lines.allSatisfy { !$0.contains("/files/gone") })
        #expect(await home.run("log", "nothing").errors == "no events of this entry are recorded\n")
    }

    @Test("With --follow, later events are printed as well", arguments: [true, false])
    func follow(isThere: Bool) async throws {
        if isThere { try await leaveSixty() }
        let task = Task { await home.run("log", "--follow", "-n", "1", "--json") }
        if isThere { try await wait { home.transcriptSoFar.contains("\"bytes\":60,") } }
        try await home.leavePartial(options: ["--key", "b"])
        try await wait { home.transcriptSoFar.contains("\"key\":\"b\",\"kind\":\"interrupted\"") }
        task.cancel()
        let outcome = await task.value
        #expect(outcome.status == .interrupted)
        let keys = try outcome.json.map { $0["key"]?.string }
        #expect(keys.contains("b") && keys.count(where: { $0 == "a" }) == (isThere ? 1 : 0), "\(outcome.output)")
    }

    @Test("The newest 50 events are printed, the newest one last")
    func newest() async throws {
        try await leaveSixty()
        #expect(try await numbers() == Array(11...60))
        #expect(try await numbers("a") == Array(11...60))
        #expect(try await numbers("-n", "3") == [58, 59, 60])
        #expect(try await numbers("--number", "1", "a") == [60])
        #expect(try await numbers("-n", "0") == Array(1...60))
        #expect(try await numbers("-n", "1000000") == Array(1...60))
        let text = await home.run("log", "-n", "2")
        #expect(text.lines.count == 2 && text.errors.isEmpty)
        let terminal = await home.run("log", outputWidth: 80)
        #expect(terminal.lines.count == 50)
        #expect(terminal.errors == "the newest 50 of 60 events; -n 0 prints all of them\n")
    }

    @Test("Events can be chosen by their time")
    func times() async throws {
        try await leaveSixty()
        let all: [(String, Int64)] = [
            ("2020-03-01", 49), ("2020-02-29", 25), ("2020-02-28", 1), ("2020-02-28T00:00:00Z", 1),
            ("2020-02-28T00:00:00.5Z", 2), ("2020-02-28t02:30:00+02:30", 1), ("2020-02-27T23:00:00-02:00", 2),
            ("2020-02-28 01:00:01.001z", 3), ("0000-01-01", 1), ("0000-02-29", 1), ("2000-02-29", 1),
        ]
        for (time, first) in all {
            #expect(try await numbers("-n", "0", "--since", time) == Array(first...60), "\(time)")
            #expect(try await numbers("-n", "0", "--until", time) == Array((1...60).prefix(Int(first) - 1)), "\(time)")
        }
        #expect(try await numbers("--since", "2020-02-28T05:00:00Z", "--until", "2020-02-28T07:00:00Z") == [6, 7])
        #expect(try await numbers("--since", "9999-12-31T23:59:60Z").isEmpty)
        try await home.sql("UPDATE event SET at = (SELECT used_at FROM download) - 5400000 WHERE bytes = 30")
        for time in ["2h", "2h ago", "1h50m", "1w"] {
            #expect(try await numbers("--since", time) == [30], "\(time)")
            #expect(try await !numbers("-n", "0", "--until", time).contains(30), "\(time)")
        }
        #expect(try await numbers("--since", "1h29m").isEmpty)
    }

    @Test("Events can be chosen by their reason")
    func reasons() async throws {
        try await leaveSixty()
        #expect(try await numbers("--reason", "resumed") == [10, 20, 30, 40, 50, 60])
        #expect(try await numbers("--reason", "resumed", "-n", "2") == [50, 60])
        let none = await home.run("log", "--reason", "res")
        #expect(none.status == .success && none.output.isEmpty && none.errors == "no event matches\n")
    }

    private static let wrong = [
        "", "yesterday", "2020-02-30", "2019-02-29", "1900-02-29", "2020-13-01", "2020-00-01", "2020-01-00", "20-01-01",
        "2020-1-1", "2020-01-01T", "2020-01-01T10:00", "2020-01-01T10:00:00", "2020-01-01T24:00:00Z",
        "2020-01-01T10:60:00Z", "2020-01-01T10:00:61Z", "2020-01-01T10:00:00.Z", "2020-01-01T10:00:00+2:00",
        "2020-01-01T10:00:00+24:00", "2020-01-01T10:00:00ZZ", "2020-01-01Z", "-2020-01-01", "12020-01-01", "-2h", "7",
        "99999999999999999999d", "２020-01-01",
    ]

    @Test("Other times are refused, with the accepted forms", arguments: wrong)
    func noTime(text: String) async throws {
        for option in ["--since", "--until"] {
            await home.run("log", option, text)
                .expect(.usage, says: "2026-03-01T12:30:00Z, a date (UTC) such as 2026-03-01, or a time ago")
        }
        await home.run("log", "-n", "-1").expect(.usage)
    }
}
