import Foundation
import OriginServer
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Stores that the user allows others to use, with `--store-shared`.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Shell.isRoot && Shell.has("setpriv"), "needs root and setpriv"))
struct SharedStoreTests {
    private static let group = "64999"

    /// Runs the program as a user with a group of its own, and perhaps in the group of the store.
    private static func run(
        _ user: String, isMember: Bool = true, _ arguments: [String], environment: [String: String]
    ) async throws -> Shell.Outcome {
        let identity = ["--reuid=\(user)", "--regid=\(user)", isMember ? "--groups=\(group)" : "--clear-groups"]
        let variables = environment.merging(["no_proxy": "127.0.0.1"]) { $1 }
        return try await Shell.outcome("setpriv", identity + [Resumectl.path] + arguments, environment: variables)
    }

    /// Serves `/a` and `/b`, which are cut until both were requested by each user once.
    private static func withServer(_ body: (OriginServer, TemporaryFolder) async throws -> Void) async throws {
        try await OriginServer.withServer(handler: {
            .file(Victim.resource, for: $0, cutAfter: $0.field("range") == nil ? 100_000 : nil)
        }) { server in
            try await TemporaryFolder.with { folder in
                try await Shell.run("chmod", "1777", folder.path)
                try await body(server, folder)
            }
        }
    }

    @Test("Two users of one group continue each other's downloads in one store; a third user is refused")
    func group() async throws {
        try await Self.withServer { server, folder in
            let store = folder["store"]
            try await Shell.run("install", "-d", "-m", "2770", "-g", Self.group, store)
            let environment = ["RESUMECTL_STORE": store, "RESUMECTL_STORE_SHARED": "1"]
            for (name, first, second) in [("a", "65531", "65532"), ("b", "65532", "65531")] {
                let get = ["get", "\(server.baseURL)/\(name)", "--retries", "0", "--json", "-o"]
                let cut = try await Self.run(first, get + [folder["\(name)1"]], environment: environment)
                #expect(cut.status == 75, "\(cut.errors)")
                let path = folder["\(name)2"]
                let rest = try await Self.run(second, get + [path], environment: environment)
                #expect(rest.status == 0, "\(rest.errors)")
                #expect(!rest.output.contains("\"reusedBytes\":0") && rest.output.contains("\"reusedBytes\":"))
                #expect(try Files.bytes(path) == Victim.bytes)
                // The file is the second user's alone.
                #expect(try await Shell.run("stat", "-c", "%u:%g %a", path) == "\(second):\(second) 644\n")
            }
            let listed = try await Shell.run("find", store, "-printf", "%y %m %G %P\n")
            let lines = listed.split(separator: "\n")
            #expect(lines.count > 8)
            for line in lines {
                let mode = line.hasPrefix("d") ? "d 2770" : "f 660"
                #expect(line.hasPrefix("\(mode) \(Self.group)"), "\(line)")
            }
            let doctor = try await Self.run("65532", ["doctor"], environment: environment)
            #expect(doctor.status == 0, "\(doctor.output)")
            let third = try await Self.run("65530", isMember: false, ["list"], environment: environment)
            #expect(third.status == 65 && third.errors.contains("user 65530 may not use \(store)"), "\(third.errors)")
            // Without the choice, nothing is less strict than for other stores.
            let strict = try await Self.run("65531", ["list"], environment: ["RESUMECTL_STORE": store])
            #expect(strict.status == 65 && strict.errors.contains("--store-shared"), "\(strict.errors)")
        }
    }

    @Test("A store in a folder that all may write to, or that another user owns, is allowed by choice only")
    func folders() async throws {
        try await Self.withServer { server, folder in
            try await Shell.run("mkdir", "-m", "777", folder["all"])
            try await Shell.run("install", "-d", "-o", "65530", "-m", "755", folder["home"])
            try await Shell.run("install", "-d", "-o", "65531", "-g", "65531", "-m", "755", folder["home/.cache"])
            try await Shell.run("install", "-d", "-o", "65531", "-g", "65531", "-m", "775", folder["mask"])
            try await Shell.run("ln", "-s", folder["mask"], folder["link"])
            try await Shell.run("chown", "-h", "65531", folder["link"])
            let reasons = [
                "all/pod/store": "lets all users replace the store", "home/.cache/store": "belongs to another user",
                "mask": "chmod -R go-w \(folder["mask"])': the permissions are 775, as a umask of 002",
                "link": "is a symbolic link to \(folder["mask"])",
            ]
            for (name, reason) in reasons.sorted(by: { $0.key > $1.key }) {
                let get = [
                    "get", "\(server.baseURL)/\(name)", "--retries", "0", "-o", folder["out-\(name.count)"], "--store",
                    folder[name],
                ]
                let strict = try await Self.run("65531", isMember: false, get, environment: [:])
                #expect(strict.status == 65 && strict.errors.contains(reason), "\(name): \(strict.errors)")
                #expect(strict.errors.contains("--store-shared") && strict.errors.contains("RESUMECTL_STORE_SHARED"))
                #expect(try Files.names(in: folder["all"]).isEmpty || name != "all/pod/store")
                let shared = try await Self.run("65531", isMember: false, get + ["--store-shared"], environment: [:])
                #expect(shared.status == 75, "\(name): \(shared.errors)")
                let again = try await Self.run(
                    "65531", isMember: false, get, environment: ["RESUMECTL_STORE_SHARED": "true"])
                #expect(again.status == 0, "\(name): \(again.errors)")
            }
            #expect(try Files.names(in: folder["home/.cache"]) == ["store"])
        }
    }

    @Test("Of the folders that are created, only the store's own is shared")
    func parents() async throws {
        try await Self.withServer { server, folder in
            try await Shell.run("install", "-d", "-o", "65531", folder["home"])
            let environment = ["HOME": folder["home"], "XDG_CACHE_HOME": "", "RESUMECTL_STORE_SHARED": "1"]
            let get = ["get", "\(server.baseURL)/a", "--retries", "0", "-o", folder["out"]]
            let cut = try await Self.run("65531", get, environment: environment)
            #expect(cut.status == 75, "\(cut.errors)")
            #expect(try Files.mode(folder["home/.cache"]) == 0o700)
            let shared = try await Shell.run("find", folder["home"], "-perm", "2770", "-name", "resumectl")
            #expect(shared == folder["home/.cache/resumectl"] + "\n")
        }
    }

    @Test("A private store stays private with --store-shared, and the modes of its files never count")
    func privateStore() async throws {
        try await Self.withServer { server, folder in
            let environment = ["RESUMECTL_STORE": folder["store"]]
            let get = ["get", "\(server.baseURL)/a", "--retries", "0", "-o", folder["out"]]
            #expect(try await Self.run("65531", get, environment: environment).status == 75)
            for shared in [["list"], ["gc"], get] {
                let outcome = try await Self.run("65531", shared + ["--store-shared"], environment: environment)
                #expect(outcome.status == 0, "\(shared): \(outcome.errors)")
                let others = try await Shell.run("find", folder["store"], "-perm", "/077")
                #expect(others.isEmpty, "\(shared): \(others)")
            }
            // As an earlier release left them.
            try await Shell.run("sh", "-c", "chmod 660 '\(folder["store"])'/store.sqlite* '\(folder["store"])/waiters'")
            let list = try await Self.run("65531", ["list"], environment: environment)
            #expect(list.status == 0, "\(list.errors)")
        }
    }

    @Test("A store in a folder of the group belongs to the group, and the advice for one that does not is right")
    func groupOfParent() async throws {
        try await Self.withServer { server, folder in
            try await Shell.run("install", "-d", "-g", Self.group, "-m", "770", folder["team"])
            let store = folder["team/store"]
            let environment = ["RESUMECTL_STORE": store, "RESUMECTL_STORE_SHARED": "1"]
            let get = ["get", "\(server.baseURL)/a", "--retries", "0", "-o"]
            let first = try await Self.run("65531", get + [folder["1"]], environment: environment)
            #expect(first.status == 75, "\(first.errors)")
            let list = try await Self.run("65532", ["list"], environment: environment)
            #expect(list.status == 0, "\(list.errors)")
            try await Shell.run("sh", "-c", "cd '\(store)' && chgrp -R 65531 * && chmod -R g-s .")
            let refused = try await Self.run("65532", ["list"], environment: environment)
            #expect(refused.status == 65, "\(refused.errors)")
            let parts = refused.errors.components(separatedBy: "run '")
            let command = try #require(parts.last?.components(separatedBy: "'.").first)
            let owner = ["--reuid=65531", "--regid=65531", "--groups=\(Self.group)", "sh", "-c", command]
            let advised = try await Shell.outcome("setpriv", owner)
            #expect(advised.status == 0, "\(command): \(advised.errors)")
            let second = try await Self.run("65532", get + [folder["2"]], environment: environment)
            #expect(second.status == 0, "\(second.errors)")
            #expect(try Files.bytes(folder["2"]) == Victim.bytes)
        }
    }

    @Test("Bytes that a member changes after they were verified are not delivered", arguments: [false, true])
    func changedAfterwards(inPlace: Bool) async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", "-m", "770", folder["store"])
            var configuration = DownloadStore.Configuration()
            configuration.isShared = true
            let store = try await DownloadStore.open(at: folder["store"], configuration: configuration)
            var hash = RunningHash(.sha256)
            hash.update(Victim.bytes)
            let digest = try #require(hash.digest)
            let transfer = try await store.open(
                try DownloadURL("http://127.0.0.1:9/a"), headerFields: [:], policy: ResumePolicy(digest: digest))
            try await HonestServer(Victim.bytes).fill(transfer)
            // As the engine does after it has hashed the bytes.
            await transfer.prove(by: digest)
            // Nor is a name of the blob taken for the file.
            try await Shell.run("ln", folder.blob(), folder["linked"])
            await #expect(throws: StoreError(.destinationExists, "")) {
                try await transfer.deliver(to: folder["linked"], replaces: false)
            }
            try await Shell.run("sh", "-c", "printf EVIL | dd of='\(folder.blob())' bs=1 seek=1000 conv=notrunc")
            if inPlace {
                try Files.write([], to: folder["file"])
                try Files.write([], to: folder["out"])
                try await Shell.run("mount", "--bind", folder["file"], folder["out"])
            }
            let error = await #expect(throws: DownloadError.self) { try await transfer.deliver(to: folder["out"]) }
            #expect(error?.code == .digestMismatch)
            if inPlace { try await Shell.run("umount", folder["out"]) }
            let names = inPlace ? ["file", "linked", "out", "store"] : ["linked", "store"]
            #expect(try Files.names(in: folder.path) == names)
            try await transfer.close()
            await store.close()
        }
    }
}
