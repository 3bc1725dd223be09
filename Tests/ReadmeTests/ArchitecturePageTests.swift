import Foundation
import TestSupport
import Testing

/// `docs/architecture.md` states the file of each step: the files must exist.
@Suite(.timeLimit(.minutes(5)))
struct ArchitecturePageTests {
    @Test("Each file that the page names exists, in the folder that it names")
    func named() throws {
        let files = Set(try DocumentationTests.files(in: "Sources", suffix: ".swift"))
        let page = try ReadmeTests.text("docs/architecture.md")
        let named = page.matches(of: /`([\w+\/]+\.swift)`/).map { String($0.1) }
        #expect(named.count >= 40)
        // As the page says: without a folder, or without a target, that of the file before.
        var last: [Substring] = []
        for name in named {
            let parts = name.split(separator: "/")
            let folders: [[Substring]] = parts.count == 1 ? [last.dropLast()] : [[], Array(last.prefix(1))]
            let path = folders.map { ($0 + parts).joined(separator: "/") }.first { files.contains($0) }
            #expect(path != nil, "\(name), after \(last.joined(separator: "/"))")
            last = path?.split(separator: "/") ?? last
        }
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
