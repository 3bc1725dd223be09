import HTTPTypes
import ResumeHTTP
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ContentRangeTests {
    @Test(
        "B01, C06, C13: valid ranges, the unit in any case",
        arguments: [
            ("bytes 0-0/1", .bytes(first: 0, last: 0, completeLength: 1)),
            ("bytes 42-1233/1234", .bytes(first: 42, last: 1233, completeLength: 1234)),
            ("bytes 42-1233/*", .bytes(first: 42, last: 1233, completeLength: nil)),
            ("BYTES 1-2/3", .bytes(first: 1, last: 2, completeLength: 3)),
            ("Bytes 1-2/3", .bytes(first: 1, last: 2, completeLength: 3)),
            ("bytes 007-0008/00009", .bytes(first: 7, last: 8, completeLength: 9)),
            ("bytes */1234", .unsatisfied(completeLength: 1234)), ("bytes */0", .unsatisfied(completeLength: 0)),
        ] as [(String, ContentRange)])
    func valid(text: String, expected: ContentRange) {
        #expect(ContentRange(text) == expected)
    }

    @Test(
        "A16, T18: offsets are 64-bit",
        arguments: [1 << 31, 1 << 32, 1 << 32 + 1, 1 << 53, 1 << 53 + 1, 1 << 62, .max - 2] as [Int64])
    func large(first: Int64) {
        let expected = ContentRange.bytes(first: first, last: first + 1, completeLength: first + 2)
        #expect(ContentRange("bytes \(first)-\(first + 1)/\(first + 2)") == expected)
        #expect(ContentRange("bytes */\(first)") == .unsatisfied(completeLength: first))
    }

    @Test("C11: the position after the last byte does not overflow")
    func boundary() {
        #expect(ContentRange("bytes */\(Int64.max)") == .unsatisfied(completeLength: .max))
        #expect(ContentRange("bytes 0-\(Int64.max - 1)/\(Int64.max)") != nil)
        #expect(ContentRange("bytes 0-\(Int64.max)/*") == nil)
        #expect(ContentRange("bytes \(Int64.max)-\(Int64.max)/*") == nil)
        #expect(ContentRange("bytes 0-1/\(UInt64(Int64.max) + 1)") == nil)
        #expect(ContentRange("bytes */\(UInt64.max)") == nil)
    }

    @Test(
        "C11: invalid numbers, or those beyond 63 bits, are refused and trap nothing",
        arguments: [
            "+1", "-1", "0x10", "1e3", "1.0", "1_000", "", " 1", "1 ", "\u{0661}", "\u{FF11}", "\u{00B2}", "nan",
            "9223372036854775808", "18446744073709551616", "1\u{0301}", String(repeating: "9", count: 40),
            String(repeating: "9", count: 100_000), "*1", "**",
        ])
    func numbers(number: String) {
        #expect(ContentRange("bytes \(number)-1/2") == nil)
        #expect(ContentRange("bytes 0-\(number)/200") == nil)
        #expect(ContentRange("bytes 0-1/\(number)") == nil)
        #expect(ContentRange("bytes */\(number)") == nil)
    }

    @Test(
        "C04, C05, C07, C10, C16, C23: ranges that must not be combined",
        arguments: [
            "bytes 99999-60000/100000", "bytes 1-0/2", "bytes 0-1/1", "bytes 0-100/100", "bytes 0-99/50", "bytes 0-0/0",
            "bytes 100000-99999/100000", "bytes 0--1/0", "bytes 0-(-1)/0", "items 0-1/2", "octets 0-1/2", "byte 0-1/2",
            "bytes=0-1/2", "bytes: 0-1/2", "bytes:0-1/2", "bytes0-1/2", "bytes  0-1/2", "bytes\t0-1/2", " bytes 0-1/2",
            "bytes 0-1/2 ", "bytes 0-1/2, bytes 0-1/2", "bytes 0-1/2; x", "bytes 0-1/2x", "bytes 0 - 1/2",
            "bytes 0-1 /2",
            "bytes 0-1", "bytes 0-1/", "bytes -1/2", "bytes 0-/2", "bytes */*", "bytes *", "bytes */", "bytes /",
            "bytes ",
            "bytes", "", " ", "*/2", "0-1/2", "bytes 0-1-2/3", "bytes 0-1/2/3", "bytes *-*/*", "bytes *-1/2",
            "bytes 0-1,3-4/9", "none", "bytes\u{A0}0-1/2", "bytes 0\u{2013}1/2",
        ])
    func invalid(text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test("C12, T4: two different fields are invalid; surrounding white space is ignored")
    func field() {
        let expected = ContentRange.bytes(first: 0, last: 1, completeLength: 2)
        #expect(ContentRange(in: headerFields(["Content-Range: bytes 0-1/2"])) == expected)
        #expect(ContentRange(in: headerFields(["content-range:\t bytes 0-1/2 \t"])) == expected)
        #expect(ContentRange(in: headerFields([])) == nil)
        #expect(ContentRange(in: headerFields(["Content-Range:"])) == nil)
        #expect(ContentRange(in: headerFields(["Content-Range: bytes 0-1/2", "Content-Range: bytes 0-1/3"])) == nil)
        #expect(ContentRange(in: headerFields(["Content-Range: bytes 0-1/2", "Content-Range:"])) == nil)
        #expect(ContentRange(in: headerFields(["Content-Range: bytes 0-1/2, bytes 0-1/2"])) == nil)
        #expect(ContentRange(in: headerFields(["Content-Range: bytes 0-1/\u{E9}"])) == nil)
    }
}
