import Foundation
import OriginServer
import TestSupport
import Testing

/// The program during a download whose origin has stalled.
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
                Resumectl.path, ["get", url(server), "--output", folder["out"], "--stall-timeout", "600"] + options,
                environment: variables.merging(environment(server)) { $1 }, output: folder["said"])
            do {
                try await wait(for: "200,000 bytes to be held", while: process) {
                    let list = try await Shell.outcome(Resumectl.path, ["list", "--json"], environment: variables)
                    return list.output.contains("\"receivedBytes\":200000")
                }
            } catch {
                throw Shell.Failure(
                    description: "\(error): \(String(decoding: try Files.bytes(folder["said"]), as: UTF8.self))")
            }
            try await body(process)
            process.send(SIGKILL)
            await process.wait()
        }
    }
}
