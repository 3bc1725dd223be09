/// An HTTP date in any of its three formats, as seconds since 1970-01-01T00:00:00Z.
///
/// Source: [RFC 9110, 5.6.7](https://www.rfc-editor.org/rfc/rfc9110.html#section-5.6.7).
package struct HTTPDate: Sendable, Hashable, Comparable {
    /// Seconds since the epoch, without leap seconds.
    package let secondsSinceEpoch: Int64

    /// Compares two texts as dates, in whatever format; texts that are not dates are compared as text.
    static func isSame(_ first: String, _ second: String) -> Bool {
        guard first != second else { return true }
        guard let first = HTTPDate(first), let second = HTTPDate(second) else { return false }
        return first == second
    }

    /// Creates a date from seconds since the epoch.
    package init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = secondsSinceEpoch
    }

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///
    /// The name of the day must be valid, but is not compared with the date. Two-digit years are from 1970 to 2069
    /// whatever the local clock says, since no decision here depends on it.
    ///
    /// - Returns: nil for any other text.
    package init?(_ text: String) {
        guard text.utf8.count <= 40, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        switch words.count {
        case 6 where Self.days.contains { "\($0.prefix(3))," == words[0] } && words[5] == "GMT":
            guard words[1].utf8.count == 2, words[3].utf8.count == 4 else { return nil }
            self.init(day: words[1], month: words[2], year: words[3], time: words[4])
        case 4 where Self.days.contains { "\($0)," == words[0] } && words[3] == "GMT":
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard date.count == 3, date[0].utf8.count == 2, date[2].utf8.count == 2 else { return nil }
            self.init(day: date[0], month: date[1], year: date[2], time: words[2])
        case 5...6 where Self.days.contains { $0.prefix(3) == words[0] }:
            // asctime pads a one-digit day with a space.
            let isPadded = words.count == 6 && words[2].isEmpty
            guard words.count == 5 || isPadded else { return nil }
            let rest = isPadded ? words[3...] : words[2...]
            guard let day = rest.first, day.utf8.count == (isPadded ? 1 : 2), let year = rest.last, year.utf8.count == 4
            else { return nil }
            self.init(day: day, month: words[1], year: year, time: rest[rest.startIndex + 1])
        default:
            return nil
        }
    }

    private static let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

    private init?(day: String, month: String, year: String, time: String) {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        // Two digits each: `006:27:0` has the length of a time, but is not one.
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { part in
            part.utf8.count == 2 ? Self.digits(String(part)) : nil
        }
        guard let day = Self.digits(day), (1...31).contains(day),
            let monthIndex = months.firstIndex(of: month),
            var fullYear = Self.digits(year), year.utf8.count == 4 || year.utf8.count == 2,
            clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            hour < 24, minute < 60, second <= 60
        else { return nil }
        if year.utf8.count == 2 { fullYear += fullYear < 70 ? 2000 : 1900 }
        let isLeap = fullYear % 4 == 0 && (fullYear % 100 != 0 || fullYear % 400 == 0)
        let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard day <= lengths[monthIndex] else { return nil }
        let days = Self.daysSinceEpoch(year: fullYear, month: Int64(monthIndex) + 1, day: day)
        secondsSinceEpoch = days * 86_400 + hour * 3_600 + minute * 60 + second
    }

    /// Parses one to four digits; returns nil for any other text.
    private static func digits(_ text: String) -> Int64? {
        guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }

    /// Counts days in the proleptic Gregorian calendar, in eras of 400 years that begin in March.
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Orders dates from earlier to later.
    package static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }
}
