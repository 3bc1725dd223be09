internal import Foundation

/// Programs run by tests, by their names in `PATH`.
package enum Shell {
    /// The result of a program.
    package struct Outcome: Sendable {
        /// The exit status; 128 plus the signal number if a signal ended it.
        package var status: Int32
        /// The standard output.
        package var output: String
        /// The standard error.
        package var errors: String
    }

    /// A program that failed unexpectedly.
    package struct Failure: Error, CustomStringConvertible {
        /// Its command line and output.
        package var description: String

        /// Creates a failure from a finding of a test.
        package init(description: String) { self.description = description }
    }

    /// Whether a program is installed.
    package static func has(_ program: String) -> Bool { find(program) != nil }

    /// Whether the tests run as root, as some of them require.
    package static var isRoot: Bool { getuid() == 0 }

    private static func find(_ program: String) -> String? {
        if program.contains("/") { return program }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let paths = (folders + ["/usr/sbin", "/sbin"]).map { "\($0)/\(program)" }
        return paths.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Starts a program with its output and errors sent to one file or nowhere.
    ///
    /// - Throws: ``Failure`` if it cannot be started.
    package static func start(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], output: String = "/dev/null"
    ) throws -> ChildProcess {
        try start(program, arguments, environment: environment, output: output, errors: output)
    }

    private static func start(
        _ program: String, _ arguments: [String], environment: [String: String], output: String, errors: String
    ) throws -> ChildProcess {
        guard let path = find(program) else { throw Failure(description: "There is no \(program).") }
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        return try ChildProcess(path, arguments, environment: variables, output: output, errors: errors)
    }

    /// Runs a program to its end.
    ///
    /// - Throws: ``Failure`` if it cannot be started.
    package static func outcome(
        _ program: String, _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> Outcome {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let process = try start(
            program, arguments, environment: environment, output: folder["out"], errors: folder["err"])
        let status: Int32 =
            switch await process.wait() {
            case .exited(let status): status
            case .killed(let signal): 128 + signal
            }
        return Outcome(
            status: status, output: String(decoding: try Files.bytes(folder["out"]), as: UTF8.self),
            errors: String(decoding: try Files.bytes(folder["err"]), as: UTF8.self))
    }

    /// The characters of a text that a terminal obeys, or that change the direction of what is read.
    package static func hidden(in text: String) -> [String] {
        text.unicodeScalars.filter { scalar in
            guard scalar != "\n" else { return false }
            return switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }.map { "U+" + String($0.value, radix: 16) }
    }

    /// Runs a program, and throws if it fails.
    ///
    /// - Returns: Its standard output.
    /// - Throws: ``Failure``
    @discardableResult
    package static func run(_ program: String, _ arguments: String...) async throws -> String {
        let outcome = try await outcome(program, arguments)
        guard outcome.status == 0 else {
            throw Failure(description: "\(program) \(arguments) ended with \(outcome.status): \(outcome.errors)")
        }
        return outcome.output
    }
}
