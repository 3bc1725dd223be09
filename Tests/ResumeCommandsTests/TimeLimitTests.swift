@testable import ResumeCommands
import Testing

/// `--max-time`.
@Suite(.timeLimit(.minutes(20)))
struct TimeLimitTests {
    private struct Failure: Error, Equatable {
        var text: String
    }

    @Test("What succeeds after the time counts, since a delivery cannot be cancelled")
    func late() async throws {
        let value = try await TimeLimit.run(.milliseconds(1), otherwise: Failure(text: "late")) {
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(1)) }
            return 7
        }
        #expect(value == 7)
    }

    @Test("What fails after the time is too late, and what fails before it says why")
    func failures() async throws {
        await #expect(throws: Failure(text: "late")) {
            try await TimeLimit.run(.milliseconds(1), otherwise: Failure(text: "late")) {
                try await Task.sleep(for: .seconds(86_400))
            }
        }
        await #expect(throws: Failure(text: "own")) {
            try await TimeLimit.run(.seconds(86_400), otherwise: Failure(text: "late")) {
                throw Failure(text: "own")
            }
        }
        #expect(try await TimeLimit.run(.seconds(86_400), otherwise: Failure(text: "late")) { 7 } == 7)
    }

    @Test("A cancelled task does not wait for the time")
    func cancelled() async throws {
        let task = Task {
            try await TimeLimit.run(.seconds(86_400), otherwise: Failure(text: "late")) {
                try await Task.sleep(for: .seconds(86_400))
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
