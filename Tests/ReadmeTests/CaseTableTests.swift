import Foundation
import TestSupport
import Testing

/// Each row of the table of HTTP cases is tested at each level that the table names for it.
@Suite(.timeLimit(.minutes(5)))
struct CaseTableTests {
    private static let pure = ["ResumeHTTPTests", "ResumeStoreTests"]
    private static let wire = [
        "MemoryTests", "RealOriginTests", "ResumeCommandsTests", "ResumeDownloadTests", "ResumectlTests", "Scenarios",
    ]

    /// The identifiers that begin a string literal, which is a test's name or a row of its arguments; `A01 to A03`
    /// means three of them.
    ///
    /// Comments are ignored, and so are identifiers in the middle of a text.
    private static func identifiers(in source: SwiftSource) -> Set<String> {
        var found: Set<String> = []
        for literal in source.literals {
            guard let list = literal.prefixMatch(of: /([A-Z]\d*(?:(?:, | to )[A-Z]\d*)*)(?::|$)/) else { continue }
            for match in list.1.matches(of: /\b([A-M])(\d\d)(?: to ([A-M])(\d\d))?\b/) {
                let first = Int(match.2) ?? 0
                let last = match.4.flatMap { Int($0) } ?? first
                for number in first...max(first, last) {
                    found.insert(match.1 + (number < 10 ? "0\(number)" : "\(number)"))
                }
            }
        }
        return found
    }

    private static func identifiers(in modules: [String]) throws -> Set<String> {
        var found: Set<String> = []
        for module in modules {
            let folder = ReadmeTests.root.appendingPathComponent("Tests/\(module)").standardizedFileURL.path
            for file in try Files.names(in: folder) where file.hasSuffix(".swift") {
                let text = String(decoding: try Files.bytes("\(folder)/\(file)"), as: UTF8.self)
                found.formUnion(identifiers(in: SwiftSource(text)))
            }
        }
        return found
    }

    @Test("An identifier counts at the start of a name or an argument, and not in a comment")
    func counted() {
        let source = SwiftSource(
            """
            /// A01: a comment. "A02: quoted in a comment"
            /* A03 /* "A04" */ "A05" */
            @Test("B01, B03 to B05, T2: a name", arguments: [Answer("B07", "// B08"), Answer(#"C01: "raw""#)])
            func test() { let text = "see C02"; let url = "http://x/" // C03
            }
            """)
        #expect(Self.identifiers(in: source) == ["B01", "B03", "B04", "B05", "B07", "C01"])
        #expect(!source.code.contains("A01") && !source.code.contains("A05") && !source.code.contains("C03"))
        #expect(source.code.contains("let url = \"http://x/\""))
    }

    @Test("All 193 rows are tested, or give a reason")
    func complete() throws {
        let rows = try ReadmeTests.text("Tests/http_cases.tsv").split(separator: "\n").dropFirst().map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
        #expect(rows.count == 193)
        let (pure, wire) = (try Self.identifiers(in: Self.pure), try Self.identifiers(in: Self.wire))
        for row in rows {
            try #require(row.count == 7)
            let (id, levels) = (row[0], row[5])
            // A single level needs a reason.
            let isReasoned = levels == "pure, wire" || levels.firstMatch(of: /^(pure|wire): .{20,}/) != nil
            #expect(isReasoned, "\(id)")
            #expect(levels.hasPrefix("wire") || pure.contains(id), "\(id) has no pure test")
            #expect(levels.hasPrefix("pure:") || wire.contains(id), "\(id) has no test on the wire")
        }
    }
}
