import HTTPTypes
import ResumeHTTP

extension Parser {
    /// `Content-Range`: accepted values have their bytes in order, and writing them gives the same value.
    static let contentRange = Parser(
        "Content-Range",
        [
            "bytes <number>-<number>/<number>", "bytes <number>-<number>/*", "bytes */<number>",
            "bytes 95904-249999/250000",
        ]
    ) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let range = ContentRange(text) else { return .rejected }
        var fields = HTTPFields()
        fields.append(HTTPField(name: .contentRange, lenientValue: bytes))
        switch range {
        case .bytes(let first, let last, let length):
            return .expecting([
                "bytes in order": first >= 0 && first <= last, "room for one more": last < .max,
                "within the whole": last < length ?? .max,
                "the same again": ContentRange("bytes \(first)-\(last)/\(length.map(String.init) ?? "*")") == range,
                "the same as a field": ContentRange(in: fields) == range,
            ])
        case .unsatisfied(let length):
            return .expecting([
                "a length": length >= 0, "the same again": ContentRange("bytes */\(length)") == range,
                "the same as a field": ContentRange(in: fields) == range,
            ])
        }
    }

    /// Entity tags: accepted values are kept byte for byte and can be sent.
    static let entityTag = Parser("ETag", ["<tag>", "<tag>", "\"<noise>\"", "W/\"<noise>\""]) { bytes in
        guard let tag = EntityTag(bytes) else { return .rejected }
        return .expecting([
            "the same bytes": tag.bytes == bytes, "the same again": EntityTag(rawValue: tag.rawValue) == tag,
            "weak where it says so": tag.isWeak == (bytes.first == UInt8(ascii: "W")),
            "by the grammar": bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F } && bytes.count { $0 == 0x22 } == 2,
            "can be sent": HTTPField.isValidValue(tag.bytes),
            "bounded": bytes.count <= EntityTag.maximumLength,
            "only a strong one is strong": (Representation(entityTag: tag).validator == .entityTag(tag))
                == tag.isStrong,
        ])
    }

    /// Dates: writing an accepted value gives the same moment.
    static let date = Parser("Date", ["<date>"]) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let date = HTTPDate(text) else { return .rejected }
        let seconds = date.secondsSinceEpoch
        // A zone or a leap second leads out of the years 0 to 9999 by 14 hours at most.
        guard (-62_167_219_200..<253_402_300_800).contains(seconds) else {
            return .expecting(["at most 14 hours": (-62_167_269_600...253_402_351_200).contains(seconds)])
        }
        let written = fixdate(seconds)
        let isFixdate =
            text.utf8.count == 29 && text.hasSuffix(" GMT") && !text.hasSuffix("60 GMT")
            && text.dropFirst(3).hasPrefix(", ") && text.dropFirst(7).hasPrefix(" ")
        return .expecting([
            "the same again": HTTPDate(written) == date,
            // The name of the day may be wrong.
            "the same text": !isFixdate || text.dropFirst(5) == written.dropFirst(5),
        ])
    }

    /// Formats a moment as RFC 9110 requires, in a different way than it is parsed: day by day within its year.
    private static func fixdate(_ seconds: Int64) -> String {
        var days = (seconds - (seconds % 86_400 + 86_400) % 86_400) / 86_400
        let clock = seconds - days * 86_400
        let weekday = Int(((days + 4) % 7 + 7) % 7)
        // Not after the wanted year.
        var year = max(days >= 0 ? 1970 + days / 366 : 1970 + days / 365 - 2, 0)
        let isLeap = { (year: Int64) in year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
        let leaps = { (year: Int64) in (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400 }
        let start = { (year: Int64) in (year * 365 + leaps(year)) - (1970 * 365 + leaps(1970)) }
        while start(year + 1) <= days { year += 1 }
        days -= start(year)
        let lengths: [Int64] = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var month = 0
        while days >= lengths[month] {
            days -= lengths[month]
            month += 1
        }
        let padded = { (number: Int64, width: Int) in
            String(repeating: "0", count: max(width - String(number).count, 0)) + String(number)
        }
        return "\(Token.days[weekday].prefix(3)), \(padded(days + 1, 2)) \(Token.months[month]) \(padded(year, 4)) "
            + "\(padded(clock / 3600, 2)):\(padded(clock / 60 % 60, 2)):\(padded(clock % 60, 2)) GMT"
    }

    /// `Retry-After`: accepted values are acceptable delays for a client.
    static let retryAfter = Parser(
        "Retry-After", ["<number>", "<date>\nDate: <date>", "<number>\nRetry-After: <number>", "<date>\n<lines>"]
    ) { bytes in
        let fields = ResponseText(Array("Retry-After: ".utf8) + bytes).fields
        guard let seconds = ResponseTiming.RetryAfter.seconds(in: fields) else { return .rejected }
        return .expecting(["from 0 to 600 seconds": (0...ResponseTiming.RetryAfter.longest).contains(seconds)])
    }

    /// Digests: accepted values have the length of their algorithm.
    static let digest = Parser(
        "digest",
        [
            "sha-256=:<base64>:", "sha-512=:<base64>:", "sha-256=:<base64>:, sha-512=:<base64>:;q=<number>",
            "md5=:AAAA:, sha-256=:<base64>:", "sha-256=:<base64>:\nContent-Digest: sha-256=:<base64>:",
        ]
    ) { bytes in
        let text = ResponseText(Array("Content-Digest: ".utf8) + bytes)
        let lines = text.values("content-digest")
        // The lines of a structured field form one list and may differ; here, different ones are rejected.
        guard let digest = HTTPDigest(contentDigestIn: text.fields) else { return .rejected }
        return .expecting([
            "one field": lines.count == 1, "a length": digest.bytes.count == digest.algorithm.byteCount,
            "the same again": HTTPDigest(digest.algorithm, hexadecimal: digest.hexadecimal) == digest,
            "the same as text":
                HTTPDigest(field: lines.first.map { String(decoding: $0, as: UTF8.self) }) == digest,
            "named": lines.contains { String(decoding: $0, as: UTF8.self).contains(digest.algorithm.rawValue) },
        ])
    }

    /// Ranges requested by a caller: writing accepted ones gives the same text, and they have the expected length.
    static let rangeSelection = Parser(
        "ranges", ["<ranges>", "bytes=<ranges>", "<ranges>,<number>-<number>", "0-<number>,0-<number>,1-<number>"]
    ) {
        bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let ranges = RangeSelection(text) else { return .rejected }
        let lengths = [0, 1, 250_000, 1 << 52, .max].map { (whole: Int64) in
            ranges.length(completeLength: whole).map { $0 > 0 && $0 / 1000 <= whole } ?? true
        }
        return .expecting([
            "some": (1...RangeSelection.limit).contains(ranges.elements.count),
            "the same again": RangeSelection(ranges.description) == ranges,
            "lengths": lengths.allSatisfy { $0 } && ranges.length(completeLength: nil) ?? 1 > 0,
        ])
    }

    /// Displayed text: it contains no terminal control characters.
    static let printable = Parser("text that is shown", ["<noise><urlPart><noise>", "<tag>", "<lines>"]) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        let shown = Printable.escaped(text)
        let isSafe = shown.unicodeScalars.allSatisfy { scalar in
            ![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
        }
        return .expecting(["harmless": isSafe, "the same again": Printable.escaped(shown) == shown])
    }
}
