import Dispatch
import ResumeFiles
import ResumeHTTP
import ResumeMaintenance
import ResumeSQLite
import TestSupport
import Testing

@testable import ResumeStore

/// Long reads run alongside what transfers read and write.
@Suite(.timeLimit(.minutes(5)))
struct SurveyTests {
    private static func withStore(_ body: (DownloadStore, TemporaryFolder) async throws -> Void) async throws {
        try await DownloadStore.with { store, folder in
            try await CollectorTests.put("a", 1000, into: store)
            try await body(store, folder)
        }
    }

    @Test("A survey delays no commit, and sees one state of the database")
    func beside() async throws {
        try await Self.withStore { store, _ in
            let (reached, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let survey = Task {
                try await store.survey { connection in
                    let before = try connection.count("SELECT count(*) FROM event")
                    reached.signal()
                    let isFree = gate.wait(timeout: .now() + 120) == .success
                    return (before, try connection.count("SELECT count(*) FROM event"), isFree)
                }
            }
            try await Blocking.run { reached.wait() }
            let reason = Reason(code: "test", text: "test")
            try await store.record(.refused, key: "key", reason: reason)
            gate.signal()
            let (before, after, isFree) = try await survey.value
            #expect(isFree, "the commit waited for it")
            #expect(before == after)
            #expect(try await store.events(for: "key").count == 1)
        }
    }

    @Test("Without a connection a survey takes its turn; after the store is closed it fails")
    func without() async throws {
        try await Self.withStore { store, folder in
            try await Shell.run("mv", folder["store"], folder["moved"])
            #expect(try await store.entries().map(\.receivedBytes) == [1000])
            #expect(try await store.verify().isEmpty)
            try await Shell.run("mv", folder["moved"], folder["store"])
            await store.close()
            await #expect(throws: StoreError.self) { try await store.entries() }
        }
    }
}
