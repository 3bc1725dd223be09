import OriginServer
@testable import ResumeCommands
import Synchronization
import TestSupport
import Testing

/// Files of a list that fail for now.
@Suite(.timeLimit(.minutes(5)))
struct PostponedTests {
    private let home = Home()

    /// Serves two files, the first of which fails a number of times.
    private static func handler(failing count: Int) -> @Sendable (OriginRequest) -> Response {
        let failures = Counter()
        return { request in
            guard request.path == "/a", failures.next() <= count else { return .file(Sample.resource, for: request) }
            return .status("503 Service Unavailable")
        }
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)
        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    private func get(_ server: OriginServer, retries: String) async -> Outcome {
        await home.run(
            "get", "\(server.baseURL)/a", "\(server.baseURL)/b", "-P", home["files"], "-j", "1", "--retries", retries)
    }

    @Test("What failed for now is tried once more after the others, and is no failure if that succeeds")
    func again() async throws {
        let server = try await home.serve(Self.handler(failing: 2))
        let outcome = await get(server, retries: "1").expect(.success)
        #expect(server.requests.map(\.path) == ["/a", "/a", "/b", "/a"])
        #expect(outcome.errors.contains("It is tried once more after the other downloads."))
    }

    @Test("Without retries it is not tried again, and it counts as one failure")
    func fails() async throws {
        let server = try await home.serve(Self.handler(failing: 1000))
        let outcome = await get(server, retries: "0").expect(.tryAgain)
        #expect(server.requests.map(\.path) == ["/a", "/b"])
        #expect(outcome.errors.contains("1 of 2 downloads did not complete"))
    }
}
