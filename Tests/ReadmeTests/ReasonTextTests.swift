import Foundation
import TestSupport
import Testing

/// `reasons.txt` has the texts that the sources name, with a place for each value, and no other texts.
@Suite(.timeLimit(.minutes(5)))
struct ReasonTextTests {
    @Test("Each text that the sources name is in the table, with a place for each value, and each text is used")
    func texts() throws {
        let sources = ReadmeTests.root.appendingPathComponent("Sources").standardizedFileURL.path
        let reasons = String(decoding: try Files.bytes("\(sources)/ResumeHTTP/Reasons/Reason.swift"), as: UTF8.self)
        let constants = reasons.matches(of: /static let (\w+): Code = "([a-z-]+)"/).map { ($0.1, $0.2) }
        let codes = Dictionary(uniqueKeysWithValues: constants)
        var used: [Substring: Int] = [:]
        var named = Set(codes.values)
        for file in try #require(FileManager.default.subpaths(atPath: sources)) where file.hasSuffix(".swift") {
            let text = String(decoding: try Files.bytes("\(sources)/\(file)"), as: UTF8.self)
            named.formUnion(text.matches(of: /"([a-z0-9-]+)(?:"|\\\()/).map(\.1))
            let reason = /Reason(?:\.init)?\(\s*(?:"([a-z0-9-]+)"|\.(\w+))(?:(?:,\s*\[[^\]]*\])?\s*\)|[^()"]*\bwith:)/
            for match in text.matches(of: reason) {
                guard let code = match.1 ?? match.2.flatMap({ codes[$0] }) else { continue }
                let hasValues = match.0.hasSuffix("with:")
                let count = hasValues ? Self.countArguments(in: text[match.range.upperBound...]) : 0
                #expect(used[code, default: count] == count, "\(code)")
                used[code] = count
            }
            for match in text.matches(of: /\bsentence\(\s*"([a-z0-9-]+)"/) {
                let count = Self.countArguments(in: text[match.range.upperBound...]) - 1
                #expect(used[match.1, default: count] == count, "\(match.1)")
                used[match.1] = count
            }
        }
        let table = String(decoding: try Files.bytes("\(sources)/ResumeHTTP/Reasons/reasons.txt"), as: UTF8.self)
        let lines = table.split(separator: "\n").map { $0.split(separator: ": ", maxSplits: 1) }
        #expect(lines.allSatisfy { $0.count == 2 })
        let names = lines.map { $0[0] }
        #expect(names == names.sorted())
        #expect(used.keys.filter { !names.contains($0) }.isEmpty)
        for line in lines where used[line[0]] != nil {
            #expect(line[1].count { $0 == "%" } == used[line[0]], "\(line)")
        }
        // Others are chosen by a condition, or have a name that ends with a value, as "remedy-limit".
        let isNamed: (Substring) -> Bool = { name in
            named.contains(name) || named.contains { $0.hasSuffix("-") && name.hasPrefix($0) }
        }
        #expect(names.filter { used[$0] == nil && !isNamed($0) }.isEmpty)
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
