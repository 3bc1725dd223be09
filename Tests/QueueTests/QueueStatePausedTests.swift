@testable import ResumeDownload
import Testing

/// Runs that wait to try again, or for their host.
@Suite(.timeLimit(.minutes(5)))
struct QueueStatePausedTests {
    private func run(_ key: String, _ state: QueueState) throws -> Int64 { try #require(state.items[key]?.run?.number) }

    @Test("A run that waits for a place gets the next one, before items that have not begun")
    func next() throws {
        var state = QueueState(order: .firstInFirstOut, maximumRunning: 1)
        _ = state.add(["a", "b", "c", "d"].map { QueueState.Addition($0, to: $0) })
        let first = try run("a", state)
        #expect(state.slots.start(first, at: "h", mayBegin: true) == true)
        state.slots.pause(first)
        #expect(state.schedule() == [.start("b")])
        #expect(state.slots.start(first, at: "h", mayBegin: true) == false)
        #expect(state.ended("b", run: try run("b", state), .delivered) == [])
        #expect(state.slots.start(first, at: "h", mayBegin: true) == true)
        #expect(state.running == ["a"])
        // Its place is free again for the others while it waits.
        state.slots.pause(first)
        #expect(state.schedule() == [.start("c")])
    }

    @Test("An item waits for its host in the line, and those of other hosts run before it")
    func hosts() throws {
        var state = QueueState(order: .firstInFirstOut, maximumRunning: 3, maximumPerHost: 1)
        _ = state.add([
            .init("a1", to: "1", at: "a"), .init("a2", to: "2", at: "a"),
            .init("a3", to: "3", priority: .high, at: "a"),
            .init("b1", to: "4", at: "b"),
        ])
        #expect(state.running == ["a3", "b1"])
        #expect(state.waiting == ["a1", "a2"])
        #expect(state.ended("b1", run: try run("b1", state), .delivered).isEmpty)
        #expect(state.ended("a3", run: try run("a3", state), .delivered) == [.start("a1")])
        // A forced one runs alone, whatever its host.
        let actions = state.add([.init("f", to: "f", isExclusive: true, at: "a")])
        #expect(actions == [.stop("a1")])
        #expect(state.ended("a1", run: try run("a1", state), .stopped) == [.start("f")])
        #expect(state.ended("f", run: try run("f", state), .delivered) == [.start("a1")])
        #expect(state.ended("a1", run: try run("a1", state), .delivered) == [.start("a2")])
        _ = state.ended("a2", run: try run("a2", state), .delivered)
        #expect(state.isIdle && state.waiting.isEmpty)
    }
}
