import ResumeCommands
import Testing

/// Sizes, durations and patterns, as the commands that take them read them.
@Suite(.timeLimit(.minutes(20)))
struct ArgumentsTests {
    private let home: Home

    init() throws { home = try Home() }

    /// What is less than the 200 000 bytes held, and what is not.
    private static let smaller = [
        "0", "1", "199999", "199999B", "199KB", "195KiB", "0KB", "0MB", "0GB", "0TB", "0MiB", "0GiB", "0TiB", "000199",
    ]
    private static let larger = [
        "200000", "200000B", "200KB", "196KiB", "2500KiB", "1MB", "1MiB", "10GB", "10GiB", "1TB", "1TiB",
        "9223372036854775807",
    ]

    @Test func sizes() async throws {
        try await home.leavePartial(held: 200_000)
        for size in Self.smaller {
            let outcome = await home.run("purge", "--larger-than", size, "--dry-run")
            #expect(outcome.status == .success, "\(size)")
        }
        for size in Self.larger {
            let outcome = await home.run("purge", "--larger-than", size, "--dry-run")
            #expect(outcome.status == .refused, "\(size)")
        }
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.5GB", "1e3", "0x10", "1 GB", "GB", "1gb", "1Gb", "1K", "1G", "1kb", "1PB", "1GBB",
        "1G B", "١", "１", "9223372036854775808", "9223372036854775807KB", "10000000TB", "ten",
    ])
    func noSize(text: String) async throws {
        for arguments in [["gc", "--max-size=\(text)"], ["purge", "--larger-than=\(text)"]] {
            let outcome = await home.run(arguments)
            #expect(outcome.status == .usage, "\(arguments)")
        }
    }

    /// What is less than the ninety minutes and a second since the last use, and what is more for ten minutes to come.
    private static let shorter = ["0s", "0d", "1s", "5399s", "89m", "90m", "1h", "0001h"]
    private static let longer = ["6001s", "101m", "2h", "36h", "1d", "7d", "106751991167d"]

    @Test func durations() async throws {
        try await home.leavePartial()
        try home.sql("UPDATE download SET used_at = used_at - 5401000")
        let list = await home.run("list")
        #expect(list.output.contains("1h30m ago"))
        for time in Self.shorter {
            let list = await home.run("list", "--older-than", time)
            #expect(list.lines.count == 1, "\(time)")
            let purge = await home.run("purge", "--older-than", time, "--dry-run")
            #expect(purge.status == .success, "\(time)")
        }
        for time in Self.longer {
            let list = await home.run("list", "--older-than", time)
            #expect(list.status == .success && list.lines.isEmpty, "\(time)")
            let purge = await home.run("purge", "--older-than", time, "--dry-run")
            #expect(purge.status == .refused, "\(time)")
        }
    }

    @Test(arguments: [
        "", "7", "s", "d", "-1d", "+1d", "1.5h", "1 h", "7D", "7w", "7days", "1h30m", "１d", "٧d",
        "9223372036854775808s", "9223372036854775807d", "106751991167301d",
    ])
    func noDuration(text: String) async throws {
        for command in [["gc", "--max-age"], ["list", "--older-than"], ["purge", "--older-than"]] {
            let outcome = await home.run(command[0], "\(command[1])=\(text)")
            #expect(outcome.status == .usage, "\(command)")
        }
    }

    @Test func patterns() async throws {
        try await home.leavePartial(options: ["--key", "models/größe-v1.bin"])
        let fits = ["*", "models/*", "*.bin", "models/gr?ße-v?.bin", "*ö*", "*file.bin", "http://*/file.???", "**v1**"]
        for pattern in fits {
            let outcome = await home.run("list", "--match", pattern)
            #expect(outcome.lines.count == 1, "\(pattern)")
        }
        for pattern in ["models", "*.iso", "?", "models/gr??ße-v1.bin", "MODELS/*", "[a-z]*", "*bin?"] {
            let outcome = await home.run("list", "--match", pattern)
            #expect(outcome.status == .success, "\(pattern)")
            #expect(outcome.lines.isEmpty, "\(pattern)")
        }
    }

    /// A pattern of many stars takes no longer than the text is long, times the pattern.
    @Test func manyStars() async throws {
        try await home.leavePartial(options: ["--key", String(repeating: "a", count: 2000)])
        let outcome = await home.run("list", "--match", String(repeating: "*a", count: 200) + "*b")
        #expect(outcome.lines.isEmpty)
    }
}
