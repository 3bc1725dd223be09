import Foundation
import OriginServer
import TestSupport

/// A program of `Examples`, built by `Scripts/build-examples.sh` and run as readers run it.
enum Example: String {
    case imageLoader = "ImageLoader"
    case mediaManager = "MediaManager"
    case modelFetcher = "ModelFetcher"
    case presignedObjects = "PresignedObjects"

    /// The folder of the repository.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../..").standardizedFileURL.path

    /// Whether the script has built them.
    static var areBuilt: Bool { Files.exists("\(root)/.build/examples") }

    /// The path of the built program.
    private var path: String { "\(Self.root)/.build/examples/\(rawValue)" }

    /// Runs it to its end.
    func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Shell.Outcome {
        try await Shell.outcome(try builtPath, arguments, environment: Self.direct(environment))
    }

    /// Starts it with its output and errors sent to a file, and its input read from another one.
    func start(
        _ arguments: [String], environment: [String: String] = [:], input: String = "/dev/null", output: String
    ) throws -> ChildProcess {
        // The shell becomes the program, so that it receives the signal.
        try Shell.start(
            "sh", ["-c", "input=$1; shift; exec \"$@\" <\"$input\"", "sh", input, try builtPath] + arguments,
            environment: Self.direct(environment), output: output)
    }

    private var builtPath: String {
        get throws {
            guard Files.exists(path) else {
                throw Shell.Failure(description: "\(rawValue) is not built: Scripts/build-examples.sh does that.")
            }
            return path
        }
    }

    /// No proxy for loopback, whatever the machine's settings.
    private static func direct(_ environment: [String: String]) -> [String: String] {
        environment.merging(["no_proxy": "127.0.0.1"]) { given, _ in given }
    }
}

extension Response {
    /// A file that continues slowly after a number of bytes, so that a program reports them and is not done for
    /// minutes.
    static func slow(_ resource: Resource, for request: OriginRequest, after count: Int64) -> Response {
        var response = Response.file(resource, for: request, cutAfter: count, stall: true)
        // Replaces the stall.
        response.steps.removeLast()
        let rest = count..<resource.content.length
        response.steps.append(.trickle(resource.content, rest, bytesPerStep: 500, milliseconds: 50))
        return response
    }
}

/// The output of a program so far.
func text(_ path: String) throws -> String {
    Files.exists(path) ? String(decoding: try Files.bytes(path), as: UTF8.self) : ""
}
