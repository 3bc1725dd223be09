import ResumeDownload
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
}
