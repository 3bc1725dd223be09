import Foundation
import OriginServer
import TestSupport
import Testing

/// The program in the middle of a download that an origin has stopped sending.
enum RunningGet {
    /// Starts it, waits until bytes are recorded, runs a body, and ends it.
    static func with(
        _ folder: TemporaryFolder, url: (OriginServer) -> String, options: [String] = [],
        environment: (OriginServer) -> [String: String] = { _ in [:] }, _ body: (ChildProcess) async throws -> Void
    ) async throws {
        let handler: @Sendable (OriginRequest) -> Response = {
            .file(Victim.resource, for: $0, cutAfter: 200_000, stall: true)
        }
        try await OriginServer.withServer(handler: handler) { server in
            let variables = ["RESUMECTL_STORE": folder["store"], "no_proxy": "127.0.0.1"]
            let process = try Shell.start(
                Resumectl.path, ["get", url(server), "--output", folder["out"]] + options,
                environment: variables.merging(environment(server)) { $1 }, output: folder["said"])
            defer { process.send(SIGKILL) }
            var isHeld = false
            for _ in 0..<1000 where !isHeld && process.isRunning {
                try await Task.sleep(for: .milliseconds(20))
                let list = try await Shell.outcome(Resumectl.path, ["list", "--json"], environment: variables)
                isHeld = list.output.contains("\"receivedBytes\":200000")
            }
            let said = String(decoding: try Files.bytes(folder["said"]), as: UTF8.self)
            try #require(isHeld, "\(said)")
            try await body(process)
            process.send(SIGKILL)
            await process.wait()
        }
    }
}
