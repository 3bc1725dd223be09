import Foundation
import TestSupport
import Testing

/// `reasons.txt` has a text for each reason without one of its own, with a place for each value, and no other texts.
@Suite(.timeLimit(.minutes(5)))
struct ReasonTextTests {
    @Test("Each reason without a text of its own has one in the table, with its values, and each text is used")
    func texts() throws {
        let sources = ReadmeTests.root.appendingPathComponent("Sources").standardizedFileURL.path
        let reasons = String(decoding: try Files.bytes("\(sources)/ResumeHTTP/Reasons/Reason.swift"), as: UTF8.self)
        let constants = reasons.matches(of: /static let (\w+): Code = "([a-z-]+)"/).map { ($0.1, $0.2) }
        let codes = Dictionary(uniqueKeysWithValues: constants)
        var used: [Substring: Int] = [:]
        for file in try #require(FileManager.default.subpaths(atPath: sources)) where file.hasSuffix(".swift") {
            let text = String(decoding: try Files.bytes("\(sources)/\(file)"), as: UTF8.self)
            let call = /Reason(?:\.init)?\(\s*(?:"([a-z0-9-]+)"|\.(\w+))(?:(?:,\s*\[[^\]]*\])?\s*\)|[^()"]*\bwith:)/
            for match in text.matches(of: call) {
                guard let code = match.1 ?? match.2.flatMap({ codes[$0] }) else { continue }
                let hasValues = match.0.hasSuffix("with:")
                let count = hasValues ? Self.countArguments(in: text[match.range.upperBound...]) : 0
                #expect(used[code, default: count] == count, "\(code)")
                used[code] = count
            }
        }
        let table = String(decoding: try Files.bytes("\(sources)/ResumeHTTP/Reasons/reasons.txt"), as: UTF8.self)
        let lines = table.split(separator: "\n").map { $0.split(separator: ": ", maxSplits: 1) }
        #expect(lines.allSatisfy { $0.count == 2 })
        #expect(lines.map { $0[0] } == used.keys.sorted())
        for line in lines { #expect(line[1].count { $0 == "%" } == used[line[0]], "\(line)") }
    }

    /// Counts the arguments until the parenthesis that ends a call.
    private static func countArguments(in text: Substring) -> Int {
        var (count, depth, isQuoted) = (1, 0, false)
        for character in text {
            switch character {
            case "\"": isQuoted.toggle()
            case _ where isQuoted: break
            case "(", "[": depth += 1
            case ")" where depth == 0: return count
            case ")", "]": depth -= 1
            case "," where depth == 0: count += 1
            default: break
            }
        }
        return count
    }
}
