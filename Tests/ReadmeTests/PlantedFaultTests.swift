import Foundation
import TestSupport
import Testing

/// The faults of `make plants` can be planted; checking whether each is caught takes `make plants` half an hour.
@Suite(.timeLimit(.minutes(5)))
struct PlantedFaultTests {
    static let root = ReadmeTests.root.standardizedFileURL.path

    @Test("Each patch applies to the current sources, and gives its test command", .enabled(if: Shell.has("git")))
    func apply() async throws {
        let folder = "\(Self.root)/Tests/PlantedFaults"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".patch") }
        #expect(names.count >= 8)
        for name in names {
            let text = String(decoding: try Files.bytes("\(folder)/\(name)"), as: UTF8.self)
            #expect(text.contains("\nCaught by: .build/debug/"), "\(name)")
            try await Shell.run("git", "-C", Self.root, "apply", "--check", "-C1", "\(folder)/\(name)")
        }
    }
}
