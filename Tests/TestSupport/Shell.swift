package import Foundation

/// Programs run by tests, by their names in `PATH`.
package enum Shell {
    /// What a program did.
    package struct Outcome: Sendable {
        /// The exit status, or the number of the signal that ended it.
        package var status: Int32
        /// Whether a signal ended it.
        package var isKilled: Bool
        /// What it wrote to standard output.
        package var output: String
        /// What it wrote to standard error.
        package var errors: String
    }

    /// A program that failed although it should not have.
    package struct Failure: Error, CustomStringConvertible {
        /// What it was called with, and what it said.
        package var description: String
    }

    /// Whether there is such a program.
    package static func has(_ program: String) -> Bool { find(program) != nil }

    /// Whether the tests run as root, as some of them need to.
    package static var isRoot: Bool { getuid() == 0 }

    private static func find(_ program: String) -> String? {
        if program.contains("/") { return program }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (folders + ["/usr/sbin", "/sbin"]).map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Starts a program, its output going to a file or nowhere.
    ///
    /// - Throws: ``Failure`` where it is not there; what starting it throws.
    package static func start(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], output: String = "/dev/null"
    ) throws -> Process {
        guard let path = find(program) else { throw Failure(description: "There is no \(program).") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if output != "/dev/null" { try Files.write([], to: output) }
        let file = FileHandle(forWritingAtPath: output)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = file
        process.standardError = file
        try process.run()
        return process
    }

    /// Runs a program to its end.
    ///
    /// - Throws: What starting it throws.
    package static func outcome(
        _ program: String, _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> Outcome {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        guard let path = find(program) else { throw Failure(description: "There is no \(program).") }
        for name in ["out", "err"] { try Files.write([], to: folder[name]) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: folder["out"])
        process.standardError = FileHandle(forWritingAtPath: folder["err"])
        try process.run()
        await wait(for: process)
        return Outcome(
            status: process.terminationStatus, isKilled: process.terminationReason == .uncaughtSignal,
            output: String(decoding: try Files.bytes(folder["out"]), as: UTF8.self),
            errors: String(decoding: try Files.bytes(folder["err"]), as: UTF8.self))
    }

    /// Waits for a process's end without holding a thread of the pool.
    package static func wait(for process: Process) async {
        while process.isRunning { try? await Task.sleep(for: .milliseconds(5)) }
    }

    /// Runs a program and fails where it does.
    ///
    /// - Throws: ``Failure``
    @discardableResult
    package static func run(_ program: String, _ arguments: String...) throws -> String {
        guard let path = find(program) else { throw Failure(description: "There is no \(program).") }
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "\(program) \(arguments) ended with \(process.terminationStatus): \(output)")
        }
        return output
    }
}
