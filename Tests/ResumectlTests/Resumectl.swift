import Foundation
import TestSupport

/// The built program, run as a process of its own on a store of the test's own.
struct Resumectl {
    let folder: TemporaryFolder

    /// The program lies beside the test bundle.
    static let path: String = {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        return bundle.deletingLastPathComponent().appendingPathComponent("resumectl").path
    }()

    var environment: [String: String] { ["RESUMECTL_STORE": folder["store"]] }

    func run(_ arguments: String...) async throws -> Shell.Outcome {
        try await Shell.outcome(Self.path, arguments, environment: environment)
    }

    func start(_ arguments: String...) throws -> ChildProcess {
        try Shell.start(Self.path, arguments, environment: environment, output: folder["output-\(UUID().uuidString)"])
    }
}
