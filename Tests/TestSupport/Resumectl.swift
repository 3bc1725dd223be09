internal import Foundation

/// The built program, run as a process of its own on a store of the test's own.
package struct Resumectl: Sendable {
    /// The test's folder; the store lies in it.
    package let folder: TemporaryFolder

    /// The program lies beside the test bundle.
    package static let path: String = {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        return bundle.deletingLastPathComponent().appendingPathComponent("resumectl").path
    }()

    /// A program whose store is `store` in a folder.
    package init(folder: TemporaryFolder) {
        self.folder = folder
    }

    /// What the program needs to know beside its arguments: its store, and to go to loopback by itself.
    package var environment: [String: String] { ["RESUMECTL_STORE": folder["store"], "no_proxy": "127.0.0.1"] }

    /// Runs it to its end.
    ///
    /// - Throws: ``Shell/Failure`` where it cannot be started.
    package func run(_ arguments: String...) async throws -> Shell.Outcome {
        try await Shell.outcome(Self.path, arguments, environment: environment)
    }

    /// Starts it.
    ///
    /// - Throws: ``Shell/Failure`` where it cannot be started.
    package func start(_ arguments: String...) throws -> ChildProcess {
        try start(arguments, output: folder["output-\(UUID().uuidString)"])
    }

    /// Starts it, its output and errors going to a file.
    ///
    /// - Throws: ``Shell/Failure`` where it cannot be started.
    package func start(_ arguments: [String], output: String) throws -> ChildProcess {
        try Shell.start(Self.path, arguments, environment: environment, output: output)
    }
}
