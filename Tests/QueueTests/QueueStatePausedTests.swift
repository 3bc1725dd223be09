@testable import ResumeDownload
import Testing

/// Runs that wait to try again.
@Suite(.timeLimit(.minutes(5)))
struct QueueStatePausedTests {
    @Test("A run that waits gives its place to the next item, and goes on when there is a place again")
    func place() throws {
        var state = QueueState(order: .firstInFirstOut, maximumRunning: 1)
        _ = state.add([QueueState.Addition("a", to: "a"), QueueState.Addition("b", to: "b")])
        let first = try #require(state.running.first)
        let run = try #require(state.items[first]?.run?.number)
        let started = state.pauses(first, run: run, true)
        #expect(started?.count == 1)
        #expect(state.running.count == 2)
        let early = state.pauses(first, run: run, false)
        #expect(early == nil)
        let other = try #require(state.running.first { $0 != first })
        let second = try #require(state.items[other]?.run?.number)
        _ = state.ended(other, run: second, .delivered)
        let next = state.pauses(first, run: run, false)
        #expect(next == [])
    }

    @Test("A run that waits for a place gets the next one, before items that have not begun")
    func next() throws {
        var state = QueueState(order: .firstInFirstOut, maximumRunning: 1)
        _ = state.add(["a", "b", "c", "d"].map { QueueState.Addition($0, to: $0) })
        let first = try #require(state.items["a"]?.run?.number)
        _ = state.pauses("a", run: first, true)
        #expect(state.running == ["a", "b"])
        #expect(state.pauses("a", run: first, false) == nil)
        let second = try #require(state.items["b"]?.run?.number)
        let started = state.ended("b", run: second, .delivered)
        #expect(!started.contains { if case .start = $0 { true } else { false } })
        #expect(state.pauses("a", run: first, false) == [])
        #expect(state.running == ["a"])
        // Its place is free again for the others while it waits.
        #expect(state.pauses("a", run: first, true)?.count == 1)
        #expect(state.running == ["a", "c"])
    }
}
