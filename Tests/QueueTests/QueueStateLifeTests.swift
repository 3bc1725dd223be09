@testable import ResumeDownload
import Testing

/// The state machine with odd leftovers, failed records, or rows of an earlier life.
@Suite(.timeLimit(.minutes(5)))
struct QueueStateLifeTests {
    private func end(
        _ key: String, _ state: inout QueueState, _ ending: QueueState.Ending = .delivered
    ) throws -> [QueueState.Action] {
        let run = try #require(state.items[key]?.run)
        return state.ended(key, run: run.number, ending)
    }

    @Test("Two that an earlier process left at one position are ordered one after the other")
    func samePosition() throws {
        var state = QueueState(maximumRunning: 1)
        for key in ["a", "b", "c"] { state.restore(.init(key, to: "/\(key)"), rank: 7, isPaused: false, isReady: true) }
        _ = state.supply(["a", "b", "c"].map { ($0, "/\($0)") })
        var order: [String] = []
        while let key = state.running.first, order.count < 4 {
            order.append(key)
            _ = try end(key, &state)
        }
        #expect(order == ["c", "b", "a"])
        #expect(state.isIdle && state.items.isEmpty)
    }

    @Test("A request for a download being dropped that cannot be recorded does not block the drop")
    func rejectedWhileDropped() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/1", caller: 1)])
        #expect(state.cancel("a", .discardingPartial) == [.answer([1], .cancelled), .stop("a")])
        _ = state.add([.init("a", to: "/2", caller: 2)])
        let rejected = try #require(state.items["a"]?.deliveries.map(\.number))
        #expect(state.reject("a", Set(rejected)) == [.answer([2], .outcome)])
        #expect(try end("a", &state, .stopped) == [.drop("a")])
        #expect(state.dropped("a").isEmpty)
        #expect(state.items.isEmpty)
    }

    @Test("One of two destinations fails without a waiting caller: it stays, and is paused in the end")
    func failedDestination() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/usb"), .init("a", to: "/home")])
        _ = try end("a", &state, .failed(isOfDestination: true))
        #expect(state.items["a"]?.deliveries.map(\.destination) == ["/usb", "/home"])
        #expect(state.items["a"]?.runDestination == "/home")
        _ = try end("a", &state)
        #expect(state.items["a"]?.deliveries.map(\.destination) == ["/usb"])
        #expect(state.items["a"]?.wish == .paused)
        #expect(state.isIdle)
        _ = state.resume("a")
        #expect(state.items["a"]?.runDestination == "/usb")
    }

    @Test(
        "A delivery that cannot be recorded affects neither the others nor another item's run", arguments: [0, 1])
    func rejected(index: Int) throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/1", caller: 1), .init("a", to: "/2", caller: 2)])
        let number = try #require(state.items["a"]?.deliveries[index].number)
        let actions = state.reject("a", [number])
        #expect(actions == (index == 0 ? [.answer([1], .outcome), .stop("a")] : [.answer([2], .outcome)]))
        if index == 0 { _ = try end("a", &state, .stopped) }
        #expect(state.items["a"]?.runDestination == (index == 0 ? "/2" : "/1"))
        #expect(state.reject("a", [number]).isEmpty, "it is gone")
        let last = try #require(state.items["a"]?.deliveries.first?.number)
        #expect(state.reject("a", [last]).contains(.stop("a")))
        _ = try end("a", &state, .stopped)
        #expect(state.items.isEmpty)
    }

    @Test("A run answers only the callers of its delivery, not those that asked again after it was abandoned")
    func formerLife() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/1", caller: 1)])
        let first = try #require(state.items["a"]?.deliveries.first?.number)
        _ = state.leave(1, of: "a")
        _ = state.add([.init("a", to: "/1", caller: 2)])
        let second = try #require(state.items["a"]?.deliveries.first?.number)
        #expect(second != first)
        #expect(try end("a", &state).map(\.isStart) == [true])
        #expect(state.items["a"]?.run?.delivery == second)
        #expect(try end("a", &state) == [.answer([2], .outcome)])
        #expect(state.items.isEmpty)
    }

    @Test("A failure of a replaced request is reported only to the callers that waited for it")
    func outdated() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([
            .init("a", to: "/1", caller: 1), .init("a", to: "/2", caller: 2), .init("a", to: "/3", caller: 3),
        ])
        _ = state.add([.init("a", to: "/1", caller: 4)])
        let numbers = try #require(state.items["a"]?.deliveries.map(\.number))
        let actions = try end("a", &state, .failed(isOfDestination: false, sparing: [numbers[0], numbers[1]]))
        #expect(actions.first == .answer([1, 3], .outcome))
        #expect(state.items["a"]?.deliveries.map(\.callers) == [[4], [2]])
        #expect(state.items["a"]?.run?.callers == [4])
        #expect(try end("a", &state, .failed(isOfDestination: false)) == [.answer([2, 4], .outcome)])
        #expect(state.items.isEmpty)
    }

    @Test("So is a delivery that does not answer the newer request, which runs again for the others")
    func outdatedDelivery() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/1", caller: 1), .init("a", to: "/2", caller: 2)])
        _ = state.add([.init("a", to: "/1", caller: 3)])
        let actions = try end("a", &state, .outdated)
        #expect(actions.first == .answer([1], .outcome))
        #expect(state.items["a"]?.run?.callers == [3])
        #expect(try end("a", &state).first == .answer([3], .outcome))
        // Without any other caller there is nothing to run for.
        #expect(try end("a", &state, .outdated) == [.answer([2], .outcome)])
        #expect(state.items.isEmpty)
    }
}

extension QueueState.Action {
    fileprivate var isStart: Bool { if case .start = self { true } else { false } }
}
