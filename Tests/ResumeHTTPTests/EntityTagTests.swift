import HTTPTypes
import ResumeHTTP
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EntityTagTests {
    @Test(
        "A02, B15: a tag is kept byte for byte, opaque, its quotes included",
        arguments: [
            "\"a\"", "\"d41d8cd98f00b204e9800998ecf8427e-2\"", "\"!#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\"", "\"W/\"",
            "\"''\"",
            "\"5f-gzip\"",
        ])
    func strong(text: String) throws {
        let tag = try #require(EntityTag(Array(text.utf8)))
        #expect(!tag.isWeak)
        #expect(tag.bytes == Array(text.utf8))
        #expect(tag.rawValue == text)
        #expect(EntityTag(rawValue: tag.rawValue) == tag)
    }

    @Test("A11: the empty tag is strong")
    func empty() throws {
        let tag = try #require(EntityTag(Array("\"\"".utf8)))
        #expect(!tag.isWeak)
        #expect(tag.isStrong)
    }

    @Test("A03: W/ makes a tag weak", arguments: ["W/\"a\"", "W/\"\"", "W/\"W/\""])
    func weak(text: String) throws {
        let tag = try #require(EntityTag(Array(text.utf8)))
        #expect(tag.isWeak)
        #expect(tag.bytes == Array(text.utf8))
    }

    @Test("A10: every byte of obs-text is returned unchanged")
    func obsText() throws {
        let bytes = [0x22] + (0x80...0xFF).map { UInt8($0) } + [0x22]
        let tag = try #require(EntityTag(bytes))
        #expect(tag.bytes == bytes)
        #expect(tag.rawValue.unicodeScalars.count == 130)
        #expect(EntityTag(rawValue: tag.rawValue)?.bytes == bytes)
        for byte in UInt8(0x80)...0xFF {
            #expect(EntityTag([0x22, byte, 0x22])?.bytes == [0x22, byte, 0x22])
        }
    }

    @Test("A10: bytes that a transport has altered make no tag")
    func replacementCharacter() {
        #expect(EntityTag(Array("\"a\u{FFFD}\"".utf8)) == nil)
        #expect(EntityTag(Array("\"\u{EFFF}\u{FFFD}\"".utf8)) == nil)
        // EF, or EF BF, alone are ordinary bytes.
        #expect(EntityTag([0x22, 0xEF, 0x22]) != nil)
        #expect(EntityTag([0x22, 0xEF, 0xBF, 0x22]) != nil)
        #expect(EntityTag([0x22, 0xEF, 0xEF, 0xBF, 0xBD, 0x22]) == nil)
    }

    @Test(
        "A12, A13: a value outside the grammar is not an entity tag",
        arguments: [
            "", "\"", "W/", "W/\"", "\"abc", "abc\"", "w/\"a\"", "W \"a\"", "W/ \"a\"", "a, b", "a,b", "*",
            "\"a\" ",
            " \"a\"", "\"a b\"", "\"a\tb\"", "\"a\"b\"", "\"a\", \"b\"", "\"a\",\"b\"", "\"a\"\"b\"", "W/W/\"a\"",
        ])
    func malformed(text: String) {
        #expect(EntityTag(Array(text.utf8)) == nil)
    }

    @Test(
        "A12: a tag without quotation marks is sent in conditions, but is no validator", arguments: ["abc", "W", "W/a"])
    func unquoted(text: String) throws {
        let tag = try #require(EntityTag(Array(text.utf8)))
        #expect(!tag.isStrong && tag.bytes == Array(text.utf8))
    }

    @Test("A17: no control character is ever part of a tag")
    func controls() {
        for byte in [UInt8](0x00...0x20) + [0x7F] {
            #expect(EntityTag([0x22, byte, 0x22]) == nil)
            #expect(EntityTag([byte, 0x22, 0x22]) == nil)
            #expect(EntityTag([0x22, 0x22, byte]) == nil)
        }
        #expect(EntityTag(rawValue: "\"a\r\nX-Injected: 1\"") == nil)
        #expect(EntityTag(rawValue: "\"a\"\r\n") == nil)
        #expect(EntityTag(rawValue: "\"a\0\"") == nil)
    }

    @Test("A17: a stored tag with characters beyond one byte was stored by another program")
    func plantedRow() {
        #expect(EntityTag(rawValue: "\"\u{100}\"") == nil)
        #expect(EntityTag(rawValue: "\"\u{1F600}\"") == nil)
        #expect(EntityTag(rawValue: "\"e\u{301}\"") == nil)
        // One scalar per byte: the same character as one scalar is a byte.
        #expect(EntityTag(rawValue: "\"\u{E9}\"")?.bytes == [0x22, 0xE9, 0x22])
        #expect(EntityTag(rawValue: "") == nil)
    }

    @Test("A21: the length of a tag is limited")
    func length() {
        let inner = [UInt8](repeating: 0x61, count: EntityTag.maximumLength - 2)
        #expect(EntityTag([0x22] + inner + [0x22])?.bytes.count == 8192)
        #expect(EntityTag([0x22] + inner + [0x61, 0x22]) == nil)
        #expect(EntityTag([UInt8](repeating: 0x22, count: 1 << 20)) == nil)
    }

    @Test(
        "B04: strong comparison is that of RFC 9110, 8.8.3.2",
        arguments: [
            ("W/\"1\"", "W/\"1\"", false), ("W/\"1\"", "W/\"2\"", false), ("W/\"1\"", "\"1\"", false),
            ("\"1\"", "W/\"1\"", false), ("\"1\"", "\"1\"", true), ("\"1\"", "\"2\"", false), ("\"a\"", "\"A\"", false),
            ("\"x-gzip\"", "\"x\"", false),
        ])
    func comparison(left: String, right: String, isEqual: Bool) {
        let validators = [left, right].map { Representation(entityTag: EntityTag(rawValue: $0)).validator }
        #expect((validators[0] != nil && validators[0] == validators[1]) == isEqual)
    }

    @Test("Two tags are equal only if all their bytes are")
    func equality() {
        let tags = (0x80...0xFF).compactMap { EntityTag([0x22, UInt8($0), 0x22]) }
        #expect(Set(tags).count == 128)
    }

    @Test("L03: a displayed tag contains no C1 control character either")
    func shown() throws {
        let old = try #require(EntityTag([0x22, 0x9B, 0x33, 0x31, 0x6D, 0x22]))
        #expect(!"\(old)".unicodeScalars.contains { $0.properties.generalCategory == .control })
        let verdict = Fixture.judge(206, ["ETag: \"\u{9B}31m\"", Fixture.contentRange])
        #expect(verdict.summary == "ask for whole: entity-tag-changed")
        #expect(!verdict.reason.text.unicodeScalars.contains { $0.properties.generalCategory == .control })
        #expect(!Printable.escaped(verdict.reason.text).unicodeScalars.contains("\u{9B}"))
    }
}
