@testable import ResumeCommands
import Testing

/// Sizes, durations and patterns, as the commands that take them read them.
@Suite(.timeLimit(.minutes(20)))
struct ArgumentsTests {
    private let home = Home()

    /// What is less than the 200 000 bytes held, and what is not.
    private static let smaller = [
        "0", "1", "199999", "199999B", "199KB", "195KiB", "0KB", "0MB", "0GB", "0TB", "0MiB", "0GiB", "0TiB", "000199",
        "0k",
        "195k", "195K", "0.1M", "0.19MiB", "0.0001G", "0.19MB", "195.3 KiB", "0 B", "199 KB",
    ]
    private static let larger = [
        "200000", "200000B", "200KB", "196KiB", "2500KiB", "1MB", "1MiB", "10GB", "10GiB", "1TB", "1TiB",
        "9223372036854775807", "196k", "500k", "5M", "5m", "1.5M", "1.5G", "1.5GiB", "10G", "10g", "1T", "0.2MB",
        "195.4 KiB", "1.5 MiB", "8388607.9 TiB",
    ]

    @Test func sizes() async throws {
        try await home.leavePartial(held: 200_000)
        for size in Self.smaller {
            let outcome = await home.run("purge", "--larger-than", size, "--dry-run")
            #expect(outcome.status == .success && outcome.errors.isEmpty, "\(size)")
        }
        for size in Self.larger {
            await home.run("purge", "--larger-than", size, "--dry-run").expect(.success, says: "no entry matches")
        }
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1e3", "0x10", "GB", "1gb", "1Gb", "1kb", "1PB", "1GBB", "1.5", "1.5B", "1.", ".5G",
        "1..5G",
        "1.5.1G", "-1.5G", "1G B", "1  GB", " 1G", "1G ", "1 ", "1G1M", "١", "１", "1.５G", "nan", "inf", "NaN",
        "9223372036854775808", "9223372036854775807KB", "10000000TB", "8388608.0 TiB", "1.0000000000000000001G", "ten",
    ])
    func noSize(text: String) async throws {
        let commands = [
            ["gc", "--max-size"], ["purge", "--larger-than"], ["get", "http://127.0.0.1:9/a", "--max-size"],
            ["get", "http://127.0.0.1:9/a", "--limit-rate"],
        ]
        for command in commands {
            for arguments in [command.dropLast() + ["\(command.last ?? "")=\(text)"], command + [text]] {
                let outcome = await home.run(Array(arguments)).expect(.usage)
                // For a missing value, the option is named only.
                guard !text.isEmpty else { continue }
                let isRate = arguments.contains { $0.hasPrefix("--limit-rate") }
                let forms = isRate ? "500k, 2M or 1.5MiB/s" : "0, 500k, 10M, 10MB or 1.5GiB"
                #expect(outcome.errors.contains(forms), "\(arguments): \(outcome.errors)")
            }
        }
    }

    @Test("A size that is printed is accepted, and means the same to the last digit shown")
    func printedSizes() async throws {
        let sizes: [Int64] = [10_001, 1_048_524, 1_572_864, 1 << 40, .max]
        var printed: [Substring] = ["0 B", "1 B", "1023 B"]
        for size in sizes {
            try await home.leavePartial(held: 10_000)
            try await home.sql("UPDATE download SET complete_length = \(size)")
            let list = await home.run("list")
            let total = try #require(list.output.firstMatch(of: /\ of ([0-9.]+ [KMGT]?i?B)/), "\(list.output)")
            printed.append(total.1)
        }
        for size in printed {
            await home.run("gc", "--max-size", String(size), "--dry-run").expect(.success)
        }
        let rate = await home.run("get", "http://127.0.0.1:9/a", "--limit-rate", "2.3 MiB/s", "--sha256", "no")
        #expect(rate.errors.contains("--sha256"), "\(rate.errors)")
    }

    /// What is less than the ninety minutes and a second since the last use, and what is more for ten minutes to come.
    private static let shorter = [
        "0s", "0d", "1s", "5399s", "89m", "90m", "1h", "0001h", "1h29m59s", "90min", "1hour", "0.5s",
    ]
    private static let longer = [
        "6001s", "101m", "2h", "36h", "1d", "7d", "106751991167d",
        "1w", "1d12h", "7days", "1day", "2hours", "101m3s", "1h41m", "2w3d4h5m6.5s", "1d0h", "2h0m ago", "101 minutes",
    ]

    @Test func durations() async throws {
        try await home.leavePartial()
        try await home.sql("UPDATE download SET used_at = used_at - 5401000")
        await home.run("list").expect(prints: "1h30m ago")
        for time in Self.shorter {
            #expect(await home.run("list", "--older-than", time).lines.count == 1, "\(time)")
            let purge = await home.run("purge", "--older-than", time, "--dry-run")
            #expect(purge.status == .success && purge.errors.isEmpty, "\(time)")
        }
        for time in Self.longer {
            let list = await home.run("list", "--older-than", time)
            #expect(list.status == .success && list.lines.isEmpty, "\(time)")
            await home.run("purge", "--older-than", time, "--dry-run").expect(.success, says: "no entry matches")
        }
    }

    @Test(arguments: [
        "", "7", "s", "d", "-1d", "+1d", "1.5h", "7D", "7W", "7 days ", "30m1h", "1h1h", "1h30", "1hm", "１d", "٧d",
        "nan",
        "ago", " ago", "h ago", "1d-12h", "1d 12h", "9223372036854775808s", "9223372036854775807d", "106751991167301d",
        "15250284452w6d", "9223372036854775s1w", "7mo", "7y", "1.5d12h",
    ])
    func noDuration(text: String) async throws {
        for command in [["gc", "--max-age"], ["list", "--older-than"], ["purge", "--older-than"]] {
            let outcome = await home.run(command[0], "\(command[1])=\(text)").expect(.usage)
            // For a missing value, the option is named only.
            guard !text.isEmpty else { continue }
            #expect(outcome.errors.contains("90s, 15m, 36h, 7d, 1w or 1d12h"), "\(outcome.errors)")
        }
    }

    @Test("A time limit is a number of seconds or a time")
    func timeLimits() async throws {
        for option in ["--stall-timeout", "--connect-timeout"] {
            for text in ["30", "30s", "0.1", "0.5s", "2.9 s", "15m", "1m30s", "1d", "86400"] {
                // The digest is wrong, so that nothing is downloaded.
                let outcome = await home.run("get", "http://127.0.0.1:9/a", option, text, "--sha256", "no")
                #expect(outcome.status == .usage && outcome.errors.contains("--sha256"), "\(text): \(outcome.errors)")
            }
            for text in ["-1", "nan", "inf", "1e3", "", "30x", "1d2w", "99999999999999999999"] {
                await home.run("get", "http://127.0.0.1:9/a", option, text).expect(.usage, says: "such as 30 or 0.5")
            }
            for text in ["0", "0.09", "0s", "86401", "1w", "9223372036854775"] {
                let outcome = await home.run("get", "http://127.0.0.1:9/a", option, text)
                #expect(outcome.status == .usage && outcome.errors.contains("between 0.1 and 86400 seconds"))
            }
        }
    }

    @Test("A download may take up to a year")
    func longestTimes() async throws {
        for (text, isRight) in [("1w", true), ("365d", true), ("366d", false), ("0.05", false)] {
            let digest = isRight ? ["--sha256", "no"] : []
            let outcome = await home.run(["get", "http://127.0.0.1:9/a", "--max-time", text] + digest)
            let message = isRight ? "--sha256 requires" : "--max-time must be between 0.1 seconds and 365 days"
            #expect(outcome.status == .usage && outcome.errors.contains(message), "\(text): \(outcome.errors)")
        }
    }

    @Test("A time of last use that no clock shows does not stop a command")
    func plantedTimes() async throws {
        for time in [Int64.min, -1, .max] {
            try await home.leavePartial()
            try await home.sql("UPDATE download SET used_at = \(time)")
            await home.run("list", "--older-than", "1d").expect(.success)
            await home.run("purge", "--older-than", "106751991167d", "--dry-run").expect(.success)
            await home.run("purge", "--all")
        }
    }

    @Test func patterns() async throws {
        try await home.leavePartial(options: ["--key", "models/größe-v1.bin"])
        let fits = ["*", "models/*", "*.bin", "models/gr?ße-v?.bin", "*ö*", "*file.bin", "http://*/file.???", "**v1**"]
        for pattern in fits {
            #expect(await home.run("list", "--match", pattern).lines.count == 1, "\(pattern)")
        }
        for pattern in ["models", "*.iso", "?", "models/gr??ße-v1.bin", "MODELS/*", "[a-z]*", "*bin?"] {
            #expect(await home.run("list", "--match", pattern).expect(.success).lines.isEmpty, "\(pattern)")
        }
    }

    /// A pattern of many stars takes no longer than the text is long, times the pattern.
    @Test func manyStars() async throws {
        try await home.leavePartial(options: ["--key", String(repeating: "a", count: 2000)])
        let outcome = await home.run("list", "--match", String(repeating: "*a", count: 200) + "*b")
        #expect(outcome.lines.isEmpty)
    }
}
