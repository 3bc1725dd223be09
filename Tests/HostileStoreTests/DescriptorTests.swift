#if os(Linux)
import Foundation
import OriginServer
import TestSupport
import Testing

/// Programs that a process starts during a download inherit none of its descriptors.
@Suite(.timeLimit(.minutes(20)))
struct DescriptorTests {
    private let servers = Servers()

    @Test("During a download every file and event descriptor is close-on-exec")
    func closedOnExec() async throws {
        try await TemporaryFolder.with { folder in
            try await RunningGet.with(folder, url: { $0.baseURL + "/a" }) { process in
                let place = "/proc/\(process.processIdentifier)"
                var targets: [String] = []
                for name in try Files.names(in: "\(place)/fdinfo") where !["0", "1", "2"].contains(name) {
                    guard
                        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(place)/fd/\(name)"),
                        let info = try? String(contentsOfFile: "\(place)/fdinfo/\(name)", encoding: .utf8)
                    else { continue }
                    let line = info.split(separator: "\n").first { $0.hasPrefix("flags:") }
                    let flags = line?.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0, radix: 8) }
                    targets.append(target)
                    // SwiftNIO creates these without the flag (2.100) and gives no access to them. They refer to no
                    // file.
                    if target.hasPrefix("socket:") || target.contains("eventpoll") { continue }
                    #expect((flags ?? 0) & 0o2000000 != 0, "\(name) \(target)")
                }
                // The check must have found all of them.
                for part in [
                    "store.sqlite", "store.sqlite-wal", "lock", "leases", "waiters", "blobs/", "eventfd", "timerfd",
                ] {
                    #expect(targets.contains { $0.contains(part) }, "\(part) in \(targets)")
                }
            }
        }
    }

    @Test(
        "With fewer descriptors than a download needs, each command reports it; a soft limit is raised",
        arguments: [("-n 10", 74), ("-n 18", 74), ("-n 63", 74), ("-S -n 10", 0), ("-n 64", 0)])
    func limit(ulimit: String, status: Int32) async throws {
        try await expect(status, after: "ulimit \(ulimit)")
    }

    /// Runs commands in a shell after what limits its descriptors; only a failure of theirs mentions the limit.
    private func expect(_ status: Int32, after limit: String) async throws {
        let server = try await servers.serve { .file(Victim.resource, for: $0) }
        try await Victim.with { victim in
            for command in [["list"], ["get", server.baseURL + "/a", "--key", "a", "-o", victim.folder["out"]]] {
                let outcome = try await Shell.outcome(
                    "bash", ["-c", "\(limit) && exec \"$0\" \"$@\"", Resumectl.path] + command,
                    environment: ["RESUMECTL_STORE": victim.store, "no_proxy": "127.0.0.1"])
                #expect(outcome.status == status, "\(command): \(outcome.errors)")
                #expect(outcome.errors.contains("ulimit -n") == (status != 0), "\(outcome.errors)")
            }
        }
    }

    /// A list of different URLs.
    private static func list(_ count: Int, from server: OriginServer, in folder: TemporaryFolder) throws -> String {
        let lines = (0..<count).map { "\(server.baseURL)/file\($0)\n" }
        try Files.write(Array(lines.joined().utf8), to: folder["list"])
        return folder["list"]
    }

    @Test(
        "The number of threads fits the descriptor limit; if it is too low for the downloads, get says so",
        arguments: [("-n 100", 64, 74), ("-n 400", 64, 74), ("-n 600", 64, 0), ("-n 128", 8, 0)])
    func threads(ulimit: String, downloads: Int, status: Int32) async throws {
        let server = try await servers.serve { .file(Victim.resource, for: $0) }
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", folder["out"])
            let list = try Self.list(64, from: server, in: folder)
            let get = ["get", "-j", "\(downloads)", "-i", list, "-P", folder["out"], "--quiet"]
            let outcome = try await Shell.outcome(
                "bash", ["-c", "ulimit \(ulimit) && exec \"$0\" \"$@\"", Resumectl.path] + get,
                environment: ["RESUMECTL_STORE": folder["store"], "no_proxy": "127.0.0.1"])
            #expect(outcome.status == status, "\(outcome.errors)")
            #expect(outcome.errors.contains("--max-concurrent") == (status != 0), "\(outcome.errors)")
            #expect(try Files.names(in: folder["out"]).count == (status == 0 ? 64 : 0))
        }
    }

    @Test("Descriptors that the parent process left open count", arguments: [(30, 0), (60, 74)])
    func inherited(count: Int, status: Int32) async throws {
        let open = "for n in $(seq 10 \(9 + count)); do eval \"exec $n</dev/null\"; done"
        try await expect(status, after: "\(open); ulimit -n 100")
    }
}
#endif
