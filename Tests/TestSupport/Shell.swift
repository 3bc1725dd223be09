internal import Foundation

/// Programs run by tests, by their names in `PATH`.
package enum Shell {
    /// What a program did.
    package struct Outcome: Sendable {
        /// The exit status; 128 and the number of the signal where one ended it.
        package var status: Int32
        /// What it wrote to standard output.
        package var output: String
        /// What it wrote to standard error.
        package var errors: String
    }

    /// A program that failed although it should not have.
    package struct Failure: Error, CustomStringConvertible {
        /// What it was called with, and what it said.
        package var description: String

        /// Makes a failure of what a test found.
        package init(description: String) { self.description = description }
    }

    /// Whether there is such a program.
    package static func has(_ program: String) -> Bool { find(program) != nil }

    /// Whether the tests run as root, as some of them need to.
    package static var isRoot: Bool { getuid() == 0 }

    private static func find(_ program: String) -> String? {
        if program.contains("/") { return program }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let paths = (folders + ["/usr/sbin", "/sbin"]).map { "\($0)/\(program)" }
        return paths.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Starts a program, its output and errors going to one file or nowhere.
    ///
    /// - Throws: ``Failure`` where it cannot be started.
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
    /// - Throws: ``Failure`` where it cannot be started.
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

    /// Runs a program and fails where it does.
    ///
    /// - Returns: What it wrote to standard output.
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
