import TestSupport
import Testing

/// A store that belongs to another user, or that others may write to: its files could be exchanged at any time.
@Suite(.timeLimit(.minutes(20)))
struct ForeignStoreTests {
    private static let commands = [
        ["list"], ["show", "a"], ["stats"], ["log"], ["verify"], ["doctor"], ["doctor", "--rebuild"], ["pin", "a"],
        ["gc"], ["purge", "a"], ["get", "http://127.0.0.1:9/a", "--key", "a", "--retries", "0"],
    ]

    private static func check(_ victim: Victim, says text: String) async throws {
        let before = try await listing(victim)
        for command in commands {
            let output = command[0] == "get" ? ["--output", victim.folder["out"]] : []
            let outcome = try await victim.run(command + output)
            #expect(outcome.status == 65, "\(command): \(outcome.errors)\(outcome.output)")
            #expect((outcome.errors + outcome.output).contains(text), "\(command): \(outcome.errors)\(outcome.output)")
        }
        #expect(try await listing(victim) == before)
    }

    private static func listing(_ victim: Victim) async throws -> String {
        try await Shell.run("ls", "-laR", "--time-style=full-iso", victim.store)
    }

    @Test(
        "No user works in another user's store, not even root", .enabled(if: Shell.isRoot, "needs root"),
        arguments: ["", "/blobs", "/store.sqlite", "/store.sqlite-journal", "/lock", "/waiters"])
    func foreign(name: String) async throws {
        try await Victim.with { victim in
            if name.hasSuffix("journal") { try Files.write([], to: victim.store + name) }
            try await Shell.run("chown", "65534", victim.store + name)
            try await Self.check(victim, says: "\(victim.store)\(name) belongs to another user (number 65534, not 0)")
            try await Shell.run("chown", "0", victim.store + name)
            #expect(try await victim.run(["list"]).status == 0)
        }
    }

    @Test("The owner of a whole store may work in it", .enabled(if: Shell.isRoot && Shell.has("setpriv")))
    func owner() async throws {
        try await Victim.with { victim in
            try await Shell.run("chown", "-R", "65534", victim.store)
            for command in [["list"], ["verify"], ["purge", "a"]] {
                let outcome = try await Shell.outcome(
                    "setpriv", ["--reuid=65534", "--clear-groups", Resumectl.path] + command,
                    environment: ["RESUMECTL_STORE": victim.store])
                #expect(outcome.status == 0, "\(command): \(outcome.errors)")
            }
        }
    }

    @Test(
        "A store that others may write to is refused, with advice",
        arguments: ["", "/blobs", "/store.sqlite", "/lock"], ["g+w", "o+w"])
    func writable(name: String, mode: String) async throws {
        try await Victim.with { victim in
            // What is in a folder that only its owner can enter is nobody else's.
            if name.contains(".") || name == "/lock" { try await Shell.run("chmod", "755", victim.store) }
            try await Shell.run("chmod", mode, victim.store + name)
            try await Self.check(victim, says: "other users may write to \(victim.store)\(name). Run 'chmod -R go-w ")
            try await Shell.run("chmod", "-R", "go-w", victim.store)
            #expect(try await victim.run(["list"]).status == 0)
        }
    }

    @Test("A location where other users could replace the store's folder is refused")
    func parents() async throws {
        try await TemporaryFolder.with { folder in
            let get = ["get", "http://127.0.0.1:9/a", "-o", folder["out"], "--retries", "0"]
            try await Shell.run("mkdir", "-p", "-m", "755", folder["a/b"])
            let environment = ["RESUMECTL_STORE": folder["a/b/store"]]
            for (mode, status) in [("1777", 75), ("777", 65), ("o+t", 75), ("755", 75)] as [(String, Int32)] {
                try await Shell.run("chmod", mode, folder["a"])
                let outcome = try await Shell.outcome(Resumectl.path, get, environment: environment)
                #expect(outcome.status == status, "\(mode): \(outcome.errors)")
                #expect(outcome.errors.contains("a folder above") == (status == 65))
            }
            guard Shell.isRoot else { return }
            try await Shell.run("chown", "65533", folder["a"])
            let outcome = try await Shell.outcome(Resumectl.path, get, environment: environment)
            #expect(outcome.status == 65 && outcome.errors.contains("belongs to another user (number 65533)"))
        }
    }

    @Test("A refusal leaves nothing behind in another user's folder", .enabled(if: Shell.isRoot, "needs root"))
    func nothingMade() async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("install", "-d", "-o", "65533", "-m", "755", folder["home"])
            let get = ["get", "http://127.0.0.1:9/a", "-o", folder["out"], "--retries", "0"]
            for environment in [
                ["HOME": folder["home"], "XDG_CACHE_HOME": "", "RESUMECTL_STORE": ""],
                ["RESUMECTL_STORE": folder["home/a/b/store"]], ["RESUMECTL_STORE": folder["home/../home/store"]],
            ] {
                for (command, status) in [(get, 65), (["doctor"], 65), (["list"], 0)] {
                    let outcome = try await Shell.outcome(Resumectl.path, command, environment: environment)
                    let text = outcome.errors + outcome.output
                    #expect(outcome.status == Int32(status), "\(command): \(text)")
                    #expect(text.contains("belongs to another user (number 65533)") == (status == 65), "\(text)")
                    #expect(try Files.names(in: folder["home"]).isEmpty)
                }
            }
        }
    }

    @Test(
        "A folder above the store is refused if its group has other members",
        .enabled(if: Shell.isRoot, "needs root"))
    func groups() async throws {
        try await TemporaryFolder.with { folder in
            let get = ["get", "http://127.0.0.1:9/a", "-o", folder["out"], "--retries", "0"]
            let environment = ["RESUMECTL_STORE": folder["a/b/store"]]
            try await Shell.run("mkdir", "-p", "-m", "755", folder["a/b"])
            // The primary group of user "nobody", a group without a name, and root's own.
            for (group, mode, status) in [
                ("nogroup", "2775", 65), ("nogroup", "3775", 75), ("64321", "775", 65), ("root", "2775", 75),
            ] as [(String, String, Int32)] {
                try await Shell.run("chgrp", group, folder["a"])
                try await Shell.run("chmod", mode, folder["a"])
                let outcome = try await Shell.outcome(Resumectl.path, get, environment: environment)
                #expect(outcome.status == status, "\(group) \(mode): \(outcome.errors)")
                #expect(outcome.errors.contains("lets the group") == (status == 65))
            }
        }
    }

    @Test(
        "A group counts as private only without an access control list, and if none of its names has other members",
        .enabled(if: Shell.isRoot && Shell.has("setfacl") && Shell.has("unshare"), "needs root, setfacl and unshare"))
    func members() async throws {
        try await TemporaryFolder.with { folder in
            let get = [Resumectl.path, "get", "http://127.0.0.1:9/a", "-o", folder["out"], "--retries", "0"]
            let environment = ["RESUMECTL_STORE": folder["a/store"]]
            try await Shell.run("install", "-d", "-m", "775", folder["a"])
            let text = String(decoding: try Files.bytes("/etc/group"), as: UTF8.self)
            for (members, status) in [("", 75), ("root", 75), ("nobody", 65)] as [(String, Int32)] {
                try Files.write(Array((text + "second:x:0:\(members)\n").utf8), to: folder["group"])
                let script = "mount --bind '\(folder["group"])' /etc/group && exec \"$@\""
                let outcome = try await Shell.outcome(
                    "unshare", ["-m", "sh", "-c", script, "sh"] + get, environment: environment)
                #expect(outcome.status == status, "\(members): \(outcome.errors)")
                #expect(outcome.errors.contains("lets the group 0") == (status == 65))
            }
            try await Shell.run("setfacl", "-m", "u:65533:rwx", folder["a"])
            let listed = try await Shell.outcome(get[0], Array(get.dropFirst()), environment: environment)
            #expect(listed.status == 65 && listed.errors.contains("has an access control list"), "\(listed.errors)")
        }
    }

    @Test(
        "Another user's symbolic link above the store is refused, this user's and root's are followed",
        .enabled(if: Shell.isRoot, "needs root"), arguments: ["1777", "755"])
    func links(mode: String) async throws {
        try await TemporaryFolder.with { folder in
            let get = ["get", "http://127.0.0.1:9/a", "-o", folder["out"], "--retries", "0"]
            try await Shell.run("mkdir", folder["real"], folder["all"])
            try await Shell.run("chmod", mode, folder["all"])
            try await Shell.run("ln", "-s", "../real", folder["all/link"])
            for (owner, status) in [("65533", 65), ("0", 75)] as [(String, Int32)] {
                try await Shell.run("chown", "-h", owner, folder["all/link"])
                let outcome = try await Shell.outcome(
                    Resumectl.path, get, environment: ["RESUMECTL_STORE": folder["all/link/store"]])
                #expect(outcome.status == status, "\(owner): \(outcome.errors)")
                #expect(outcome.errors.contains("a symbolic link above") == (status == 65))
                #expect(try Files.names(in: folder["real"]).isEmpty == (status == 65))
            }
            // A folder that all may write to is unsafe even if a link leads out of it.
            try await Shell.run("chmod", "777", folder["all"])
            let outcome = try await Shell.outcome(
                Resumectl.path, get, environment: ["RESUMECTL_STORE": folder["all/link/store"]])
            #expect(outcome.status == 65 && outcome.errors.contains("lets all users"), "\(outcome.errors)")
        }
    }

    @Test("No store is created in a folder that others may write to")
    func made() async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", "-m", "777", folder["store"])
            let get = try await Resumectl(folder: folder).run("get", "http://127.0.0.1:9/a", "-o", folder["out"])
            #expect(get.status == 65 && get.errors.contains("chmod"), "\(get.errors)")
            #expect(try Files.names(in: folder["store"]).isEmpty)
        }
    }
}
