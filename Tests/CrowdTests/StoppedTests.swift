import FaultInjection
import Foundation
import OriginServer
import TestSupport
import Testing

/// Processes that are stopped, not dead: they keep their locks, and other processes report it.
@Suite(.timeLimit(.minutes(10)))
struct StoppedTests {
    @Test("T20: a stopped owner is waited for and keeps its lease; when it continues, both have the file")
    func owner() async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            let content = Content(length: 8_000_000, seed: 1)
            let port = try Loopback.freePort()
            let handler: @Sendable (OriginRequest) -> Response = {
                .file(Resource(content, etag: "\"v1\""), for: $0, cutAfter: 3_000_000, stall: true)
            }
            var started: [ChildProcess] = []
            defer { for process in started { process.send(SIGKILL) } }
            // The owner stops at this offset, however long that takes.
            try await OriginServer.withServer(
                port: port, handler: handler,
                { server in
                    let url = "\(server.baseURL)/file"
                    let owner = try program.start("get", url, "--output", folder["out1"], "--stall-timeout", "600")
                    started.append(owner)
                    let names = { (try? Files.names(in: folder["store/blobs"])) ?? [] }
                    // Enough to be resumed.
                    let hasBytes = {
                        let path = folder["store/blobs/\(names().first ?? "")"]
                        return ((try? FileManager.default.attributesOfItem(atPath: path)[.size]) as? Int ?? 0) > 100_000
                    }
                    while owner.isRunning, names().isEmpty || !hasBytes() {
                        try await Task.sleep(for: .milliseconds(10))
                    }
                    try await stopBetweenWrites(owner, in: folder["store"])
                    let blobs = names()
                    let waiting = try program.start(["get", url, "--output", folder["out2"]], output: folder["log2"])
                    started.append(waiting)
                    while waiting.isRunning, !(try text(folder["log2"]).contains("waiting for another download")) {
                        try await Task.sleep(for: .milliseconds(10))
                    }
                    let collected = try await program.run("gc", "--max-size", "0")
                    #expect(collected.status == 0, "\(collected.errors)")
                    let purged = try await program.run("purge", "--all")
                    #expect(purged.status == 1 && purged.errors.contains("in use"), "\(purged.errors)")
                    let list = try await program.run("list", "--json").output
                    #expect(list.contains("\"inUse\":true"), "\(list)")
                    #expect(try await program.run("verify").status == 0)
                    let kept = try Files.names(in: folder["store/blobs"])
                    #expect(blobs.count == 1 && kept == blobs)
                    #expect(waiting.isRunning && server.requests.count == 1, "it waits, and sends no request")
                })
            try await OriginServer.withServer(
                port: port, handler: { .file(Resource(content, etag: "\"v1\""), for: $0) },
                { server in
                    started[0].send(SIGCONT)
                    for process in started { #expect(await process.wait() == .exited(0)) }
                    #expect(server.requests.count == 1, "the owner resumes, and the other one takes a copy")
                    #expect(server.requests.first?.field("Range") != nil)
                })
            for name in ["out1", "out2"] { #expect(content.matches(try Files.bytes(folder[name]))) }
            #expect(try Files.names(in: folder["store/blobs"]).isEmpty)
        }
    }

    /// Stops a process at a moment when it has neither the store's lock nor SQLite's.
    private func stopBetweenWrites(_ process: ChildProcess, in store: String) async throws {
        try await wait(for: "a moment without a lock", while: process) {
            process.send(SIGSTOP)
            let locked = try await Shell.outcome("flock", ["--nonblock", "\(store)/lock", "true"])
            let begun = try await Shell.outcome("sqlite3", ["\(store)/store.sqlite", "BEGIN IMMEDIATE; ROLLBACK"])
            let isIdle = locked.status == 0 && begun.status == 0
            if !isIdle { process.send(SIGCONT) }
            return isIdle
        }
    }

    /// Where a process is stopped: the call at which it is held, and the lock it has by then.
    enum Place: CaseIterable {
        /// Inside a checkpoint, with only the store's lock.
        case checkpoint
        /// Inside a write transaction, with SQLite's lock.
        case transaction

        var call: String {
            switch self {
            case .checkpoint: "ftruncate@store.sqlite-wal"
            case .transaction: "pwrite@store.sqlite-wal"
            }
        }

        var operation: Int32 { self == .checkpoint ? LOCK_EX : LOCK_SH }
    }

    @Test(
        "A process stopped with a store-wide lock blocks writers for a limited time, and they give advice",
        .enabled(if: FaultShim.isAvailable, "needs a C compiler and Linux"), arguments: Place.allCases)
    func writer(place: Place) async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            let content = Content(length: 1_500_000, seed: 1)
            try await OriginServer.withServer(
                handler: { request in
                    let resource = Resource(content, etag: "\"v1\"")
                    return .file(resource, for: request, cutAfter: request.path == "/cut" ? 500_000 : nil)
                },
                { server in
                    let cut = try await program.run(
                        "get", "\(server.baseURL)/cut", "--output", folder["cut"], "--retries", "0")
                    #expect(cut.status == 75, "\(cut.errors)")
                    let stopped = try await stop(program, at: place)
                    defer { stopped.send(SIGKILL) }
                    #expect(try await program.run("list").status == 0, "readers are not held up")
                    let url = "\(server.baseURL)/file"
                    let busy = try await program.run("get", url, "--output", folder["out"])
                    #expect(busy.status == 75 && busy.errors.contains("stopped"), "\(busy.errors)")
                    #expect(!Files.exists(folder["out"]))

                    stopped.send(SIGKILL)
                    await stopped.wait()
                    let after = try await program.run("get", url, "--output", folder["out"])
                    #expect(after.status == 0, "\(after.errors)")
                })
            #expect(content.matches(try Files.bytes(folder["out"])))
            #expect(try await program.run("gc").status == 0)
            #expect(try await program.run("verify").status == 0)
        }
    }

    /// Starts a process that purges, and stops it at a place.
    private func stop(_ program: Resumectl, at place: Place) async throws -> ChildProcess {
        let (gate, trace) = (program.folder["gate"], program.folder["trace"])
        let environment = try await FaultShim.environment(
            roots: [program.folder.path], rules: "\(place.call):hold=\(gate)", trace: trace)
        let process = try Shell.start(
            Resumectl.path, ["purge", "--all"], environment: program.environment.merging(environment) { $1 },
            output: program.folder["stopped.log"])
        // The suite's time limit bounds the wait.
        while process.isRunning {
            if Files.exists(gate + ".reached") {
                process.send(SIGSTOP)
                let hasLock = try FileCall.trace(trace).contains {
                    $0.name == "flock" && $0.result == 0 && $0.offset.map { Int32($0) & place.operation != 0 } ?? false
                }
                #expect(hasLock, "the store's lock is taken before the call")
                return process
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw Shell.Failure(description: "it could not be stopped there: \(try text(program.folder["stopped.log"]))")
    }

    private func text(_ path: String) throws -> String { String(decoding: try Files.bytes(path), as: UTF8.self) }
}
