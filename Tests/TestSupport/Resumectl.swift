internal import Foundation

/// The built program, run as a separate process on the test's own store.
package struct Resumectl: Sendable {
    /// The test's folder, which contains the store.
    package let folder: TemporaryFolder

    /// The program is in the folder of the test bundle.
    package static let path: String = {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        return bundle.deletingLastPathComponent().appendingPathComponent("resumectl").path
    }()

    /// A program whose store is `store` in a folder.
    package init(folder: TemporaryFolder) {
        self.folder = folder
    }

    /// The environment of the program: its store, and no proxy for loopback.
    package var environment: [String: String] { ["RESUMECTL_STORE": folder["store"], "no_proxy": "127.0.0.1"] }

    /// Runs it to its end.
    ///
    /// - Throws: ``Shell/Failure`` if it cannot be started.
    package func run(_ arguments: String...) async throws -> Shell.Outcome {
        try await Shell.outcome(Self.path, arguments, environment: environment)
    }

    /// Starts it.
    ///
    /// - Throws: ``Shell/Failure`` if it cannot be started.
    package func start(_ arguments: String...) throws -> ChildProcess {
        try start(arguments, output: folder["output-\(UUID().uuidString)"])
    }

    /// Starts it with its output and errors sent to a file.
    ///
    /// - Throws: ``Shell/Failure`` if it cannot be started.
    package func start(_ arguments: [String], output: String) throws -> ChildProcess {
        try Shell.start(Self.path, arguments, environment: environment, output: output)
    }

    /// The entry of the store as `list --json` shows it.
    ///
    /// - Returns: The first one; nil if there is none, or no store yet.
    /// - Throws: ``Shell/Failure`` if the program cannot be started.
    package func entry() async throws -> [String: Any]? {
        Self.objects(try await run("list", "--json").output).first
    }

    /// The number of stored bytes of the store's entry, 0 if there is none.
    ///
    /// - Throws: ``Shell/Failure`` if the program cannot be started.
    package func received() async throws -> Int {
        try await entry()?["receivedBytes"] as? Int ?? 0
    }

    /// The events that a `get --json` has printed to a file so far.
    ///
    /// - Throws: An error if the file cannot be read.
    package static func events(in path: String) throws -> [[String: Any]] {
        guard Files.exists(path) else { return [] }
        return objects(String(decoding: try Files.bytes(path), as: UTF8.self))
    }

    /// The lines that are JSON objects: the last one may be incomplete.
    private static func objects(_ text: String) -> [[String: Any]] {
        text.split(separator: "\n").compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }
}
