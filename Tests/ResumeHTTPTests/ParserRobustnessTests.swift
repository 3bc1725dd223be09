import HTTPTypes
@testable import ResumeHTTP
import TestSupport
import Testing

/// Random inputs, the same in every run, made of tokens that parsers look for.
///
/// Nothing may trap, and accepted values are sound. The tests yield occasionally: a time limit includes waiting.
@Suite(.timeLimit(.minutes(5)))
struct ParserRobustnessTests {
    private static let shards: [UInt64] = [1, 2, 3, 4]
    private static let count = 50_000

    /// Up to `count` pieces, one after the other.
    private static func text(
        _ pieces: [String], upTo count: Int, using generator: inout SplitMix64
    ) -> String {
        (0..<Int.random(in: 0...count, using: &generator))
            .reduce(into: "") { text, _ in text += pieces.randomElement(using: &generator) ?? "" }
    }

    private static let numbers = [
        "0", "1", "7", "99", "4096", "100000", "249999", "250000", "4294967296", "9007199254740993",
        "9223372036854775806",
        "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
        "9999999999999999999999999999999999999999", "-1", "+1", "0x1F", "1e9", "\u{661}", "",
    ]

    @Test("C11: an accepted Content-Range has its bytes in order", arguments: shards)
    func contentRange(seed: UInt64) async {
        var generator = SplitMix64(seed: seed)
        let noise = ["bytes", "Bytes", "items", " ", "\t", "-", "/", "*", ",", "=", "\u{E9}", "\0", "\r\n"]
        var accepted = 0
        for round in 0..<Self.count {
            if round % 1000 == 0 { await Task.yield() }
            let number = { Self.numbers.randomElement(using: &generator) ?? "" }
            let isShaped = Bool.random(using: &generator)
            let length = Bool.random(using: &generator) ? number() : "*"
            let shaped = "bytes \(number())-\(number())/\(length)"
            let text = isShaped ? shaped : Self.text(noise + Self.numbers, upTo: 9, using: &generator)
            guard let range = ContentRange(text) else { continue }
            accepted += 1
            let isSound =
                switch range {
                case .bytes(let first, let last, let length):
                    first >= 0 && first <= last && last < length ?? .max && text.contains("-\(last)/")
                case .unsatisfied(let length):
                    length >= 0 && text.lowercased() == "bytes */\(length)"
                }
            if !isSound { Issue.record("\(text.debugDescription) became \(range)") }
        }
        #expect(accepted > 500, "the inputs must reach the parser's end")
    }

    @Test("A10, A17: an accepted entity tag is returned byte for byte", arguments: shards)
    func entityTag(seed: UInt64) async {
        var generator = SplitMix64(seed: seed)
        var accepted = 0
        for round in 0..<Self.count {
            if round % 1000 == 0 { await Task.yield() }
            var bytes = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if Bool.random(using: &generator) { bytes.removeAll { $0 <= 0x22 } }
            if UInt8.random(in: 0...9, using: &generator) > 0 { bytes = [0x22] + bytes + [0x22] }
            if UInt8.random(in: 0...3, using: &generator) == 0 { bytes = [0x57, 0x2F] + bytes }
            guard let tag = EntityTag(bytes) else { continue }
            accepted += 1
            let isWeak = bytes.starts(with: [0x57, 0x2F])
            let opaque = bytes.dropFirst(isWeak ? 2 : 0)
            let isQuoted = opaque.count >= 2 && opaque.first == 0x22 && opaque.last == 0x22
            // A tag without quotation marks is sent in conditions, but is no validator.
            let validator = Representation(entityTag: tag).validator
            let isSound =
                tag.bytes == bytes && tag.isWeak == isWeak && tag.isQuoted == isQuoted
                && tag.isStrong == (isQuoted && !isWeak)
                && validator == (isQuoted && !isWeak ? .entityTag(tag) : nil)
                && EntityTag(rawValue: tag.rawValue) == tag
                && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F } && HTTPField.isValidValue(tag.bytes)
            if !isSound { Issue.record("\(bytes) became \(tag.rawValue.debugDescription)") }
        }
        #expect(accepted > Self.count / 10)
    }

    @Test("An accepted date is in the years 0 to 9999", arguments: shards)
    func date(seed: UInt64) async {
        var generator = SplitMix64(seed: seed)
        let pieces = [
            "Sun", "Sunday", ",", " ", "  ", "-", "06", "6", "31", "Nov", "Feb", "1994", "94", "0000", "9999",
            "08:49:37", "23:59:60",
            "::", ":", "GMT", "UTC", "99999999999999999999", "\u{E9}", "\0", "\u{661}",
        ]
        var accepted = 0
        for round in 0..<Self.count {
            if round % 1000 == 0 { await Task.yield() }
            var text = Self.text(pieces, upTo: 12, using: &generator)
            if Bool.random(using: &generator) {
                let part = { pieces.randomElement(using: &generator) ?? "" }
                let day = Int.random(in: 0...33, using: &generator)
                text = "Sun, \(day) \(Bool.random(using: &generator) ? "Nov" : part()) 1994 08:49:\(part().count) GMT"
            }
            guard let date = HTTPDate(text) else { continue }
            accepted += 1
            // Day 31 in a shorter month overflows by up to three days.
            if !(-62_167_219_200...253_402_300_799 + 3 * 86_400).contains(date.secondsSinceEpoch) {
                Issue.record("\(text.debugDescription) became \(date.secondsSinceEpoch)")
            }
        }
        #expect(accepted > Self.count / 500)
    }

    @Test("I06: an accepted Retry-After is a wait from 0 to 600 seconds", arguments: shards)
    func retryAfter(seed: UInt64) async {
        var generator = SplitMix64(seed: seed)
        let dates = [
            Fixture.sent, Fixture.modified, "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0000 00:00:00 GMT", "x", "",
        ]
        var accepted = 0
        for round in 0..<Self.count {
            if round % 1000 == 0 { await Task.yield() }
            let wait = (Self.numbers + dates).randomElement(using: &generator) ?? ""
            let sent = (Self.numbers + dates).randomElement(using: &generator) ?? ""
            let fields: HTTPFields = [.retryAfter: wait, .date: sent]
            guard let seconds = ResponseTiming.RetryAfter.seconds(in: fields) else { continue }
            accepted += 1
            let isPossible = (0...ResponseTiming.RetryAfter.longest).contains(seconds)
            if !isPossible { Issue.record("\(fields) became \(seconds)") }
        }
        #expect(accepted > Self.count / 10)
    }
}
