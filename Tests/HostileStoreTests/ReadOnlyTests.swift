import Foundation
import OriginServer
import TestSupport
import Testing

/// A store that this user cannot write: each command gives advice, and nothing is changed.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Shell.isRoot, "needs root"))
struct ReadOnlyTests {
    private static let commands = [
        ["list"], ["show", "a"], ["stats"], ["log"], ["verify"], ["pin", "a"], ["gc"], ["purge", "a"],
        ["get", "http://127.0.0.1:9/a", "--key", "a", "--retries", "0"],
    ]

    private static func check(_ victim: Victim, through program: [String], isForeign: Bool = false) async throws {
        let run: ([String]) async throws -> Shell.Outcome = { arguments in
            try await Shell.outcome(
                program[0], program.dropFirst() + ["timeout", "-s", "KILL", "300", Resumectl.path] + arguments,
                environment: ["RESUMECTL_STORE": victim.store, "no_proxy": "127.0.0.1"])
        }
        for command in commands {
            let output = command[0] == "get" ? ["--output", victim.folder["out/file"]] : []
            let outcome = try await run(command + output)
            // Another user's store is refused, whatever its permissions.
            #expect(outcome.status == (isForeign ? 65 : 74), "\(command) \(outcome.errors)")
            let advice = ["another store", "Choose a folder", "a folder that belongs to this user"]
            let isHelpful = advice.contains { outcome.errors.contains($0) }
            #expect(isHelpful && outcome.errors.contains(victim.store), "\(command) \(outcome.errors)")
        }
        let doctor = try await run(["doctor"])
        #expect(doctor.status == 65)
        #expect(doctor.output.contains("open: failed   <- "), "\(doctor.output)")
    }

    @Test("A read-only file system", .enabled(if: Shell.has("unshare"), "needs unshare"))
    func fileSystem() async throws {
        try await Victim.with { victim in
            try await Shell.run("mkdir", victim.folder["out"])
            let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\""
            try await Self.check(victim, through: ["unshare", "-m", "sh", "-c", script, victim.store])
            #expect(try await victim.run(["verify"]).status == 0)
        }
    }

    @Test("A home on a read-only file system", .enabled(if: Shell.has("unshare"), "needs unshare"))
    func home() async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", folder["home"])
            let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\""
            for (command, status) in [(["get", "http://127.0.0.1:9/a", "-o", folder["out"]], 74), (["doctor"], 65)] {
                let outcome = try await Shell.outcome(
                    "unshare", ["-m", "sh", "-c", script, folder["home"], Resumectl.path] + command,
                    environment: ["HOME": folder["home"], "XDG_CACHE_HOME": "", "RESUMECTL_STORE": ""])
                let text = outcome.errors + outcome.output
                #expect(outcome.status == Int32(status), "\(text)")
                let problem = "\(folder["home/.cache"]): Read-only file system. Choose another store"
                #expect(text.contains(problem), "\(text)")
                #expect(text.contains("--store or RESUMECTL_STORE"), "\(text)")
            }
        }
    }

    @Test(
        "A read-only folder, and another user's store", .enabled(if: Shell.has("setpriv"), "needs setpriv"),
        arguments: ["65534", "0"])
    func folder(owner: String) async throws {
        try await Victim.with { victim in
            try await Shell.run("mkdir", "-m", "777", victim.folder["out"])
            try await Shell.run("chown", "-R", owner, victim.store)
            try await Shell.run("chmod", "-R", "a-w,a+rX", victim.store)
            try await Self.check(
                victim, through: ["setpriv", "--reuid=65534", "--clear-groups"], isForeign: owner == "0")
            try await Shell.run("chown", "-R", "0", victim.store)
            #expect(try await victim.run(["verify"]).status == 0)
        }
    }
}
