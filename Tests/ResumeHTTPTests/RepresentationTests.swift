import HTTPTypes
import ResumeHTTP
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RepresentationTests {
    private func representation(_ lines: String...) -> Representation {
        Representation(fields: headerFields(lines))
    }

    @Test("A09, T8: a strong entity tag is the validator, whatever the date")
    func strongTag() {
        let both = representation("ETag: \"a\"", "Last-Modified: \(Fixture.modified)", "Date: \(Fixture.sent)")
        #expect(both.validator?.fieldValue == Array("\"a\"".utf8))
        #expect(both.weakness == nil)
    }

    @Test("A03, A04, G05, T8: a weak entity tag is no validator, and rules out the date as one")
    func weakTag() {
        let weak = representation("ETag: W/\"a\"", "Last-Modified: \(Fixture.modified)", "Date: \(Fixture.sent)")
        #expect(weak.entityTag?.isWeak == true)
        #expect(weak.validator == nil)
        #expect(weak.weakness?.code.rawValue == "weak-entity-tag")
    }

    @Test("A08: neither tag nor date")
    func none() {
        let none = representation("Date: \(Fixture.sent)", "Content-Length: 9")
        #expect(none.validator == nil)
        #expect(none.weakness?.code.rawValue == "no-validator")
    }

    @Test(
        "A05, A06, A07, M04: Last-Modified is strong from one whole second before the response's Date",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:36 GMT", false), ("Sun, 06 Nov 1994 08:49:37 GMT", false),
            ("Sun, 06 Nov 1994 08:49:38 GMT", true), ("Sun, 06 Nov 1994 08:50:37 GMT", true),
            ("Sunday, 06-Nov-94 08:49:38 GMT", true), ("Sun Nov  6 08:49:37 1994", false), ("", false), ("now", false),
        ])
    func oneSecond(date: String, isStrong: Bool) {
        let dated = representation("Last-Modified: \(Fixture.modified)", "Date: \(date)", "Age: 90000")
        #expect((dated.validator != nil) == isStrong)
        let isDate = date.hasPrefix("Sun")
        #expect(dated.weakness?.code.rawValue == (isStrong ? nil : isDate ? "date-too-fresh" : "date-unusable"))
    }

    @Test("A07: without a Date nothing is proved about Last-Modified")
    func noDate() {
        #expect(representation("Last-Modified: \(Fixture.modified)").validator == nil)
        #expect(representation("Last-Modified: \(Fixture.modified)", "Date: x", "Date: y").validator == nil)
    }

    @Test("Promise 10: the reason states the facts, not that an absent Date was too fresh")
    func reasonWithoutDate() {
        let noDate = representation("Last-Modified: \(Fixture.modified)")
        let noParse = representation("Last-Modified: last week", "Date: \(Fixture.sent)")
        #expect(noDate.weakness?.text.contains("less than a second older") == false)
        #expect(noParse.weakness?.text.contains("less than a second older") == false)
    }

    @Test(
        "A05: the date is sent back exactly as received",
        arguments: [
            "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 GMT",
        ])
    func dateVerbatim(text: String) throws {
        let validator = try #require(representation("Last-Modified: \(text)", "Date: \(Fixture.sent)").validator)
        #expect(validator == .lastModified(text))
        #expect(validator.fieldValue == Array(text.utf8))
    }

    @Test("A12: an invalid entity tag is no validator", arguments: ["abc", "\"abc", "w/\"a\"", "\"a\", \"b\"", ""])
    func malformedTag(text: String) {
        let made = representation("ETag: \(text)")
        #expect(made.entityTag?.isStrong != true)
        #expect(made.validator == nil)
    }

    @Test("B11, F15: two different entity tags are invalid; two equal ones are one")
    func twoTags() {
        #expect(representation("ETag: \"a\"", "ETag: \"b\"").validator == nil)
        #expect(representation("ETag: \"a\"", "ETag: \"a\" ").validator?.fieldValue == Array("\"a\"".utf8))
        #expect(representation("ETag: \"a\r\n b\"").validator == nil)
    }

    @Test(
        "A04, T8: a date is no substitute for an entity tag that cannot be kept",
        arguments: [
            ["ETag: \"\(String(repeating: "a", count: 8191))\""],
            ["ETag: W/\"\(String(repeating: "a", count: 70_000))\""],
            ["ETag: \"a\"", "ETag: \"b\""], ["ETag: \"\u{EF}\u{BF}\u{BD}\""],
        ])
    func unusableTagAndDate(lines: [String]) {
        let fields = headerFields(lines + ["Last-Modified: \(Fixture.modified)", "Date: \(Fixture.sent)"])
        #expect(Representation(fields: fields).validator == nil)
    }

    @Test(
        "F09, F10: Content-Length is a decimal number or unknown",
        arguments: [
            ("0", 0), ("5", 5), ("005", 5), ("4294967297", 4_294_967_297), ("9223372036854775807", .max), ("-5", nil),
            ("+5", nil), ("0x10", nil), ("1e3", nil), ("5, 5", nil), ("", nil), ("9223372036854775808", nil),
            ("99999999999999999999999", nil), ("9999999999999999999999999999999999999999", nil), ("\u{B2}", nil),
        ] as [(String, Int64?)])
    func contentLength(text: String, expected: Int64?) {
        #expect(representation("Content-Length: \(text)").completeLength == expected)
    }

    @Test("F07, F08: a length beside Transfer-Encoding, or two lengths, are ignored")
    func noLength() {
        #expect(representation("Content-Length: 5", "Content-Length: 6").completeLength == nil)
        #expect(representation("Content-Length: 5", "Content-Length: 5").completeLength == 5)
        #expect(representation("Content-Length: 5", "Transfer-Encoding: chunked").completeLength == nil)
        #expect(representation("Transfer-Encoding: chunked").completeLength == nil)
    }

    @Test(
        "D11, D12: only 'none' disables ranges",
        arguments: [
            (["Accept-Ranges: none"], false), (["Accept-Ranges: NONE"], false), (["Accept-Ranges: bytes"], true),
            ([], true),
            (["Accept-Ranges: items"], true), (["Accept-Ranges:"], true),
        ] as [([String], Bool)])
    func acceptRanges(lines: [String], expected: Bool) {
        #expect(Representation(fields: headerFields(lines)).acceptsRanges == expected)
    }

    @Test("Other fields are kept as received")
    func otherFields() {
        let made = representation(
            "Content-Type: Text/HTML; charset=utf-8", "Repr-Digest: sha-256=:AAAA:", "Date: \(Fixture.sent)")
        #expect(made.contentType == "Text/HTML; charset=utf-8")
        #expect(made.reprDigest == "sha-256=:AAAA:")
        #expect(made.date == Fixture.sent)
        let long = "sha-256=:\(String(repeating: "A", count: 1024)):"
        #expect(representation("Repr-Digest: \(long)").reprDigest == nil, "longer than any digest")
        #expect(representation() == Representation())
    }

    @Test("A17: a planted date with a line break is no validator")
    func plantedDate() {
        for text in ["\(Fixture.modified)\r\nX: 1", "\(Fixture.modified)\n", "\0", "Sun, 06 Nov 1994\n08:49:37 GMT"] {
            #expect(Representation(lastModified: text, date: Fixture.sent).validator == nil)
        }
        let planted = Representation(lastModified: "X:\r\n1, 06 Nov 1994 08:49:37 GMT", date: Fixture.sent)
        #expect(planted.validator == nil)
        // HTTPField replaces them with spaces, so at least nothing is injected.
        let sent = Plan(for: HeldPartial(representation: planted, length: Fixture.length)).fields[.ifRange] ?? ""
        #expect(!sent.unicodeScalars.contains { $0 == "\r" || $0 == "\n" })
    }
}
