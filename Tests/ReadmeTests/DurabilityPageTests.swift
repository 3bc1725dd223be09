import Foundation
import TestSupport
import Testing

/// `docs/durability.md` names the tests that prove each promise: they must exist.
@Suite(.timeLimit(.minutes(5)))
struct DurabilityPageTests {
    @Test("Each test that the page names is a suite, and each promise names one")
    func named() throws {
        let page = try ReadmeTests.text("docs/durability.md")
        let tests = ReadmeTests.root.appendingPathComponent("Tests").standardizedFileURL.path
        var suites: Set<String> = []
        for module in try Files.names(in: tests) where module.hasSuffix("Tests") {
            for file in try Files.names(in: "\(tests)/\(module)") where file.hasSuffix(".swift") {
                let text = String(decoding: try Files.bytes("\(tests)/\(module)/\(file)"), as: UTF8.self)
                let code = SwiftSource(text).code
                guard code.contains("@Test") else { continue }
                for match in code.matches(of: /struct (\w+Tests)\b/) { suites.insert(String(match.1)) }
            }
        }
        let named = Set(page.matches(of: /`(\w+Tests)`/).map { String($0.1) })
        #expect(named.count >= 15)
        #expect(named.subtracting(suites).isEmpty)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.contains("---") }
        let promises = rows.filter { !$0.hasPrefix("| Event |") && !$0.hasPrefix("| Failure |") }
        #expect(promises.count >= 18)
        for row in promises {
            // Its last column.
            let proof = row.split(separator: "|").last { !$0.allSatisfy(\.isWhitespace) }
            #expect(proof?.contains("Tests`") == true, "\(row)")
        }
    }
}
