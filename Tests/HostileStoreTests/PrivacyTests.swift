import Foundation
import OriginServer
import TestSupport
import Testing

/// A store is private to its owner, and contains no secret.
@Suite(.timeLimit(.minutes(20)))
struct PrivacyTests {
    /// The permissions of everything in a store.
    private static func modes(_ store: String) throws -> [String: Int] {
        var modes = ["": try Files.mode(store)]
        for name in try FileManager.default.subpathsOfDirectory(atPath: store) {
            modes[name] = try Files.mode("\(store)/\(name)")
        }
        return modes
    }

    @Test(
        "Folders are 0700 and files 0600 whatever the umask; delivered files follow the umask",
        arguments: ["000", "022", "027", "077", "277", "777"],
        Shell.isRoot && Shell.has("setpriv") ? [false, true] : [false])
    func masks(mask: String, asNobody: Bool) async throws {
        try await OriginServer.withServer(handler: {
            .file(Victim.resource, for: $0, cutAfter: $0.path == "/a" ? 100_000 : nil)
        }) {
            server in
            try await TemporaryFolder.with { folder in
                try await Shell.run("chmod", "1777", folder.path)
                let user = asNobody ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
                for (name, status) in [("a", Int32(75)), ("b", 0)] {
                    let get = [
                        Resumectl.path, "get", "\(server.baseURL)/\(name)", "-o", folder[name], "--retries", "0",
                    ]
                    let outcome = try await Shell.outcome(
                        "sh", ["-c", "umask \(mask); exec \"$@\"", "sh"] + user + get,
                        environment: ["RESUMECTL_STORE": folder["parent/store"], "no_proxy": "127.0.0.1"])
                    #expect(outcome.status == status, "\(outcome.errors)")
                }
                let delivered = 0o666 & ~(try #require(Int(mask, radix: 8)))
                #expect(try Files.mode(folder["b"]) == delivered)
                let modes = try Self.modes(folder["parent/store"])
                #expect(modes.count >= 8, "\(modes.keys)")
                for (name, mode) in modes {
                    let isFolder = name.isEmpty || name == "blobs" || name.hasPrefix("blobs/") && name.count == 8
                    #expect(mode == (isFolder ? 0o700 : 0o600), "\(name)")
                }
                #expect(try Files.mode(folder["parent"]) == 0o700)
            }
        }
    }

    @Test("doctor reports a store that others can read, with advice, and leaves it unchanged")
    func wideFolder() async throws {
        try await Victim.with { victim in
            try await Shell.run("chmod", "755", victim.store)
            try await Shell.run("chmod", "644", victim.database)
            let doctor = try await victim.run(["doctor"])
            #expect(doctor.status == 65)
            #expect(doctor.output.contains("chmod 700 \(victim.store)"), "\(doctor.output)")
            #expect(doctor.output.contains("chmod 600"), "\(doctor.output)")
            #expect(try Files.mode(victim.store) == 0o755)
            #expect(try await victim.run(["list"]).status == 0)
        }
    }

    private static let secrets = ["hunter2", "5ca1ab1e", "AKIDEXAMPLE", "t0pSecret", "c00kie", "pr0xyPass"]
    private static let query = "part=1&X-Amz-Credential=AKIDEXAMPLE&X-Amz-Signature=5ca1ab1e&token=t0pSecret"

    /// The bytes of every file of a store, read by another process: closing a database here would drop locks.
    private static func raw(_ store: String) async throws -> String {
        try await Shell.run("sh", "-c", "find '\(store)' -type f -exec cat {} + | tr -c '[:print:]' '\\n'")
    }

    @Test("During a download no file of the store contains credentials of the URL, its fields or the proxy")
    func secretsMidway() async throws {
        try await TemporaryFolder.with { folder in
            let headers = ["--header", "Authorization: Bearer t0pSecret", "--header", "Cookie: id=c00kie"]
            let environment: (OriginServer) -> [String: String] = { server in
                ["http_proxy": "http://proxy:pr0xyPass@127.0.0.1:\(server.port)", "no_proxy": "none.invalid"]
            }
            let url = "http://me:hunter2@files.invalid/file.bin?\(Self.query)"
            try await RunningGet.with(folder, url: { _ in url }, options: headers, environment: environment) { _ in
                let midway = try await Self.raw(folder["store"])
                #expect(midway.contains("file.bin"), "the look must find what is there")
                for secret in Self.secrets { #expect(!midway.contains(secret), "\(secret)") }
            }
            let after = try await Self.raw(folder["store"])
            for secret in Self.secrets { #expect(!after.contains(secret), "\(secret)") }
        }
    }

    @Test("After a purge nothing is left of the entry except its log line")
    func purged() async throws {
        try await Victim.with { victim in
            try await victim.sql(
                """
                UPDATE download SET url = 'http://u.example/goneURL', etag = '"goneTag"', destination = '/goneFile'
                WHERE key = 'a'; INSERT INTO event (key, at, kind, reason) VALUES ('a', 1, 'refused', 'x: goneReason');
                INSERT INTO event (key, at, kind, reason) VALUES ('b', 1, 'refused', 'x: keptReason')
                """)
            let before = try await Self.raw(victim.store)
            for text in ["goneURL", "goneTag", "goneFile", "goneReason", "keptReason"] {
                #expect(before.contains(text))
            }
            #expect(try await victim.run(["purge", "a"]).status == 0)
            let after = try await Self.raw(victim.store)
            for text in ["goneURL", "goneTag", "goneFile", "goneReason"] { #expect(!after.contains(text), "\(text)") }
            #expect(after.contains("keptReason"))
            let log = try await victim.run(["log", "a"])
            #expect(log.output.split(separator: "\n").count == 1)
            #expect(log.output.contains("purged"))
        }
    }
}
