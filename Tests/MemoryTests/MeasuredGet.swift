import Foundation
import OriginServer
import TestSupport
import Testing

/// One `resumectl get` as a separate process: its exit status, its output, and its peak memory.
struct MeasuredGet {
    /// The exit status; 128 plus the signal number if a signal ended it.
    let status: Int32
    /// Its output on both streams.
    let text: String
    /// The peak resident memory, in bytes.
    let peak: Int
    /// From its start to its end, in seconds.
    let seconds: Double
    /// The size of its store's folder, in bytes.
    let stored: Int
    /// The delivered file's size; nil if there was none.
    let delivered: Int?

    /// The program is in the folder of the test bundle.
    private static let program: String = {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        return bundle.deletingLastPathComponent().appendingPathComponent("resumectl").path
    }()

    /// The memory of a `get` of a small file: code, libraries and the database, which these tests do not measure.
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
    ///   - url: The URL.
    ///   - options: More options.
    ///   - wrapper: A program that runs the command it is given, in its own process, and its arguments.
    ///   - store: The folder of the store; nil for a new one.
    ///   - enough: The stored bytes after which it is killed; nil to let it exit.
    /// - Returns: The result.
    /// - Throws: An error if it cannot be started.
    static func run(
        _ url: String, _ options: [String] = [], wrapper: [String] = [], store: String? = nil, until enough: Int? = nil
    ) async throws -> MeasuredGet {
        try await TemporaryFolder.with { folder in
            let store = store ?? folder["store"]
            let command =
                wrapper + [program, "get", url, "--output", folder["out"], "--store", store, "--retries", "0"] + options
            let started = ContinuousClock.now
            let process = try Shell.start(
                "python3", ["-c", watcher, folder["report"], store, "\(enough ?? 0)"] + command, output: folder["text"])
            let ending = await process.wait()
            let seconds = (ContinuousClock.now - started) / .seconds(1)
            let text = String(decoding: try Files.bytes(folder["text"]), as: UTF8.self)
            try #require(ending == .exited(0), "\(ending): \(text)")
            let report = String(decoding: try Files.bytes(folder["report"]), as: UTF8.self).split(separator: " ")
            let numbers = report.compactMap { Int32($0) }
            try #require(numbers.count == 2)
            return MeasuredGet(
                status: numbers[0], text: text, peak: Int(numbers[1]) << 10, seconds: seconds,
                stored: try size(ofFolder: store),
                delivered: Files.exists(folder["out"]) ? try size(of: folder["out"]) : nil)
        }
    }

    /// Runs a program and writes its status and its peak in KiB to a file.
    ///
    /// The system reports the exact peak when the program has ended, but starts with that of the parent process: the
    /// tests use more than the program, Python uses less. It kills a program that uses a GiB, before that brings down
    /// the machine, and one that has not ended after five minutes.
    private static let watcher = """
        import os, resource, signal, subprocess, sys, time
        report, store, enough, *command = sys.argv[1:]
        child = subprocess.Popen(command)
        def end(*_):
            child.kill()
            sys.exit(1)
        signal.signal(signal.SIGTERM, end)
        def resident():
            try:
                with open(f"/proc/{child.pid}/status") as status:
                    return sum(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
            except OSError:
                return 0
        def stored():
            names = [os.path.join(folder, name) for folder, _, names in os.walk(store) for name in names]
            return sum(os.path.getsize(name) for name in names if os.path.exists(name))
        limit = time.monotonic() + 300
        while child.poll() is None:
            if resident() > 1 << 20 or time.monotonic() > limit or (int(enough) and stored() >= int(enough)):
                child.kill()
            time.sleep(0.01)
        status = child.returncode if child.returncode >= 0 else 128 - child.returncode
        with open(report, "w") as file:
            file.write(f"{status} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}")
        """

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

/// Constants of all memory tests.
enum Bound {
    /// How much more than an idle `get` one may use, in bytes.
    ///
    /// Measured: up to 3 MiB more, for buffers of the socket and of the database; hundreds without a limit.
    static let extra = 16 << 20

    /// Whether memory can be measured here.
    static let isMeasured = FileManager.default.fileExists(atPath: "/proc/self/status") && Shell.has("python3")
}

/// Checks that a `get` stayed within the limit and exited.
func expectBounded(
    _ get: MeasuredGet, over idle: Int, sourceLocation: SourceLocation = #_sourceLocation
) {
    let extra = get.peak - idle
    print(
        "memory: \(get.peak >> 10) KiB, \(extra >> 10) KiB over idle, \(get.seconds) s, status \(get.status): \(get.text)"
    )
    #expect(extra < Bound.extra, "\(extra >> 10) KiB more than idle", sourceLocation: sourceLocation)
    #expect(get.status < 128, "it ended by itself", sourceLocation: sourceLocation)
}
