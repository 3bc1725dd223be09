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

    /// The entry of the store as `list --json` shows it.
    ///
    /// - Returns: The first one; nil if there is none, or no store yet.
    /// - Throws: ``Shell/Failure`` if the program cannot be started.
    package func entry() async throws -> [String: Any]? {
        Self.objects(try await run("list", "--json").output).first
    }

    /// How many bytes the store's entry holds, 0 if there is none.
    ///
    /// - Throws: ``Shell/Failure`` if the program cannot be started.
    package func received() async throws -> Int {
        try await entry()?["receivedBytes"] as? Int ?? 0
    }

    /// The events that a `get --json` has printed to a file so far.
    ///
    /// - Throws: Where the file cannot be read.
    package static func events(in path: String) throws -> [[String: Any]] {
        guard Files.exists(path) else { return [] }
        return objects(String(decoding: try Files.bytes(path), as: UTF8.self))
    }

    /// The lines that are objects of JSON: the last one may be half written.
    private static func objects(_ text: String) -> [[String: Any]] {
        text.split(separator: "\n").compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }
}
