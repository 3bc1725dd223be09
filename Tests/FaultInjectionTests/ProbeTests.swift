import FaultInjection
import Foundation
import OriginServer
import TestSupport
import Testing

/// Whether a destination can be written is found out in such a way that no death leaves a trace of it.
@Suite(.timeLimit(.minutes(5)), .enabled(if: FaultShim.isAvailable, "needs a C compiler and Linux"))
struct ProbeTests {
    @Test("No file with a name is made beside the destination before there is something to deliver")
    func unnamed() async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            let environment = try await FaultShim.environment(
                roots: [folder.path], rules: "open@.resumectl:killafter;link:kill")
            try await OriginServer.withServer(
                handler: { .file(Resource(Content(length: 1000, seed: 1), etag: "\"v1\""), for: $0) },
                { server in
                    let outcome = try await Shell.outcome(
                        Resumectl.path, ["get", "\(server.baseURL)/file", "--output", folder["out"]],
                        environment: program.environment.merging(environment) { $1 })
                    #expect(outcome.status == 128 + SIGKILL, "\(outcome.errors)")
                    #expect(server.requests.count == 1, "it came as far as the delivery")
                })
            #expect(try Files.names(in: folder.path) == ["store"])
        }
    }
}
