import Foundation
import OriginServer
import Scenarios
import TestSupport
import Testing

/// A cut, an odd answer, an honest answer, each to a separate process.
///
/// The first one dies by SIGKILL.
@Suite(.timeLimit(.minutes(20)))
struct ScenarioTests {
    @Test("In processes, with SIGKILL", arguments: Scenario.all)
    func processes(_ scenario: Scenario) async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            let silent: @Sendable (OriginRequest) -> Response = {
                .file(.old, for: $0, cutAfter: Scenario.held, stall: true)
            }
            try await OriginServer.withServer(handler: silent) { server in
                let url = "\(server.baseURL)/file"
                let first = try program.start("get", url, "--output", folder["out"], "--stall-timeout", "600")
                try await wait(for: "all that is sent to be held", while: first) {
                    try await program.received() == Int(Scenario.held)
                }
                first.send(SIGKILL)
                await first.wait()

                server.setHandler(scenario.odd)
                // Only an answer that never ends should time out, however busy the machine is.
                let answer = scenario.odd(OriginRequest(fields: [("Range", "bytes=\(Scenario.asked)-")]))
                let stalls = answer.steps.contains { if case .hold = $0 { true } else { false } }
                let second = try await program.run(
                    "get", url, "--output", folder["out"], "--retries", "2", "--retry-time", "5", "--stall-timeout",
                    stalls ? "0.7" : "600")
                #expect((second.status == 0) == (scenario.ending == .delivers), "\(second.errors)")
                #expect(Files.exists(folder["out"]) == (second.status == 0))

                server.setHandler { .file(scenario.truth, for: $0) }
                if second.status != 0 {
                    let third = try await program.run("get", url, "--output", folder["out"])
                    #expect(third.status == 0, "\(third.errors)")
                }
                let bytes = try Files.bytes(folder["out"])
                #expect(scenario.truth.content.matches(bytes) && Int64(bytes.count) == scenario.truth.content.length)
                let verified = try await program.run("verify")
                #expect(verified.status == 0, "\(verified.output)")
            }
        }
    }
}
