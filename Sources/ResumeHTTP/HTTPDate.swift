/// A date of HTTP in any of its three forms, as seconds since 1970-01-01T00:00:00Z.
///
/// Source: [RFC 9110, 5.6.7](https://www.rfc-editor.org/rfc/rfc9110.html#section-5.6.7).
public struct HTTPDate: Sendable, Hashable, Comparable {
    /// Seconds since the epoch, without leap seconds.
    public let secondsSinceEpoch: Int64

    /// Makes a date from seconds since the epoch.
    public init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = secondsSinceEpoch
    }

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///
    /// The name of the day is not compared with the date. A year of two digits lies in 1970 to 2069, whatever
    /// the clock says: no decision here depends on the local time.
    ///
    /// - Returns: nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" }).map(String.init)
        guard text.utf8.count <= 40, let first = parts.first, first.utf8.count >= 3 else { return nil }
        switch (parts.count, text.contains(",")) {
        case (6, true) where parts[5] == "GMT":
            self.init(day: parts[1], month: parts[2], year: parts[3], time: parts[4])
        case (5, false):
            self.init(day: parts[2], month: parts[1], year: parts[4], time: parts[3])
        default:
            return nil
        }
    }

    private init?(day: String, month: String, year: String, time: String) {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { Self.digits(String($0)) }
        guard let day = Self.digits(day), (1...31).contains(day),
            let monthIndex = months.firstIndex(of: month),
            var fullYear = Self.digits(year), year.utf8.count == 4 || year.utf8.count == 2,
            clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            hour < 24, minute < 60, second <= 60
        else { return nil }
        if year.utf8.count == 2 { fullYear += fullYear < 70 ? 2000 : 1900 }
        let days = Self.daysSinceEpoch(year: fullYear, month: Int64(monthIndex) + 1, day: day)
        secondsSinceEpoch = days * 86_400 + hour * 3_600 + minute * 60 + second
    }

    /// One to four digits and nothing else.
    private static func digits(_ text: String) -> Int64? {
        guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }

    /// Days of the proleptic Gregorian calendar, counted in eras of 400 years that begin in March.
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Earlier dates come first.
    public static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }
}
