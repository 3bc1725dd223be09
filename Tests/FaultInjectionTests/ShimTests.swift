import FaultInjection
import Foundation
import TestSupport
import Testing

/// Each action of the shim, on system programs and on the real one.
@Suite(.enabled(if: FaultShim.isAvailable, "There is no C compiler, or this is not Linux."), .timeLimit(.minutes(5)))
struct ShimTests {
    @Temporary private var folder

    /// Runs a shell command with the shim in each program that it starts.
    private static func sh(_ line: String, in folder: TemporaryFolder, rules: String) async throws -> Shell.Outcome {
        let variables = try await FaultShim.environment(
            roots: [folder["files"]], rules: rules, trace: folder["trace"], count: folder["count"],
            bootID: folder["boot"])
        try FileManager.default.createDirectory(atPath: folder["files"], withIntermediateDirectories: true)
        return try await Shell.outcome("sh", ["-c", "cd '\(folder["files"])' && \(line)"], environment: variables)
    }

    /// Requests a file from a port without a listener, with the real program.
    private static func get(in folder: TemporaryFolder, rules: String) async throws -> Shell.Outcome {
        let variables = try await FaultShim.environment(roots: [folder.path], rules: rules, trace: folder["trace"])
        return try await Shell.outcome(
            Resumectl.path, ["get", "http://127.0.0.1:1/x", "--retries", "0", "-o", folder["x"]],
            environment: Resumectl(folder: folder).environment.merging(variables) { $1 })
    }

    private static func text(_ path: String) throws -> String { String(decoding: try Files.bytes(path), as: UTF8.self) }

    @Test("kill acts before the call, killafter after it", arguments: ["kill", "killafter"])
    func killing(_ action: String) async throws {
        let outcome = try await Self.sh("echo one > a; exec mv a b", in: folder, rules: "rename:\(action)")
        #expect(outcome.status == 128 + SIGKILL)
        #expect(try Files.names(in: folder["files"]) == [action == "kill" ? "a" : "b"])
        let call = try #require(try FileCall.trace(folder["trace"]).first { $0.name == "rename" })
        #expect(call.newPath == folder["files/b"])
        #expect(call.error == (action == "kill" ? "killed" : nil))
        #expect(try FaultShim.counts(in: folder["count"]) == [1])
    }

    @Test("Only the numbered call of the named kind on the named path fails")
    func numbered() async throws {
        let copy = "dd if=/dev/zero bs=100 count=3 status=none"
        let outcome = try await Self.sh("\(copy) of=x; \(copy) of=y", in: folder, rules: "write@/y:error=ENOSPC:2")
        #expect(outcome.errors.contains("No space left"))
        #expect(try Files.bytes(folder["files/x"]).count == 300)
        #expect(try Files.bytes(folder["files/y"]).count == 100)
        let failed = try FileCall.trace(folder["trace"]).filter { $0.error != nil }
        #expect(failed.map(\.error) == ["ENOSPC"])
        #expect(failed.map(\.fault) == ["error"])
    }

    @Test("A rule applies from a number on")
    func fromThen() async throws {
        _ = try await Self.sh("ln /dev/null . ; touch a b c; rm a b c", in: folder, rules: "unlink:error=EROFS:2+")
        #expect(try Files.names(in: folder["files"]) == ["b", "c"])
    }

    @Test("A short write does half")
    func short() async throws {
        _ = try await Self.sh("dd if=/dev/zero of=a bs=100 count=1 status=none", in: folder, rules: "write:short:1")
        #expect(try FileCall.trace(folder["trace"]).filter { $0.name == "write" }.first?.result == 50)
        #expect(try Files.bytes(folder["files/a"]).count == 100)
    }

    @Test("succeed does nothing and reports success")
    func succeeding() async throws {
        try await TemporaryFolder.with { folder async throws in
            #expect(try await Self.sh("echo one > a; ln a b", in: folder, rules: "link:succeed").status == 0)
            #expect(try Files.names(in: folder["files"]) == ["a"])
        }
    }

    @Test("count counts the named calls, beside all that change something")
    func counting() async throws {
        let line = "exec dd if=/dev/zero of=a bs=100 count=3 conv=fsync status=none"
        _ = try await Self.sh(line, in: folder, rules: "write:count;fsync:count;write@nowhere:count")
        #expect(try FaultShim.counts(in: folder["count"]) == [5, 3, 1, 0])
    }

    @Test("A delay is waited for, and the call is done")
    func delaying() async throws {
        _ = try await Self.sh("echo one > a; ln a b", in: folder, rules: "link:delay=3000")
        #expect(try Files.names(in: folder["files"]) == ["a", "b"])
        #expect(try FileCall.trace(folder["trace"]).first { $0.name == "link" }?.fault == "delay")
    }

    @Test("A held call reports that it waits, and is done when the gate exists")
    func holding() async throws {
        let gate = folder["gate"]
        async let outcome = Self.sh("echo one > a; ln a b", in: folder, rules: "link:hold=\(gate)")
        try await wait { Files.exists(gate + ".reached") }
        #expect(try Files.names(in: folder["files"]) == ["a"])
        try Files.write([], to: gate)
        #expect(try await outcome.status == 0)
        #expect(try Files.names(in: folder["files"]) == ["a", "b"])
    }

    @Test("A reboot is simulated")
    func bootID() async throws {
        try FaultShim.writeBootID(to: folder["boot"])
        let outcome = try await Self.sh("cat /proc/sys/kernel/random/boot_id", in: folder, rules: "")
        #expect(outcome.output == (try Self.text(folder["boot"])))
    }

    @Test("An invalid rule ends the program")
    func refusing() async throws {
        try await TemporaryFolder.with { folder async throws in
            #expect(try await Self.sh("touch a", in: folder, rules: "open:explode").status == 99)
        }
    }

    @Test("In resumectl and its SQLite, locks and the kind of file system included")
    func inResumectl() async throws {
        #expect(try await Self.get(in: folder, rules: "fstatfs:network").errors.contains("NFS"))
        #expect(try await Self.get(in: folder, rules: "pwrite@store.sqlite:error=ENOSPC").status == 74)
        #expect(try await Self.get(in: folder, rules: "flock,ofdlock,posixlock:succeed").status == 75)
        let calls = try FileCall.trace(folder["trace"])
        for name in ["flock", "ofdlock", "posixlock"] {
            #expect(calls.contains { $0.name == name && $0.fault == "succeed" }, "\(name)")
        }
        #expect(calls.contains { $0.name == "pwrite" && $0.path.hasSuffix("store.sqlite-wal") })
    }
}
