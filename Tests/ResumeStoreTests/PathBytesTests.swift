import ResumeFiles
import ResumeHTTP
import Testing

/// Paths that are not UTF-8, as strings.
struct PathBytesTests {
    private static func bytes(_ text: String) -> [UInt8] { text.systemPath.dropLast().map { UInt8(bitPattern: $0) } }

    @Test(
        "A path keeps its bytes, whatever they are",
        arguments: [
            [], Array("/plain/été".utf8), [0x64, 0xE9, 0x70], [0xFF], [0xC3], [0xC3, 0x28, 0xA9], [0xED, 0xA0, 0x80],
            [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x98, 0x80], [0x80, 0xBF, 0xFE],
            // The code points that stand for bytes, and their neighbours.
            Array("\u{F77F}\u{F780}\u{F7E9}\u{F7FF}\u{F800}".utf8), [0xEF, 0x9E],
        ])
    func roundTrip(path: [UInt8]) {
        let text = String(systemPath: path)
        #expect(Self.bytes(text) == path)
        let plain = String(validating: path, as: UTF8.self)
        if let plain, !plain.unicodeScalars.contains(where: { $0.pathByte != nil }) { #expect(text == plain) }
    }

    @Test("Random bytes survive, also as two parts of one path")
    func random() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let parts = (0..<2).map { _ in
                (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                    [0x41, 0x80, 0x9E, 0xC3, 0xE9, 0xEF, 0xF0, UInt8.random(in: 1...255, using: &generator)]
                        .randomElement(using: &generator) ?? 1
                }
            }
            for part in parts { #expect(Self.bytes(String(systemPath: part)) == part, "\(part)") }
            let path = "\(String(systemPath: parts[0]))/\(String(systemPath: parts[1]))"
            #expect(Self.bytes(path) == parts[0] + [0x2F] + parts[1], "\(parts)")
        }
    }

    @Test("Such code points in another text, which no path is read as, are themselves; bytes are shown as such")
    func others() {
        for text in ["\u{F7C3}\u{F7A9}", "\u{F741}", "a\u{F7C3}\u{F7A9}b"] {
            #expect(Self.bytes(text) == Array(text.utf8))
        }
        #expect(Printable.escaped("d\u{F7E9}p") == "d\\xE9p" && Printable.escaped("\u{E000}") == "\\u{E000}")
    }
}
