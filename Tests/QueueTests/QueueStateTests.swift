@testable import ResumeDownload
import ResumeHTTP
import Testing

/// The scheduling as a pure value.
@Suite(.timeLimit(.minutes(5)))
struct QueueStateTests {
    typealias Action = QueueState.Action

    private func started(_ actions: [Action]) -> [String] {
        actions.compactMap { if case .start(let key) = $0 { key } else { nil } }
    }

    private func stopped(_ actions: [Action]) -> [String] {
        actions.compactMap { if case .stop(let key) = $0 { key } else { nil } }
    }

    /// Ends the run of an item.
    private func end(
        _ key: String, _ state: inout QueueState, _ ending: QueueState.Ending = .delivered
    ) throws -> [Action] {
        let run = try #require(state.items[key]?.run)
        return state.ended(key, run: run.number, ending)
    }

    /// Ends the running items one by one, and returns what was started in turn.
    private func drain(_ state: inout QueueState) throws -> [String] {
        var order: [String] = []
        while let key = state.running.first { order += started(try end(key, &state)) }
        return order
    }

    @Test("Last in, first out; first in, first out; priorities before both", arguments: [true, false])
    func order(isStack: Bool) throws {
        var state = QueueState(order: isStack ? .lastInFirstOut : .firstInFirstOut, maximumRunning: 1)
        #expect(started(state.add([.init("a", to: "/a")])) == ["a"])
        let additions = ["b", "c", "d"].map { QueueState.Addition($0, to: "/\($0)") }
        #expect(started(state.add(additions)).isEmpty)
        _ = state.add([.init("low", to: "/low", priority: .low), .init("high", to: "/high", priority: .veryHigh)])
        #expect(try drain(&state) == ["high"] + (isStack ? ["d", "c", "b"] : ["b", "c", "d"]) + ["low"])
        #expect(state.isIdle && state.items.isEmpty)
    }

    @Test("A batch is accepted completely before any of it starts")
    func batch() {
        var state = QueueState(maximumRunning: 2)
        #expect(started(state.add(["a", "b", "c"].map { .init($0, to: "/\($0)") })) == ["c", "b"])
    }

    @Test("First in, first out: a further request keeps its place; it may raise the priority, never lower it")
    func joining() throws {
        var state = QueueState(order: .firstInFirstOut, maximumRunning: 1)
        _ = state.add(["a", "b", "c"].map { .init($0, to: "/\($0)") })
        _ = state.add([.init("c", to: "/c", caller: 1)])
        #expect(state.waiting == ["b", "c"])
        _ = state.add([.init("c", to: "/c", caller: 2, priority: .high)])
        _ = state.add([.init("c", to: "/c", caller: 3, priority: .veryLow)])
        #expect(state.waiting == ["c", "b"])
        #expect(state.items["c"]?.place.priority == .high)
    }

    @Test("A forced download starts when all others have stopped, and they resume after it in order")
    func forced() throws {
        var state = QueueState(maximumRunning: 3)
        _ = state.add(["a", "b", "c", "d"].map { .init($0, to: "/\($0)") })
        #expect(state.running == ["d", "c", "b"])
        let actions = state.add([.init("f", to: "/f", isExclusive: true)])
        #expect(Set(stopped(actions)) == ["d", "c", "b"])
        #expect(started(actions).isEmpty)
        for key in ["d", "c"] { #expect(started(try end(key, &state, .stopped)).isEmpty) }
        #expect(!state.isIdle, "the others are to go on")
        #expect(started(try end("b", &state, .stopped)) == ["f"])
        #expect(state.waiting == ["d", "c", "b", "a"])
        #expect(started(state.add([.init("g", to: "/g")])).isEmpty, "nothing beside a forced one")
        #expect(started(try end("f", &state)) == ["g", "d", "c"])
    }

    @Test("A small file that has been received frees its slot, and is not stopped for a lower limit")
    func received() throws {
        var state = QueueState(order: .firstInFirstOut, maximumRunning: 2)
        _ = state.add(["a", "b", "c", "d"].map { .init($0, to: "/\($0)") })
        #expect(state.running == ["a", "b"])
        let run = try #require(state.items["a"]?.run?.number)
        state.slots.pause(run + 9)
        #expect(state.schedule().isEmpty)
        state.slots.pause(run)
        #expect(started(state.schedule()) == ["c"])
        #expect(state.schedule().isEmpty)
        _ = state.setMaximumRunning(1)
        #expect(state.items["a"]?.run?.isStopping == false && state.items["c"]?.run?.isStopping == true)
        #expect(try end("a", &state, .delivered).isEmpty)
        _ = try end("c", &state, .stopped)
        #expect(started(try end("b", &state, .delivered)) == ["c"])
    }

    @Test("A forced download that is paused, cancelled or fails blocks no other", arguments: 0..<4)
    func forcedEnds(way: Int) throws {
        var state = QueueState(maximumRunning: 2)
        _ = state.add([.init("f", to: "/f", caller: 1, isExclusive: true), .init("a", to: "/a")])
        #expect(state.running == ["f"])
        switch way {
        case 0: _ = state.pause("f")
        case 1: _ = state.cancel("f", .keepingPartial)
        case 2: _ = state.leave(1, of: "f")
        default: break
        }
        let actions = try end("f", &state, way == 3 ? .failed(isOfDestination: false) : .stopped)
        #expect(started(actions).contains("a") || state.running.contains("a"))
        #expect(state.forced != "f")
    }

    @Test("Every caller of each destination is answered at its delivery, one run after the other")
    func destinations() throws {
        var state = QueueState(maximumRunning: 2)
        _ = state.add([.init("a", to: "/1", caller: 1)])
        #expect(started(state.add([.init("a", to: "/2", caller: 2), .init("a", to: "/1", caller: 3)])).isEmpty)
        let first = try end("a", &state)
        #expect(first.contains(.answer([1, 3], .outcome)))
        #expect(started(first) == ["a"])
        #expect(try end("a", &state).contains(.answer([2], .outcome)))
        #expect(state.items.isEmpty)
    }

    @Test("A failure goes to all callers; that of a destination only to its own callers")
    func failures() throws {
        var state = QueueState()
        _ = state.add([.init("a", to: "/1", caller: 1), .init("a", to: "/2", caller: 2)])
        let own = try end("a", &state, .failed(isOfDestination: true))
        #expect(own.contains(.answer([1], .outcome)))
        #expect(state.items["a"]?.runDestination == "/2")
        _ = state.add([.init("a", to: "/3", caller: 3)])
        #expect(try end("a", &state, .failed(isOfDestination: false)).contains(.answer([2, 3], .outcome)))
        #expect(state.items.isEmpty)
    }

    @Test("A download that fails without a waiting caller stays, paused")
    func failedAlone() throws {
        var state = QueueState()
        _ = state.add([.init("a", to: "/a")])
        _ = try end("a", &state, .failed(isOfDestination: false))
        #expect(state.items["a"]?.wish == .paused)
        #expect(state.isIdle)
        #expect(started(state.resume("a") ?? []) == ["a"])
    }

    @Test("Permanent failures without a waiting caller are retried only when resumed or requested again")
    func failedForGood() throws {
        let reason = Reason(code: "status-404", text: "not there")
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/1"), .init("a", to: "/2")])
        _ = try end("a", &state, .failed(isOfDestination: true, forGood: reason))
        #expect(state.items["a"]?.runDestination == "/2", "the other destination has its turn")
        #expect(state.items["a"]?.deliveries.map(\.failure) == [reason, nil])
        _ = try end("a", &state, .failed(isOfDestination: true, forGood: reason))
        #expect(state.items["a"]?.wish == .failed && state.isIdle)
        #expect(state.pause("a") == nil && state.resumeAll().isEmpty)
        #expect(started(state.add([.init("a", to: "/3")])) == ["a"])
        #expect(state.items["a"]?.runDestination == "/3")
        _ = try end("a", &state)
        #expect(state.items["a"]?.wish == .failed)
        #expect(started(state.resume("a") ?? []) == ["a"])
        #expect(state.items["a"]?.deliveries.map(\.failure) == [nil, nil])
        // A temporary failure leaves it paused.
        _ = try end("a", &state, .failed(isOfDestination: true, forGood: reason))
        _ = try end("a", &state, .failed(isOfDestination: true))
        #expect(state.items["a"]?.wish == .paused)
        #expect(started(state.resumeAll()) == ["a"])
        #expect(state.items["a"]?.runDestination == "/2")
    }

    @Test("A caller gets a permanent failure, and nothing stays")
    func failedForGoodWithCaller() throws {
        let reason = Reason(code: "status-404", text: "not there")
        var state = QueueState()
        _ = state.add([.init("a", to: "/a", caller: 1)])
        #expect(try end("a", &state, .failed(isOfDestination: false, forGood: reason)) == [.answer([1], .outcome)])
        #expect(state.items.isEmpty)
    }

    @Test("A permanent failure of an earlier process stays, beside downloads that resume")
    func restoringFailed() throws {
        let reason = Reason(code: "status-404", text: "not there")
        var state = QueueState(maximumRunning: 2)
        state.restore(.init("a", to: "/1", isExclusive: true), rank: 1, isPaused: false, failure: reason, isReady: true)
        state.restore(.init("b", to: "/1"), rank: 1, isPaused: false, failure: reason, isReady: true)
        state.restore(.init("b", to: "/2"), rank: 1, isPaused: false, isReady: false)
        #expect(state.items["a"]?.wish == .failed && state.items["b"]?.wish == .restored)
        #expect(state.forced == nil)
        #expect(started(state.supply([("a", "/1"), ("b", "/1")])).isEmpty)
        #expect(state.items["b"]?.wish == .restored, "it waits for the other request")
        #expect(started(state.supply([("b", "/2")])) == ["b"])
        #expect(state.items["b"]?.runDestination == "/2")
        _ = try end("b", &state)
        #expect(state.items["b"]?.wish == .failed)
        state.restore(.init("c", to: "/1"), rank: 1, isPaused: false, failure: reason, isReady: true)
        state.restore(.init("c", to: "/2"), rank: 1, isPaused: true, isReady: true)
        #expect(state.items["c"]?.wish == .paused)
        #expect(started(state.resumeAll()) == ["c"])
        #expect(state.items["c"]?.runDestination == "/2")
    }

    @Test("A caller that leaves is answered at once; when the last one leaves, the download is cancelled softly")
    func leaving() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/a", caller: 1), .init("a", to: "/a", caller: 2)])
        #expect(state.leave(1, of: "a") == [.answer([1], .left)])
        #expect(state.leave(1, of: "a").isEmpty)
        #expect(state.items["a"]?.isRunning == true)
        #expect(state.leave(2, of: "a") == [.answer([2], .left), .stop("a")])
        #expect(state.items["a"]?.wish == .cancelled)
        // Requested again before the run has ended: it resumes afterwards.
        _ = state.add([.init("a", to: "/a", caller: 3)])
        #expect(started(try end("a", &state, .stopped)) == ["a"])
        // An item added without a waiting caller stays wanted.
        _ = state.add([.init("a", to: "/a")])
        #expect(state.leave(3, of: "a") == [.answer([3], .left)])
        #expect(state.items["a"]?.wish == .waiting)
    }

    @Test("A destination without callers is not delivered to; the others are")
    func leavingDestination() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/1", caller: 1), .init("a", to: "/2", caller: 2)])
        #expect(state.leave(1, of: "a") == [.answer([1], .left), .stop("a")])
        _ = try end("a", &state, .stopped)
        #expect(state.items["a"]?.runDestination == "/2")
    }

    @Test("Hard cancel drops when the run has ended; a request before that gets a new download afterwards")
    func dropping() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/a", caller: 1), .init("b", to: "/b")])
        #expect(state.running == ["b"], "the later one")
        #expect(state.cancel("a", .discardingPartial) == [.answer([1], .cancelled), .drop("a")])
        #expect(state.cancel("b", .discardingPartial) == [.stop("b")])
        #expect(started(state.add([.init("b", to: "/b", caller: 2)])).isEmpty)
        #expect(try end("b", &state, .stopped) == [.drop("b")])
        #expect(!state.isIdle)
        #expect(started(state.dropped("b")) == ["b"])
        #expect(state.dropped("a").isEmpty)
        #expect(state.items["a"] == nil)
        #expect(state.cancel("unknown", .discardingPartial) == nil)
    }

    @Test("Pausing one: its callers keep waiting, a further request too, a forced one does not")
    func pausing() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/a", caller: 1)])
        #expect(state.pause("a") == [.stop("a")])
        _ = try end("a", &state, .stopped)
        _ = state.add([.init("a", to: "/a", caller: 2)])
        #expect(state.running.isEmpty && state.isIdle)
        #expect(started(state.add([.init("a", to: "/a", caller: 3, isExclusive: true)])) == ["a"])
        #expect(try end("a", &state).contains(.answer([1, 2, 3], .outcome)))
        #expect(state.pause("a") == nil && state.resume("a") == nil)
    }

    @Test("Pausing all: nothing starts, and interrupted downloads resume first")
    func pausingAll() throws {
        var state = QueueState(maximumRunning: 2)
        _ = state.add(["a", "b", "c"].map { .init($0, to: "/\($0)") })
        #expect(Set(stopped(state.pauseAll())) == ["b", "c"])
        for key in ["b", "c"] { #expect(try end(key, &state, .stopped).isEmpty) }
        #expect(started(state.add([.init("d", to: "/d", isExclusive: true)])).isEmpty)
        _ = state.cancel("d", .keepingPartial)
        #expect(started(state.resumeAll()) == ["c", "b"])
    }

    @Test("Interrupted downloads resume before later requests that have not begun")
    func begunFirst() throws {
        var state = QueueState(maximumRunning: 1)
        for key in ["a", "b", "c"] { _ = state.add([.init(key, to: "/\(key)")]) }
        _ = state.pauseAll()
        _ = try end("a", &state, .stopped)
        #expect(started(state.resumeAll()) == ["a"])
        #expect(state.waiting == ["c", "b"])
    }

    @Test("A lower limit stops the last one begun; a higher one starts waiting ones")
    func limits() throws {
        var state = QueueState(maximumRunning: 3)
        _ = state.add(["a", "b", "c", "d"].map { .init($0, to: "/\($0)") })
        #expect(Set(stopped(state.setMaximumRunning(1))) == ["b", "c"])
        for key in ["b", "c"] { #expect(try end(key, &state, .stopped).isEmpty) }
        #expect(started(state.setMaximumRunning(4)) == ["c", "b", "a"])
        #expect(state.setMaximumRunning(0).count == 3)
        #expect(state.maximumRunning == 1)
    }

    @Test("Memory: softly cancelled downloads are forgotten, even if the run has yet to end")
    func memory() throws {
        var state = QueueState(maximumRunning: 2)
        _ = state.add([.init("a", to: "/a", caller: 1), .init("b", to: "/b", caller: 2), .init("c", to: "/c")])
        for key in ["a", "b"] { _ = state.cancel(key, .keepingPartial) }
        state.releaseMemory()
        #expect(state.items["a"] == nil)
        _ = try end("b", &state, .stopped)
        #expect(Set(state.items.keys) == ["c"])
    }

    @Test("Downloads of an earlier process wait for requests, in order; paused ones stay paused")
    func restoring() throws {
        var state = QueueState(maximumRunning: 2)
        for (key, rank) in [("old", 1), ("new", 9), ("secret", 5), ("paused", 7)] as [(String, Int64)] {
            state.restore(
                .init(key, to: "/\(key)"), rank: rank, isPaused: key == "paused", isReady: key != "secret")
        }
        #expect(state.isIdle)
        #expect(state.resume("secret") == nil, "there is no request for it")
        #expect(started(state.supply([("old", "/old"), ("new", "/new"), ("paused", "/paused")])) == ["new", "old"])
        #expect(started(state.add([.init("fresh", to: "/fresh")])).isEmpty)
        #expect(started(try end("new", &state)) == ["fresh"])
        #expect(state.items["secret"]?.wish == .restored)
        #expect(started(state.add([.init("secret", to: "/other", caller: 1)])).isEmpty)
        #expect(started(try end("old", &state)) == ["secret"])
        _ = try end("secret", &state)
        #expect(state.items["secret"]?.wish == .restored, "the old destination still has no request")
        #expect(state.items["paused"]?.wish == .paused)
    }

    @Test("A download forced in an earlier process runs alone, unless it was paused", arguments: [false, true])
    func restoringForced(isPaused: Bool) throws {
        var state = QueueState(maximumRunning: 2)
        state.restore(.init("old", to: "/old"), rank: 9, isPaused: false, isReady: true)
        state.restore(.init("forced", to: "/f", isExclusive: true), rank: 1, isPaused: isPaused, isReady: true)
        let actions = state.supply([("old", "/old"), ("forced", "/f"), ("gone", "/gone")])
        #expect(started(actions) == (isPaused ? ["old"] : ["forced"]))
        #expect(state.items["gone"] == nil, "it was cancelled since it was listed")
        if !isPaused { #expect(started(try end("forced", &state)) == ["old"]) }
    }

    @Test("The end of a run, or of a drop, that is already over changes nothing")
    func outdated() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/a", caller: 1)])
        let run = try #require(state.items["a"]?.run)
        for key in ["a", "gone"] {
            #expect(state.ended(key, run: run.number + 1, .delivered).isEmpty)
            #expect(state.dropped(key).isEmpty)
        }
        #expect(state.items["a"]?.isRunning == true)
        #expect(state.running == ["a"])
        #expect(state.ended("a", run: run.number, .delivered) == [.answer([1], .outcome)])
    }

    @Test("Closing answers all callers, stops everything and keeps the pending requests")
    func closing() throws {
        var state = QueueState(maximumRunning: 1)
        _ = state.add([.init("a", to: "/a", caller: 1), .init("b", to: "/b", caller: 2)])
        let actions = state.close()
        #expect(Set(actions) == [.answer([1], .closed), .answer([2], .closed), .stop("b")])
        #expect(try end("b", &state, .stopped).isEmpty)
        #expect(Set(state.items.keys) == ["a", "b"])
        #expect(state.items.values.allSatisfy { $0.wish == .waiting })
    }

    @Test("Many: a thousand come and go in order")
    func many() throws {
        var state = QueueState(maximumRunning: 4)
        let keys = (0..<1000).map { "\($0)" }
        var order = started(state.add(keys.map { .init($0, to: "/\($0)") }))
        order += try drain(&state)
        #expect(order == keys.reversed())
    }
}
