import Foundation
import TestSupport
import Testing

/// `docs/architecture.md` states the file of each step: the files must exist.
@Suite(.timeLimit(.minutes(5)))
struct ArchitecturePageTests {
    @Test("Each file that the page names exists, in the folder that it names")
    func named() throws {
        let files = try DocumentationTests.files(in: "Sources", suffix: ".swift").map { "/\($0)" }
        let page = try ReadmeTests.text("docs/architecture.md")
        let named = page.matches(of: /`([\w+\/]+\.swift)`/).map { "/\($0.1)" }
        #expect(named.count >= 40)
        for name in named { #expect(files.contains { $0.hasSuffix(name) }, "\(name)") }
    }

    @Test("No folder of Sources has more than fifteen files")
    func folders() throws {
        let files = try DocumentationTests.files(in: "Sources", suffix: ".swift")
        let counts = files.reduce(into: [String: Int]()) { counts, file in
            counts[(file as NSString).deletingLastPathComponent, default: 0] += 1
        }
        #expect(counts.count >= 20)
        for (folder, count) in counts { #expect(count <= 15, "\(folder)") }
    }
}
