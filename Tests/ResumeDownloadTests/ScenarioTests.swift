import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeMaintenance
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// A cut, an odd answer, an honest answer: never wrong bytes, never poisoned, never stuck.
@Suite(.timeLimit(.minutes(10)), .eachTransportAndHTTP2)
struct ScenarioTests {
    @Test("In one process", arguments: Scenario.all)
    func oneProcess(_ scenario: Scenario) async throws {
        try await TemporaryFolder.with { folder in
            try await OriginServer.withServer(handler: { .file(.old, for: $0, cutAfter: Scenario.held) }) { server in
                let url = server.baseURL + "/file"
                let store = try await DownloadStore.open(at: folder["store"])
                try await first(url, folder, store)
                server.setHandler(scenario.odd)
                let before = server.requests.count
                let delivered = try await second(scenario, url, folder, store)
                #expect(server.requests.count - before <= 12)
                server.setHandler { .file(scenario.truth, for: $0) }
                if !delivered {
                    let result = try await Engine.get(url, to: folder["out"], store: store)
                    #expect(result.totalBytes == scenario.truth.content.length)
                    try check(folder, scenario.truth)
                }
                #expect(try await store.entries().isEmpty)
                #expect(try await store.verify().isEmpty)
                await store.close()
            }
        }
    }

    private func first(_ url: String, _ folder: TemporaryFolder, _ store: DownloadStore) async throws {
        await #expect(throws: DownloadError.self) {
            try await Engine.get(url, to: folder["out"], store: store) { $0.retryPolicy.retries = 0 }
        }
        #expect(try await store.entries().first?.receivedBytes == Scenario.held)
    }

    /// - Returns: Whether the file was delivered.
    private func second(
        _ scenario: Scenario, _ url: String, _ folder: TemporaryFolder, _ store: DownloadStore
    ) async throws -> Bool {
        // Over HTTP/2, the gateway turns a response that is not HTTP/1 at all into a 502.
        let isSure = !["F07", "F17"].contains(scenario.id) || TransportKind.current == .curl
        do {
            _ = try await Engine.get(url, to: folder["out"], store: store) { request in
                request.retryPolicy = RetryPolicy(retries: 2, time: .seconds(3), firstDelay: .milliseconds(100))
                if scenario.isSilent { request.stallTimeout = .milliseconds(700) }
            }
            #expect(scenario.ending == .delivers || !isSure, "over \(TransportKind.current)")
            try check(folder, scenario.truth)
            return true
        } catch let error as DownloadError {
            #expect(scenario.ending == .fails || !isSure, "\(error)")
            #expect(!Files.exists(folder["out"]))
            return false
        }
    }

    private func check(_ folder: TemporaryFolder, _ truth: Resource) throws {
        let bytes = try Files.bytes(folder["out"])
        let isRight = truth.content.matches(bytes) && Int64(bytes.count) == truth.content.length
        #expect(isRight)
    }
}
