import Foundation
import TestSupport
import Testing

/// Light to embed: the dependencies of a package that uses only `ResumeStore`.
@Suite(.timeLimit(.minutes(30)))
struct LinkageTests {
    @Test("ResumeStore alone resolves neither swift-nio nor the engine's dependencies, links no ICU, and runs")
    func embedder() async throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let outcome = try await Shell.outcome(
            root.appendingPathComponent("Scripts/linkage.sh").standardizedFileURL.path, [])
        #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    }
}
