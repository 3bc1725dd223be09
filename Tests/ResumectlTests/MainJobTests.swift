import Foundation
import OriginServer
import TestSupport
import Testing

/// The main use case as users run it: processes, signals, a real origin.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct MainJobTests {
    @Temporary private var folder
    private let servers = Servers()

    @Test(
        "nginx, 200 MiB, SIGKILL at twenty random offsets: right, and each run requests only missing bytes",
        .enabled(if: Nginx.isInstalled, "needs nginx"))
    func killedTwentyTimes() async throws {
        let job = try await KilledGet.run(rate: "4m", connections: 1, lastConnections: 1)
        // One request for each run: the whole file, then the missing bytes and the few KiB of overlap before them.
        try #require(job.log.count == job.kept.count, "\(job.log)")
        for (request, kept) in zip(job.log, job.kept) {
            #expect(request.status == (kept == 0 ? 200 : 206))
            let first = Int(request.range.dropFirst("\"bytes=".count).prefix { $0 != "-" }) ?? 0
            #expect((kept - 65_536...kept).contains(first), "\(kept) bytes held: \(request)")
        }
    }

    @Test("An interruption counts from the first moment on", arguments: [SIGINT, SIGTERM])
    func interruptedEarly(signal: Int32) async throws {
        let program = Resumectl(folder: folder)
        let file = Resource(Content(length: 3_000_000, seed: 1), etag: "\"v1\"")
        // The file never ends: a process that loses the signal does not end either.
        let server = try await servers.serve { .file(file, for: $0, cutAfter: 300_000, stall: true) }
        for delay in 2..<22 {
            let urls = (1...(delay.isMultiple(of: 2) ? 1 : 3)).map { "\(server.baseURL)/file\($0)" }
            let process = try program.start(
                ["get"] + urls + ["-P", folder["out"], "--stall-timeout", "86400"],
                output: folder["messages\(delay)"])
            try await Task.sleep(for: .milliseconds(delay))
            process.send(signal)
            let ending = await process.wait()
            // By the signal itself if the program has not yet blocked it.
            guard ending != .killed(signal) else { continue }
            #expect(ending == .exited(signal == SIGINT ? 130 : 75), "\(ending) after \(delay) ms")
            // Nothing of this is ever done, whether it has begun or not.
            let messages = String(decoding: try Files.bytes(folder["messages\(delay)"]), as: UTF8.self)
            #expect(messages.contains("interrupted"), "\(messages) after \(delay) ms")
            let isCounted = messages.contains("resumectl: 3 of 3 downloads did not complete")
            #expect(isCounted == (urls.count == 3), "\(messages) after \(delay) ms")
            #expect(((try? Files.names(in: folder["out"])) ?? []).isEmpty)
        }
    }

    @Test("Data that cannot be written to standard output is an error; a reader that closes early is not")
    func fullOutput() async throws {
        let file = Resource(Content(length: 100_000, seed: 1), etag: "\"v1\"")
        let server = try await servers.serve { .file(file, for: $0) }
        let get =
            "no_proxy=127.0.0.1 \(Resumectl.path) get --json --retries 0 --store \(folder["store"]) \(server.baseURL)/file --output"
        let full = try await Shell.outcome("sh", ["-c", "\(get) \(folder["one"]) > /dev/full"])
        #expect(full.status == 74 && full.errors.contains("standard output"), "\(full.errors)")
        #expect(Files.exists(folder["one"]))
        let closed = try await Shell.outcome(
            "sh", ["-c", "(\(get) \(folder["two"]); echo $? > \(folder["status"])) | true"])
        #expect(closed.status == 0)
        #expect(try Files.bytes(folder["status"]) == Array("0\n".utf8))
    }

    @Test("Closed standard streams stay closed, and no file of the store gets their numbers")
    func closedStreams() async throws {
        let file = Resource(Content(length: 3_000_000, seed: 1), etag: "\"v1\"")
        let server = try await servers.serve { .file(file, for: $0, cutAfter: 2_000_000) }
        let options = "--store \(folder["store"]) --retries 0"
        let get = "no_proxy=127.0.0.1 \(Resumectl.path) get \(options) \(server.baseURL)"
        let output = try await Shell.outcome("sh", ["-c", "\(get)/a -o - >&-"])
        #expect(output.status == 74 && output.errors.contains("Bad file descriptor"), "\(output.errors)")
        let closed = try await Shell.outcome("sh", ["-c", "\(get)/b -o \(folder["b"]) -v <&- >&- 2>&-"])
        #expect(closed.status == 75)
        let list = try await Shell.outcome("sh", ["-c", "\(Resumectl.path) get -i - <&-"])
        #expect(list.status == 66 && list.errors.contains("Bad file descriptor"), "\(list.errors)")
        let verify = try await Shell.outcome(Resumectl.path, ["verify", "--store", folder["store"]])
        #expect(verify.status == 0, "\(verify.output)\(verify.errors)")
    }

    @Test("--max-time and SIGINT end a get whose output nobody reads", arguments: [[], ["--keep"], ["--hold"]])
    func blockedOutput(options: [String]) async throws {
        let file = Resource(Content(length: 3_000_000, seed: 1), etag: "\"v1\"")
        try await OriginServer.withServer(handler: { .file(file, for: $0) }) { server in
            let program = Resumectl(folder: folder)
            let get = ["get", "-o", "-", "--store", folder["store"]] + options + ["\(server.baseURL)/file"]
            let interrupted = try UnreadOutput(folder["interrupted"])
            let process = try interrupted.start(program, get, errors: folder["errors"])
            try await wait(for: "a full pipe", while: process) { interrupted.isFull }
            process.send(SIGINT)
            #expect(await process.wait() == .exited(130))
            try await check(folder)
            // The time begins with the program: on a busy machine, the shortest one may be over before any data.
            for seconds in [1, 2, 4, 8, 16, 32, 64, 128] {
                let limited = try UnreadOutput(folder["limited-\(seconds)"])
                let process = try limited.start(program, get + ["--max-time", "\(seconds)"], errors: folder["errors"])
                #expect(await process.wait() == .exited(75))
                if limited.isFull { return try await check(folder) }
                try FileManager.default.removeItem(atPath: folder["errors"])
            }
            Issue.record("no data within two minutes")
        }
    }

    /// Checks that messages say what is kept of an output that was blocked, and removes them.
    private func check(_ folder: TemporaryFolder) async throws {
        let errors = String(decoding: try Files.bytes(folder["errors"]), as: UTF8.self)
        let list = try await Shell.run(Resumectl.path, "list", "--json", "--store", folder["store"])
        #expect(errors.contains("is kept") != list.isEmpty, "\(errors)\(list)")
        #expect(!errors.contains("before any data"), "\(errors)")
        try FileManager.default.removeItem(atPath: folder["errors"])
    }

    @Test("T2: an origin that answers 206 for a changed file is not trusted; show and log give the reason")
    func changedWith206() async throws {
        let program = Resumectl(folder: folder)
        let old = Content(length: 3_000_000, seed: 1)
        let new = Content(length: 3_000_000, seed: 2)
        let server = try await servers.serve { .file(Resource(old, etag: "\"v1\""), for: $0, cutAfter: 1_500_000) }
        let url = "\(server.baseURL)/file"
        let first = try await program.run("get", url, "--output", folder["out"], "--retries", "0")
        #expect(first.status == 75, "\(first.errors)")
        var changed = Resource(new, etag: "\"v2\"")
        changed.ignoresIfRange = true
        let liar = changed
        server.setHandler { .file(liar, for: $0, cutAfter: 2_000_000) }
        #expect(try await program.run("get", url, "--output", folder["out"], "--retries", "0").status == 75)
        for command in ["show", "log"] {
            let told = try await program.run(command, url).output
            #expect(told.contains("its ETag was \"v1\" and is now \"v2\""), "\(told)")
        }
        server.setHandler { .file(liar, for: $0) }
        let third = try await program.run("get", url, "--output", folder["out"], "--retries", "0")
        #expect(third.status == 0, "\(third.errors)")
        let bytes = try Files.bytes(folder["out"])
        #expect(bytes.count == 3_000_000 && new.matches(bytes))
    }

    @Test("Two signals at once end a download as one does: with its last line and its row in the log")
    func doubledSignal() async throws {
        let program = Resumectl(folder: folder)
        let resource = Resource(Content(length: 50_000_000, seed: 1), etag: "\"v1\"")
        let server = try await servers.serve { .file(resource, for: $0, cutAfter: 2_000_000, stall: true) }
        let process = try program.start(
            ["get", "\(server.baseURL)/file", "-o", folder["out"], "--stall-timeout", "600"],
            output: folder["messages"])
        try await wait(for: "all that is sent to be held", while: process) {
            try await program.received() == 2_000_000
        }
        process.send(SIGINT)
        process.send(SIGINT)
        await process.wait()
        #expect(process.result == .exited(130))
        let messages = String(decoding: try Files.bytes(folder["messages"]), as: UTF8.self)
        #expect(messages.hasSuffix("interrupted; the partial data is kept. Run the command again to resume.\n"))
        #expect(try await program.run("log", "-n1").output.contains("  interrupted  "))
    }

    @Test("SIGINT exits with 130 and SIGTERM with 75, and partial data is kept", arguments: [SIGINT, SIGTERM])
    func signals(signal: Int32) async throws {
        let program = Resumectl(folder: folder)
        let resource = Resource(Content(length: 50_000_000, seed: 1), etag: "\"v1\"")
        let held = 2_000_000
        let server = try await servers.serve { .file(resource, for: $0, cutAfter: Int64(held), stall: true) }
        let process = try program.start(
            "get", "\(server.baseURL)/file", "--output", folder["out"], "--stall-timeout", "600")
        try await wait(for: "all that is sent to be held", while: process) {
            try await program.received() == held
        }
        process.send(signal)
        await process.wait()
        #expect(process.result == .exited(signal == SIGINT ? 130 : 75))
        let entry = try await program.entry()
        #expect(entry?["receivedBytes"] as? Int == held)
        #expect(entry?["inUse"] as? Bool == false)
    }

    @Test("A signal that was ignored at the start stays ignored")
    func ignoredSignal() async throws {
        let program = Resumectl(folder: folder)
        let resource = Resource(Content(length: 50_000_000, seed: 1), etag: "\"v1\"")
        let server = try await servers.serve { .file(resource, for: $0, cutAfter: 2_000_000, stall: true) }
        let get = "\(Resumectl.path) get \(server.baseURL)/file -o \(folder["out"]) --stall-timeout 600"
        let process = try Shell.start("sh", ["-c", "trap '' INT; exec \(get)"], environment: program.environment)
        try await wait(for: "all that is sent to be held", while: process) {
            try await program.received() == 2_000_000
        }
        process.send(SIGINT)
        process.send(SIGINT)
        #expect(try await program.entry()?["inUse"] as? Bool == true)
        process.send(SIGTERM)
        // The first signal that counts.
        #expect(await process.wait() == .exited(75))
    }

    @Test("A reader that ends first ends get silently, with SIGPIPE's status", arguments: ["", "--keep", "--hold"])
    func closedOutput(option: String) async throws {
        let resource = Resource(Content(length: 3_000_000, seed: 1), etag: "\"v1\"")
        let server = try await servers.serve { .file(resource, for: $0) }
        let get = "\(Resumectl.path) get -o - \(option) --store \(folder["store"]) \(server.baseURL)/file"
        let outcome = try await Shell.outcome("bash", ["-c", "\(get) | head -c1 > /dev/null; echo ${PIPESTATUS[0]}"])
        #expect(outcome.output == "141\n" && !outcome.errors.contains("resumectl:"), "\(outcome.errors)")
    }

    @Test("An interruption ends the program of --renew-command, which inherits no blocked or ignored signals")
    func interruptedRenewal() async throws {
        let program = Resumectl(folder: folder)
        // The masks of blocked and ignored signals.
        let script =
            "#!/bin/sh\ngrep -E '^Sig(Blk|Ign)' /proc/self/status > \(folder["masks"])\n"
            + "echo $$ > \(folder["number"])\nexec sleep 600\n"
        try Files.write(Array(script.utf8), to: folder["renew"])
        try await Shell.run("chmod", "700", folder["renew"])
        let server = try await servers.serve { _ in .status("403 Forbidden") }
        let process = try program.start(
            "get", "\(server.baseURL)/file", "--output", folder["out"], "--renew-command", folder["renew"])
        try await wait(for: "the program", while: process) { Files.exists(folder["number"]) }
        process.send(SIGINT)
        await process.wait()
        #expect(process.result == .exited(130))
        let masks = String(decoding: try Files.bytes(folder["masks"]), as: UTF8.self).split(separator: "\n")
        let held = masks.compactMap { $0.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } }
        let own = [SIGINT, SIGTERM, SIGPIPE].reduce(UInt64(0)) { $0 | 1 << UInt64($1 - 1) }
        #expect(held.count == 2 && held.allSatisfy { $0 & own == 0 }, "\(masks)")
        let number = String(decoding: try Files.bytes(folder["number"]), as: UTF8.self)
        let child = try #require(pid_t(number.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(kill(child, 0) == -1, "it has ended")
    }
}

/// A pipe for the output of a program that is open, and never read.
private final class UnreadOutput: Sendable {
    private let path: String
    private let end: Int32

    init(_ path: String) throws {
        self.path = path
        guard mkfifo(path, 0o600) == 0 else { throw Shell.Failure(description: "mkfifo failed: \(errno)") }
        end = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    }

    deinit { close(end) }

    /// Whether the program must wait to write more, or will after a few more pages: a pipe takes 64 KiB.
    var isFull: Bool {
        var count: Int32 = 0
        return ioctl(end, UInt(FIONREAD), &count) == 0 && count >= 32_768
    }

    func start(_ program: Resumectl, _ arguments: [String], errors: String) throws -> ChildProcess {
        let environment = ProcessInfo.processInfo.environment.merging(program.environment) { $1 }
        return try ChildProcess(Resumectl.path, arguments, environment: environment, output: path, errors: errors)
    }
}
