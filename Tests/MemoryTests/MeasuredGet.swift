import Foundation
import OriginServer
import TestSupport
import Testing

/// One `resumectl get` as a process of its own: how it ended, what it said, and the most memory it had.
struct MeasuredGet {
    /// The exit status; 128 and the signal's number where one ended it.
    let status: Int32
    /// What it wrote, to either stream.
    let text: String
    /// The most memory that was resident at a time, in bytes.
    let peak: Int
    /// From its start to its end, in seconds.
    let seconds: Double
    /// What it left in its store's folder, in bytes.
    let stored: Int
    /// What was delivered; nil where nothing was.
    let delivered: Int?

    /// The program lies beside the test bundle.
    private static let program: String = {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        return bundle.deletingLastPathComponent().appendingPathComponent("resumectl").path
    }()

    /// A process that takes more than this is killed: a test must not take the machine down with it.
    private static let most = 1 << 30

    /// What a `get` of a small file takes: code, libraries and the database, which is no matter of these tests.
    static func idlePeak() async throws -> Int {
        try await OriginServer.withServer(
            handler: { .file(Resource(Content(length: 1000, seed: 1)), for: $0) },
            { server in
                let small = try await run("\(server.baseURL)/small")
                try #require(small.status == 0, "\(small.text)")
                try #require(small.peak > 1 << 20, "the peak was read")
                return small.peak
            })
    }

    /// Runs `get`.
    ///
    /// - Parameters:
    ///   - url: What to get.
    ///   - options: More options.
    ///   - wrapper: A program that runs the command it is given, in its own process, and its arguments.
    ///   - store: The folder of the store; nil for one of its own.
    ///   - limit: After so many seconds the process is killed, and its status tells.
    /// - Returns: How it went.
    /// - Throws: Where it cannot be started.
    static func run(
        _ url: String, _ options: [String] = [], wrapper: [String] = [], store: String? = nil, limit: Double = 30
    ) async throws -> MeasuredGet {
        try await TemporaryFolder.with { folder in
            let store = store ?? folder["store"]
            let command =
                wrapper + [program, "get", url, "--output", folder["out"], "--store", store, "--retries", "0"] + options
            let started = ContinuousClock.now
            let process = try Shell.start(command[0], Array(command.dropFirst()), output: folder["text"])
            var peak = 0
            while process.isRunning {
                peak = max(peak, residentPeak(of: process.processIdentifier))
                if peak > most || ContinuousClock.now - started > .seconds(limit) { process.send(SIGKILL) }
                try await Task.sleep(for: .milliseconds(2))
            }
            let status: Int32 =
                switch await process.wait() {
                case .exited(let status): status
                case .killed(let signal): 128 + signal
                }
            let seconds = (ContinuousClock.now - started) / .seconds(1)
            let text = String(decoding: try Files.bytes(folder["text"]), as: UTF8.self)
            return MeasuredGet(
                status: status, text: text, peak: peak, seconds: seconds, stored: try size(ofFolder: store),
                delivered: Files.exists(folder["out"]) ? try size(of: folder["out"]) : nil)
        }
    }

    /// `VmHWM`, which only grows: the last reading before the end is the peak, but for the last milliseconds.
    ///
    /// The peak in what `wait4` tells would begin with that of the process that started it.
    private static func residentPeak(of process: pid_t) -> Int {
        let lines = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8))?.split(separator: "\n")
        // Before the program is loaded the memory is still that of the tests.
        guard let lines, lines.first == "Name:\tresumectl",
            let line = lines.first(where: { $0.hasPrefix("VmHWM:") })
        else { return 0 }
        return (Int(line.filter(\.isNumber)) ?? 0) << 10
    }

    private static func size(of path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    private static func size(ofFolder path: String) throws -> Int {
        guard Files.exists(path) else { return 0 }
        return try FileManager.default.subpathsOfDirectory(atPath: path).reduce(0) {
            $0 + (try size(of: "\(path)/\($1)"))
        }
    }
}

/// What is the same in all tests of memory.
enum Bound {
    /// How much more than an idle `get` one may take, in bytes.
    ///
    /// Measured: up to 3 MiB more, which are buffers of the socket and of the database; without a bound, hundreds.
    static let extra = 16 << 20

    /// Whether memory can be measured here.
    static let isMeasured = FileManager.default.fileExists(atPath: "/proc/self/status")
}

/// Checks that a `get` stayed within the bound and ended by itself.
func expectBounded(
    _ get: MeasuredGet, over idle: Int, within seconds: Double, sourceLocation: SourceLocation = #_sourceLocation
) {
    let extra = get.peak - idle
    print(
        "memory: \(get.peak >> 10) KiB, \(extra >> 10) KiB over idle, \(get.seconds) s, status \(get.status): \(get.text)"
    )
    #expect(extra < Bound.extra, "\(extra >> 10) KiB more than idle", sourceLocation: sourceLocation)
    #expect(get.seconds < seconds, sourceLocation: sourceLocation)
    #expect(get.status < 128, "it ended by itself", sourceLocation: sourceLocation)
}
