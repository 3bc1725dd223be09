import Foundation
import OriginServer
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
}
