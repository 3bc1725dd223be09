import FaultInjection
import Foundation
import OriginServer
import TestSupport
import Testing

/// The check whether a destination is writable, in a way that leaves no trace after a kill.
@Suite(.timeLimit(.minutes(5)), .enabled(if: FaultShim.isAvailable, "needs a C compiler and Linux"))
struct ProbeTests {
    @Test("No named file is created beside the destination before there is something to deliver")
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
