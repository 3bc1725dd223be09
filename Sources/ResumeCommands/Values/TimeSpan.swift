import ResumeHTTP

/// A time span: `90s`, `15m`, `36h`, `7d`, `1w`, `1d12h`.
struct TimeSpan: Equatable, TypedValue {
    /// At most what fits into a number of milliseconds.
    var milliseconds: Int64

    var duration: Duration { .milliseconds(milliseconds) }

    /// Parses a time span as people type it, and as ``text(_:)`` prints it.
    ///
    /// The units must be in descending order. Only seconds may have decimals.
    init?(_ text: String) {
        var rest = text[...]
        // Ages are printed with this word.
        if rest.hasSuffix(" ago") { rest = rest.dropLast(4) }
        var sum: Int64 = 0
        var last = Int64.max
        // Short waits are printed with a space before the unit.
        while let part = rest.prefixMatch(of: /([0-9.]+)\ ?([A-Za-z]+)/) {
            guard let number = ByteCount.DecimalNumber(part.1), let factor = Self.factors.factor(of: part.2),
                factor < last,
                factor == 1000 || !number.hasDecimals, let milliseconds = number.multiplied(by: factor)
            else { return nil }
            last = factor
            let (next, overflow) = sum.addingReportingOverflow(milliseconds)
            guard !overflow else { return nil }
            sum = next
            rest = rest[part.range.upperBound...]
        }
        guard rest.isEmpty, last < .max else { return nil }
        milliseconds = sum
    }

    private init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Parses the value of an option for which a plain number means seconds.
    ///
    /// - Throws: `ValidationError` with the accepted forms.
    static func secondsArgument(_ text: String) throws -> TimeSpan {
        let seconds = ByteCount.DecimalNumber(text[...])?.multiplied(by: 1000).map(TimeSpan.init(milliseconds:))
        return try (seconds ?? TimeSpan(text)).orRefuse(acceptedSeconds)
    }

    static let accepted = sentence("use-time")
    private static let acceptedSeconds = sentence("use-seconds")

    private static let factors: [(Int64, String)] = [
        (1000, "s sec secs second seconds"), (60_000, "m min mins minute minutes"), (3_600_000, "h hour hours"),
        (86_400_000, "d day days"), (604_800_000, "w week weeks"),
    ]

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

    /// Whether a time limit is at least 0.1 seconds and at most a number of days; true if it is not set.
    static func isLimit(_ limit: TimeSpan?, days: Int = 1) -> Bool {
        limit.map { (.milliseconds(100) ... .seconds(86_400) * days).contains($0.duration) } ?? true
    }
}
