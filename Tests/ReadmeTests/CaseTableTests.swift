import Foundation
import TestSupport
import Testing

/// Each row of the table of HTTP cases stands at a test of each level that the table names for it.
@Suite(.timeLimit(.minutes(5)))
struct CaseTableTests {
    private static let pure = ["ResumeHTTPTests", "ResumeStoreTests"]
    private static let wire = [
        "MemoryTests", "RealOriginTests", "ResumeCommandsTests", "ResumeDownloadTests", "ResumectlTests", "Scenarios",
    ]

    /// The identifiers that stand in the sources of some modules; `A01 to A03` stands for three.
    private static func identifiers(in modules: [String]) throws -> Set<String> {
        var found: Set<String> = []
        for module in modules {
            let folder = ReadmeTests.root.appendingPathComponent("Tests/\(module)").standardizedFileURL.path
            for file in try Files.names(in: folder) {
                let text = String(decoding: try Files.bytes("\(folder)/\(file)"), as: UTF8.self)
                for match in text.matches(of: /\b([A-M])(\d\d)(?: to ([A-M])(\d\d))?\b/) {
                    let first = Int(match.2) ?? 0
                    let last = match.4.flatMap { Int($0) } ?? first
                    for number in first...max(first, last) {
                        found.insert(match.1 + (number < 10 ? "0\(number)" : "\(number)"))
                    }
                }
            }
        }
        return found
    }

    @Test("All 191 rows are tested, or say why not")
    func complete() throws {
        let rows = try ReadmeTests.text("Tests/http_cases.tsv").split(separator: "\n").dropFirst().map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
        #expect(rows.count == 191)
        let (pure, wire) = (try Self.identifiers(in: Self.pure), try Self.identifiers(in: Self.wire))
        for row in rows {
            try #require(row.count == 7)
            let (id, levels) = (row[0], row[5])
            // One level alone needs its reason.
            let isReasoned = levels == "pure, wire" || levels.firstMatch(of: /^(pure|wire): .{20,}/) != nil
            #expect(isReasoned, "\(id)")
            #expect(levels.hasPrefix("wire") || pure.contains(id), "\(id) has no pure test")
            #expect(levels.hasPrefix("pure:") || wire.contains(id), "\(id) has no test on the wire")
        }
    }
}
