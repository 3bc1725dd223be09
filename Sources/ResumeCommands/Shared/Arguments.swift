internal import ArgumentParser

/// A number of bytes: `10GB`, `10GiB`, `2500KiB`, `0`.
struct ByteCount: ExpressibleByArgument, Equatable {
    var bytes: Int64

    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), let factor = Self.factors[String(argument.dropFirst(digits.count))] else {
            return nil
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
        guard !overflow else { return nil }
        self.bytes = bytes
    }

    private static let factors: [String: Int64] = [
        "": 1, "B": 1, "KB": 1000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
        "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
    ]

    /// Returns a human-readable size in binary units.
    static func text(_ bytes: Int64) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = 0
        // Sizes that would be shown as 1024.0 use the next unit.
        while value >= 1023.95, unit < 4 {
            value /= 1024
            unit += 1
        }
        let tenths = Int64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(["B", "KiB", "MiB", "GiB", "TiB"][unit])"
    }
}

/// A time span: `90s`, `15m`, `36h`, `7d`.
struct TimeSpan: ExpressibleByArgument, Equatable {
    var seconds: Int64

    init?(argument: String) {
        let factors: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let digits = argument.dropLast()
        guard let unit = argument.last, let factor = factors[unit], !digits.isEmpty,
            digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int64(digits)
        else { return nil }
        let (seconds, overflow) = number.multipliedReportingOverflow(by: factor)
        // Must not overflow when converted to milliseconds.
        guard !overflow, seconds < Int64.max / 1000 else { return nil }
        self.seconds = seconds
    }

    /// Returns a human-readable time span in its two largest units.
    static func text(_ seconds: Int64) -> String {
        let seconds = max(seconds, 0)
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3600: return "\(seconds / 60)m\(seconds % 60)s"
        case ..<86_400: return "\(seconds / 3600)h\(seconds % 3600 / 60)m"
        default: return "\(seconds / 86_400)d\(seconds % 86_400 / 3600)h"
        }
    }
}

/// A pattern with `*` and `?`, for `--match`.
struct Glob: ExpressibleByArgument {
    private let pattern: [Character]

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        pattern = Array(argument)
    }

    /// Returns whether the whole text matches the pattern.
    ///
    /// Backtracks at most to the last star, so no pattern is slow.
    func matches(_ text: String) -> Bool {
        let text = Array(text)
        var (at, inPattern) = (0, 0)
        var lastStar: (pattern: Int, text: Int)?
        while at < text.count {
            if inPattern < pattern.count, pattern[inPattern] == "*" {
                lastStar = (inPattern, at)
                inPattern += 1
            } else if inPattern < pattern.count, pattern[inPattern] == "?" || pattern[inPattern] == text[at] {
                inPattern += 1
                at += 1
            } else if let star = lastStar {
                lastStar = (star.pattern, star.text + 1)
                inPattern = star.pattern + 1
                at = star.text + 1
            } else {
                return false
            }
        }
        return pattern[inPattern...].allSatisfy { $0 == "*" }
    }
}

/// The options of every command that works on a store.
struct StoreOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Folder of the store.",
            discussion: "Default: the variable RESUMECTL_STORE, or 'resumectl' in the user's cache folder.",
            valueName: "dir"))
    var store: String?
}

/// A command that runs in a context, so that tests can run it in their process.
protocol ContextCommand: ParsableCommand {
    func run(_ context: CommandContext) async throws
}
