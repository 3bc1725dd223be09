import HTTPTypes
import ResumeHTTP
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RetryAfterTests {
    @Test(
        "I04, I06: seconds, clamped",
        arguments: [
            ("0", 0), ("2", 2), ("002", 2), ("601", 601), ("3600", 3600), ("31536000", 31_536_000),
            ("315360001", ResponseTiming.RetryAfter.longest),
            ("9223372036854775807", ResponseTiming.RetryAfter.longest),
            ("9223372036854775808", ResponseTiming.RetryAfter.longest),
            ("18446744073709551616", ResponseTiming.RetryAfter.longest),
        ] as [(String, Int64)])
    func seconds(text: String, expected: Int64) {
        #expect(ResponseTiming.RetryAfter.seconds(in: headerFields(["Retry-After: \(text)"])) == expected)
    }

    @Test("I06: forty digits, and a hundred thousand, are a long wait")
    func manyDigits() {
        for count in [40, 100_000] {
            let digits = String(repeating: "9", count: count)
            #expect(
                ResponseTiming.RetryAfter.seconds(in: headerFields(["Retry-After: \(digits)"]))
                    == ResponseTiming.RetryAfter.longest)
        }
        #expect(
            ResponseTiming.RetryAfter.seconds(
                in: headerFields(["Retry-After: " + String(repeating: "0", count: 40) + "7"])) == 7)
    }

    @Test(
        "I06: garbage is no wait",
        arguments: ["-1", "+1", "1.5", "1e3", "0x10", "2s", "soon", "", " ", "1 2", "1, 1", "\u{661}", "-\(Int64.max)"])
    func garbage(text: String) {
        #expect(
            ResponseTiming.RetryAfter.seconds(in: headerFields(["Retry-After: \(text)", "Date: \(Fixture.sent)"]))
                == nil)
    }

    @Test(
        "I05: a date is relative to the response's own Date, not to the local clock",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:40 GMT", 2), ("Sunday, 06-Nov-94 08:49:40 GMT", 2),
            ("Sun Nov  6 08:49:40 1994", 2),
            ("Sun, 06 Nov 1994 08:49:38 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
            ("Mon, 01 Jan 0001 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 09:49:38 GMT", 3600),
            ("Fri, 31 Dec 9999 23:59:59 GMT", ResponseTiming.RetryAfter.longest),
        ] as [(String, Int64)])
    func date(text: String, expected: Int64) {
        let fields = headerFields(["Retry-After: \(text)", "Date: \(Fixture.sent)"])
        #expect(ResponseTiming.RetryAfter.seconds(in: fields) == expected)
    }

    @Test("I05: a date without a Date to compare it with is no wait")
    func noDate() {
        let later = "Retry-After: Sun, 06 Nov 1994 08:49:40 GMT"
        #expect(ResponseTiming.RetryAfter.seconds(in: headerFields([later])) == nil)
        #expect(ResponseTiming.RetryAfter.seconds(in: headerFields([later, "Date: yesterday"])) == nil)
        #expect(
            ResponseTiming.RetryAfter.seconds(
                in: headerFields([later, "Date: \(Fixture.sent)", "Date: \(Fixture.modified)"])) == nil)
        #expect(ResponseTiming.RetryAfter.seconds(in: headerFields(["Retry-After: 3", "Date: yesterday"])) == 3)
    }

    @Test("Two different fields are ignored")
    func conflicting() {
        #expect(ResponseTiming.RetryAfter.seconds(in: headerFields(["Retry-After: 3", "Retry-After: 4"])) == nil)
        #expect(ResponseTiming.RetryAfter.seconds(in: headerFields(["Retry-After: 3", "Retry-After: 3"])) == 3)
        #expect(ResponseTiming.RetryAfter.seconds(in: headerFields([])) == nil)
    }
}
