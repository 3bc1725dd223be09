import Foundation
import TestSupport
import Testing

/// Light to embed: what a package depends on that uses only `ResumeStore`, or the default traits.
@Suite(.timeLimit(.minutes(30)))
struct LinkageTests {
    @Test("ResumeStore alone needs no libcurl, ICU or package of the engine; the default traits need no swift-nio")
    func embedder() async throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let outcome = try await Shell.outcome(
            root.appendingPathComponent("Scripts/linkage.sh").standardizedFileURL.path, [])
        #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    }
}
