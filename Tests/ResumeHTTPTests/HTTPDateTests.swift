import HTTPTypes
@testable import ResumeHTTP
import Testing

@Suite(.timeLimit(.minutes(5)))
struct HTTPDateTests {
    @Test("A date in another zone is a validator, and is sent back exactly as received")
    func sentBack() {
        let modified = "Sun, 6 Nov 94 08:49:36 +0000"
        let fields = headerFields([
            "Last-Modified: \(modified)", "Date: Sun, 06 Nov 1994 08:49:37 UTC", "Content-Length: 250000",
        ])
        let held = HeldPartial(representation: Representation(fields: fields), length: 100_000)
        #expect(Plan(for: held).fields[.ifRange] == modified)
        let wait = headerFields(["Retry-After: Sun, 06 Nov 1994 09:49:40 +0100", "Date: \(Fixture.sent)"])
        #expect(ResponseTiming.RetryAfter.seconds(in: wait) == 2)
    }

    @Test(
        "Known dates, in the three forms of RFC 9110, 5.6.7, and as some servers send them",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
            ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400), ("Sun, 28 Feb 2100 23:59:59 GMT", 4_107_542_399),
            ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648), ("Sun, 07 Feb 2106 06:28:16 GMT", 4_294_967_296),
            ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
            // With another zone, a one-digit day or a two-digit year, as some servers send them.
            ("Sun, 06 Nov 1994 08:49:37 UTC", 784_111_777), ("Sun, 06 Nov 1994 08:49:37 gmt", 784_111_777),
            ("Sun, 06 Nov 1994 08:49:37 +0000", 784_111_777), ("Sun, 06 Nov 1994 08:49:37 -0000", 784_111_777),
            ("Sun, 06 Nov 1994 10:19:37 +0130", 784_111_777), ("Sun, 06 Nov 1994 00:49:37 -0800", 784_111_777),
            ("Sat, 05 Nov 1994 18:49:37 -1400", 784_111_777), ("Sun, 6 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sun, 06 Nov 94 08:49:37 UT", 784_111_777), ("Sunday, 6-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun, 06-Nov-1994 08:49:37 Z", 784_111_777), ("Sun Nov 06 08:49:37 1994", 784_111_777),
            ("Sun Nov 6 08:49:37 1994", 784_111_777), ("Sun 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Fri, 31 Dec 9999 23:59:59 -1400", 253_402_351_199),
            ("Sat, 01 Jan 0000 00:00:00 +1400", -62_167_269_600),
        ] as [(String, Int64)])
    func known(text: String, seconds: Int64) {
        #expect(HTTPDate(text)?.secondsSinceEpoch == seconds)
    }

    @Test("A leap second is a date")
    func leapSecond() {
        #expect(HTTPDate("Sat, 31 Dec 2016 23:59:60 GMT") == HTTPDate("Sun, 01 Jan 2017 00:00:00 GMT"))
    }

    @Test("M07: a two-digit year is in 1970 to 2069, whatever the clock says")
    func twoDigits() {
        #expect(HTTPDate("Thursday, 01-Jan-70 00:00:00 GMT")?.secondsSinceEpoch == 0)
        #expect(HTTPDate("Tuesday, 01-Jan-69 00:00:00 GMT") == HTTPDate("Tue, 01 Jan 2069 00:00:00 GMT"))
        #expect(HTTPDate("Friday, 31-Dec-99 23:59:59 GMT") == HTTPDate("Fri, 31 Dec 1999 23:59:59 GMT"))
        #expect(HTTPDate("Saturday, 01-Jan-00 00:00:00 GMT") == HTTPDate("Sat, 01 Jan 2000 00:00:00 GMT"))
    }

    @Test("Every day of 400 years is one day after the day before")
    func calendar() throws {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var expected: Int64 = 0
        // One month in seven of the years, all months around each century.
        for year in 1970..<2370 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for (index, month) in months.enumerated() {
                let length = lengths[index] + (isLeap && index == 1 ? 1 : 0)
                if year % 100 == 0 || (year * 12 + index) % 7 == 0 {
                    for day in [1, length] {
                        let text = "Mon, \(day < 10 ? "0" : "")\(day) \(month) \(year) 00:00:00 GMT"
                        #expect(HTTPDate(text)?.secondsSinceEpoch == expected + Int64(day - 1) * 86_400)
                    }
                }
                expected += Int64(length) * 86_400
            }
        }
        #expect(expected == 146_097 * 86_400)
    }

    @Test(
        "Invalid dates are refused",
        arguments: [
            "", " ", "0", "-1", "Sun", "Sun,", "now", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 EST", "Sun, 06 Nov 1994 08:49:37 +000", "Sun, 06 Nov 1994 08:49:37 +0060",
            "Sun, 06 Nov 1994 08:49:37 +9900", "Sun, 06 Nov 1994 08:49:37 ", "Sun, 006 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT+1", "06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37:00 GMT",
            "Sun, 06 Nov 1994 +8:49:37 GMT", "Sun, 06 Nov 1994 0x:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT",
            "Sun, 06 Nov 994 08:49:37 GMT", "Sun, 06 Nov \u{0661}994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT\r\nX: 1",
            "Sun, 06 Nov 1994 08:49:37 GMT; length=1", "Sun, 99999999999999999999 Nov 1994 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov  6 08:49:37", "Sunday, Nov 06 1994 08:49:37 GMT",
            "Sunday, 06-Nov 08:49:37 GMT", "Sunday, 06-Nov-994 08:49:37 GMT", "Sunday, 06-Nov--94 08:49:37 GMT",
            // A day beyond the end of its month.
            "Thu, 31 Feb 2024 00:00:00 GMT", "Fri, 30 Feb 2024 00:00:00 GMT", "Wed, 29 Feb 2023 00:00:00 GMT",
            "Wed, 31 Apr 2024 00:00:00 GMT", "Mon, 29 Feb 2100 00:00:00 GMT",
            // Separators in other places.
            "---,Sun 06 Nov 1994 08:49:37 GMT", "Sun-06,Nov-1994 08:49:37 GMT", "Sun-Nov-6-08:49:37-1994",
            "Sun, 06 Nov 1994 0008:049:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT",
        ])
    func malformed(text: String) {
        #expect(HTTPDate(text) == nil)
    }

    @Test("A text of any length is examined for a bounded time")
    func long() {
        #expect(HTTPDate(String(repeating: "9", count: 40)) == nil)
        #expect(HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT" + String(repeating: " ", count: 100_000)) == nil)
        #expect(HTTPDate(String(repeating: ",", count: 1 << 20)) == nil)
    }

    @Test("Earlier dates sort first")
    func order() throws {
        let texts = [
            "Mon, 01 Jan 0001 00:00:00 GMT", "Wed, 31 Dec 1969 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
            "Fri, 31 Dec 9999 23:59:59 GMT",
        ]
        let dates = try texts.map { try #require(HTTPDate($0)) }
        #expect(dates.reversed().sorted() == dates)
        #expect(!(dates[0] < dates[0]))
    }
}
