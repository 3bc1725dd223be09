internal import ArgumentParser

/// A point in time: RFC 3339, a date, or a time span ago.
enum PointInTime: Equatable {
    /// Milliseconds since 1970.
    case at(Int64)
    /// So long before the command runs.
    case ago(TimeSpan)

    /// Parses `2026-03-01T12:30:00Z`, `2026-03-01` (the beginning of the day in UTC), or `2h`.
    init?(_ text: String) {
        if let span = TimeSpan(text) {
            self = .ago(span)
            return
        }
        var scanner = Scanner(text)
        guard let day = scanner.day() else { return nil }
        guard !scanner.isAtEnd else {
            self = .at(day)
            return
        }
        guard let time = scanner.time(), scanner.isAtEnd else { return nil }
        self = .at(day + time)
    }

    /// Parses the value of an option.
    ///
    /// - Throws: `ValidationError` with the accepted forms.
    static func argument(_ text: String) throws -> PointInTime {
        guard let point = PointInTime(text) else {
            throw ValidationError(
                "use a time such as 2026-03-01T12:30:00Z, a date (UTC) such as 2026-03-01, or a time ago such as 2h or 7d"
            )
        }
        return point
    }

    /// Returns the milliseconds since 1970.
    func milliseconds(now: Int64) -> Int64 {
        switch self {
        case .at(let time): time
        // A time span is not negative, so this cannot overflow.
        case .ago(let span): now - span.milliseconds
        }
    }

    /// Reads the fields of RFC 3339, 5.6, which have fixed widths; so no result is large.
    private struct Scanner {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = Substring(text).utf8 }

        var isAtEnd: Bool { rest.isEmpty }

        /// Reads a date and returns the milliseconds from 1970 to its beginning.
        mutating func day() -> Int64? {
            guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2),
                (1...12).contains(month)
            else { return nil }
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            guard day >= 1, day <= Int64(lengths[Int(month) - 1]) else { return nil }
            // Years that begin in March end with the leap day.
            let years = month > 2 ? year : year - 1
            let months = (month + 9) % 12
            let leapDays = (years + 400) / 4 - (years + 400) / 100 + (years + 400) / 400 - 97
            let days = years * 365 + leapDays + (months * 153 + 2) / 5 + day - 1
            // The days from the first of March of the year 0 to 1970.
            return (days - 719_468) * 86_400_000
        }

        /// Reads the time after a date, with its offset, and returns the milliseconds since the beginning of the day.
        mutating func time() -> Int64? {
            guard skip("T") || skip("t") || skip(" "), let hour = number(2), skip(":"), let minute = number(2),
                skip(":"),
                let second = number(2), hour < 24, minute < 60, second < 61
            else { return nil }
            var milliseconds = ((hour * 60 + minute) * 60 + second) * 1000
            if skip(".") {
                let digits = rest.prefix { Self.digit($0) != nil }
                guard !digits.isEmpty else { return nil }
                rest = rest.dropFirst(digits.count)
                let values = digits.prefix(3).compactMap(Self.digit) + [0, 0]
                milliseconds += values[0] * 100 + values[1] * 10 + values[2]
            }
            if skip("Z") || skip("z") { return milliseconds }
            let isEast = skip("+")
            guard isEast || skip("-"), let hours = number(2), skip(":"), let minutes = number(2), hours < 24,
                minutes < 60
            else { return nil }
            let offset = (hours * 60 + minutes) * 60_000
            return isEast ? milliseconds - offset : milliseconds + offset
        }

        private mutating func number(_ count: Int) -> Int64? {
            let digits = rest.prefix(count).compactMap(Self.digit)
            guard digits.count == count else { return nil }
            rest = rest.dropFirst(count)
            return digits.reduce(0) { $0 * 10 + $1 }
        }

        private mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest = rest.dropFirst()
            return true
        }

        private static func digit(_ byte: UInt8) -> Int64? {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? Int64(byte - UInt8(ascii: "0")) : nil
        }
    }
}
