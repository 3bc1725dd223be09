import Foundation
import TestSupport
import Testing

/// `reasons.txt` has a text for each reason without one of its own, and no other texts.
@Suite(.timeLimit(.minutes(5)))
struct ReasonTextTests {
    @Test("Each reason without a text of its own has one in the table, and each text is used")
    func texts() throws {
        let sources = ReadmeTests.root.appendingPathComponent("Sources").standardizedFileURL.path
        var used: Set<Substring> = []
        for file in try #require(FileManager.default.subpaths(atPath: sources)) where file.hasSuffix(".swift") {
            let text = String(decoding: try Files.bytes("\(sources)/\(file)"), as: UTF8.self)
            used.formUnion(text.matches(of: /Reason(?:\.init)?\(\s*"([a-z0-9-]+)"(?:,\s*\[[^\]]*\])?\s*\)/).map(\.1))
        }
        let table = String(decoding: try Files.bytes("\(sources)/ResumeHTTP/Reasons/reasons.txt"), as: UTF8.self)
        let lines = table.split(separator: "\n").map { $0.split(separator: ": ", maxSplits: 1) }
        #expect(lines.allSatisfy { $0.count == 2 })
        #expect(lines.map { $0[0] } == used.sorted())
    }
}
