/// An HTTP date in any of its three formats, as seconds since 1970-01-01T00:00:00Z.
///
/// Source: [RFC 9110, 5.6.7](https://www.rfc-editor.org/rfc/rfc9110.html#section-5.6.7).
package struct HTTPDate: Sendable, Hashable, Comparable {
    /// Seconds since the epoch, without leap seconds.
    package let secondsSinceEpoch: Int64

    /// Compares two texts as dates, in whatever format; texts that are not dates are compared as text.
    static func isSame(_ first: String, _ second: String) -> Bool {
        first == second || HTTPDate(first).map { $0 == HTTPDate(second) } ?? false
    }

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///
    /// Days of one digit, years of two, and zones that say how far they are from GMT are accepted, as servers send
    /// them; `EST` has several meanings. The name of the day must be valid, but is not compared with the date. Two-digit
    /// years are from 1970 to 2069 whatever the local clock says, since no decision here depends on it.
    ///
    /// - Returns: nil for any other text.
    package init?(_ text: String) {
        guard text.utf8.count <= 40, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        var words = text.parts(at: " ")
        // asctime pads a one-digit day with a space.
        if words.count == 6, words[2].isEmpty { words.remove(at: 2) }
        let name = words.removeFirst()
        let isList = name.last == ","
        if isList, words.count == 3 {
            words.replaceSubrange(..<1, with: words[0].parts(at: "-"))
        } else if !isList, words.count == 4 {
            words = [words[1], words[0], words[3], words[2], "GMT"]
        }
        let weekday = isList ? name.dropLast() : name
        guard words.count == 5, Self.weekdays.contains(where: { $0 == weekday || $0.prefix(3) == weekday }),
            let day = Self.number(words[0], digits: 1...2), let index = Self.months.firstIndex(of: words[1]),
            var year = Self.number(words[2], digits: 2...4), words[2].utf8.count != 3,
            let offset = Self.offset(of: words[4])
        else { return nil }
        // Two digits each: `006:27:0` has the length of a time, but is not one.
        let clock = words[3].parts(at: ":")
            .compactMap { Self.number($0, digits: 2...2) }
        guard clock.count == 3, words[3].utf8.count == 8,
            clock[0] < 24, clock[1] < 60, clock[2] <= 60
        else {
            return nil
        }
        if words[2].utf8.count == 2 { year += year < 70 ? 2000 : 1900 }
        let month = year * 12 + Int64(index)
        let days = Self.days(before: month)
        guard day > 0, days + day <= Self.days(before: month + 1) else { return nil }
        secondsSinceEpoch = (days + day - 1) * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2] - offset
    }

    private static let weekdays = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(separator: " ")
    private static let months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(separator: " ")

    /// Returns the seconds by which a zone is ahead of GMT; nil if that is not certain.
    private static func offset(of zone: Substring) -> Int64? {
        if ["GMT", "UTC", "UT", "Z"].contains(zone.uppercased()) { return 0 }
        guard let sign = zone.first, sign == "+" || sign == "-", let number = number(zone.dropFirst(), digits: 4...4),
            number <= 1400, number % 100 < 60
        else { return nil }
        return (number / 100 * 60 + number % 100) * (sign == "-" ? -60 : 60)
    }

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int64? {
        digits.contains(text.utf8.count) ? Decimal64.parse(text) : nil
    }

    /// Counts the days from 1970 to a month in the proleptic Gregorian calendar; months are counted from year 0.
    private static func days(before month: Int64) -> Int64 {
        // Years that begin in March, 400 of them earlier, so that no number is negative.
        let (year, month) = (month + 4798).quotientAndRemainder(dividingBy: 12)
        return year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 - 865_565
    }

    /// Orders dates from earlier to later.
    package static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }
}
