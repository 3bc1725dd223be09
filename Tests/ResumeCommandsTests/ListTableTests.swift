import OriginServer
@testable import ResumeCommands
import Testing

/// `list` in a terminal, and for another program.
@Suite(.timeLimit(.minutes(20)))
struct ListTableTests {
    private let home = Home()

    /// Leaves two entries, one of them with a long URL.
    private func leaveTwo() async throws -> (short: String, long: String) {
        let short = try await home.leavePartial("a.bin", held: 100_000)
        let folder = String(repeating: "folder/", count: 20)
        let long = try await home.leavePartial("\(folder)last.bin", options: ["--output", home["b"]])
        return (short, long)
    }

    @Test("A terminal shows a header, the entries and the totals")
    func table() async throws {
        let (short, long) = try await leaveTwo()
        let outcome = await home.run("list", outputWidth: 400)
        #expect(outcome.errors.isEmpty)
        try #require(outcome.lines.count == 4)
        let (header, second, first) = (outcome.lines[0], outcome.lines[1], outcome.lines[2])
        let titles = /STATE    RECEIVED                      USED  +DESTINATION  +URL/
        #expect(header.wholeMatch(of: titles) != nil, "\(header)")
        #expect(first.hasPrefix("partial  97.7 KiB of 293.0 KiB (33%)   ") && first.hasSuffix("  \(short)"), "\(first)")
        #expect(second.hasPrefix("partial  195.3 KiB of 293.0 KiB (66%)  ") && second.hasSuffix("  \(long)"))
        #expect(first.contains("/a.bin  ") && second.contains("/b  "), "the ends of their destinations")
        #expect(outcome.lines[3] == "2 entries, 293.0 KiB of 585.9 KiB (50%)")
        let columns = outcome.lines.prefix(3).map { line in
            line.firstRange(of: line == header ? "URL" : "http").map { line[..<$0.lowerBound].count }
        }
        #expect(Set(columns).count == 1, "the columns begin at the same place")
    }

    @Test(
        "No line is wider than the terminal, and no URL is shortened to nothing", arguments: [28, 30, 40, 60, 80, 120])
    func widths(width: Int) async throws {
        let (short, _) = try await leaveTwo()
        await home.run("pin", short).expect(.success)
        let outcome = await home.run("list", outputWidth: width)
        // The mark and the totals are wrapped in a narrow terminal.
        #expect(outcome.lines.count == (width < 40 ? 6 : 4))
        for line in outcome.lines { #expect(line.count <= width, "\(line)") }
        #expect(outcome.output.contains("[pinned]"))
        let last = try #require(outcome.lines.first { $0.hasSuffix("last.bin") })
        #expect(last.contains("…"))
        let url = try #require(last.split(separator: " ").last)
        #expect(url.hasPrefix("http://127.") && url.count >= 24, "\(url)")
        #expect(last.contains("%") == (width >= 40))
    }

    @Test("Wide characters count as two columns")
    func wideCharacters() async throws {
        try await home.leavePartial(options: ["--key", String(repeating: "漢字", count: 40)])
        let line = try #require(await home.run("list", outputWidth: 80).lines.dropFirst().first)
        let columns = line.reduce(0) { $0 + ("漢字".contains($1) ? 2 : 1) }
        #expect((78...80).contains(columns), "\(columns): \(line)")
    }

    @Test("A terminal shows names as people read them, and what it shows can be copied")
    func readable() async throws {
        let name = "%E6%98%A0%E7%94%BB%20caf%C3%A9%2Fa%E2%80%AEb%e6%98%a0%FF.bin"
        let url = try await home.leavePartial(name, options: ["--output", home["one"]])
        let shown = url.replacing("%E6%98%A0%E7%94%BB%20caf%C3%A9", with: "映画 café")
        let line = try #require(await home.run("list", outputWidth: 400).lines.dropFirst().first)
        #expect(line.hasSuffix("  \(shown)"), "\(line)")
        await home.run("show", shown).expect(prints: "\(url)\n")
        #expect(await home.run("list").output.hasSuffix("  \(url)\n"))
        let spaces = try await home.leavePartial("a%20%20b%20.bin", options: ["--output", home["two"]])
        await home.run("list", outputWidth: 400).expect(prints: "  \(spaces)\n")
    }

    @Test("Another program gets one line per entry, with whole URLs")
    func piped() async throws {
        let (short, long) = try await leaveTwo()
        // The terminal on standard error does not matter.
        for width in [nil, 40] {
            let outcome = await home.run("list", width: width)
            #expect(outcome.lines.count == 2)
            #expect(outcome.lines.map { $0.split(separator: " ").last.map(String.init) } == [long, short])
            let fields = outcome.lines.map { $0.split(separator: /\ {2,}/).map(String.init) }
            #expect(
                fields.map { $0.prefix(2) } == [
                    ["partial", "195.3 KiB of 293.0 KiB (66%)"], ["partial", "97.7 KiB of 293.0 KiB (33%)"],
                ])
            #expect(fields.allSatisfy { $0.count == 4 && $0[2].hasSuffix("s ago") })
        }
    }
}
