import ResumeHTTP
import Testing

/// What the downloads of a run learn about an origin.
@Suite(.timeLimit(.minutes(5)))
struct OriginPaceTests {
    @Test("A requested wait holds for every download of the origin, also for those that have not begun")
    func closed() {
        var pace = OriginPace()
        pace.close(until: .seconds(20))
        pace.close(until: .seconds(5))
        #expect(pace.enter(at: .seconds(19)) == .closed(until: .seconds(20)))
        #expect(!pace.mayBegin(at: .seconds(19), patience: .seconds(60)))
        #expect(pace.mayBegin(at: .seconds(20), patience: .seconds(60)))
        #expect(pace.enter(at: .seconds(20)) == .go(1))
    }

    @Test("While there is no connection, only the download that has found this tries again")
    func unreachable() {
        var pace = OriginPace()
        pace.failedToConnect(until: .seconds(20))
        #expect(!pace.mayBegin(at: .seconds(10), patience: .seconds(60)))
        guard case .go(let turn) = pace.enter(at: .seconds(10)) else { return #expect(Bool(false)) }
        pace.serves(turn)
        #expect(pace.mayBegin(at: .seconds(10), patience: .seconds(60)))
    }

    @Test("A21: an origin that refuses a request while it serves others gets no more than those")
    func crowded() {
        var pace = OriginPace()
        let turns = (0..<3).compactMap { _ in if case .go(let turn) = pace.enter(at: .zero) { turn } else { nil } }
        #expect(turns.count == 3)
        pace.serves(turns[0])
        pace.serves(turns[1])
        #expect(pace.refuse(turns[2]) == true)
        pace.leave(turns[2])
        #expect(pace.enter(at: .zero) == .full)
        #expect(!pace.mayBegin(at: .zero, patience: .seconds(60)))
        pace.leave(turns[0])
        #expect(pace.mayBegin(at: .zero, patience: .seconds(60)))
        #expect(pace.enter(at: .zero) == .go(4))
        #expect(pace.enter(at: .zero) == .full)
    }

    @Test("A refusal while nothing else is served has another reason, and lifts the limit")
    func alone() {
        var pace = OriginPace()
        guard case .go(let first) = pace.enter(at: .zero), case .go(let second) = pace.enter(at: .zero) else { return }
        pace.serves(first)
        #expect(pace.refuse(second) == true)
        pace.leave(second)
        #expect(!pace.isOpen)
        pace.leave(first)
        guard case .go(let third) = pace.enter(at: .zero) else { return #expect(Bool(false)) }
        pace.serves(third)
        #expect(pace.refuse(third) == false, "its own request is no other")
        #expect(pace.isOpen)
    }

    @Test("A21: the other may end while a refusal is on its way", arguments: [false, true])
    func overlapped(hasLeft: Bool) {
        var pace = OriginPace()
        guard case .go(let first) = pace.enter(at: .zero), case .go(let second) = pace.enter(at: .zero) else { return }
        pace.serves(first)
        pace.leave(first)
        #expect(pace.refuse(first) == nil, "the second has no answer yet")
        if hasLeft { pace.leave(second) }
        if hasLeft { #expect(pace.join(again: second) == second, "as when its response is handed over") }
        #expect(pace.refuse(second) == true)
        pace.leave(second)
        guard case .go(let third) = pace.enter(at: .zero) else { return #expect(hasLeft == false) }
        #expect(pace.refuse(third) == false, "nothing was served since it began")
    }

    @Test("A21: while another request has no answer, a refusal may be due to it", arguments: [false, true])
    func undecided(isServed: Bool) {
        var pace = OriginPace()
        guard case .go(let first) = pace.enter(at: .zero), case .go(let second) = pace.enter(at: .zero) else { return }
        #expect(pace.refuse(second) == nil)
        if isServed {
            pace.serves(first)
            #expect(pace.refuse(second) == true)
        } else {
            // Both are refused, so neither waits for the other.
            #expect(pace.refuse(first) == false)
            #expect(pace.refuse(second) == false)
        }
    }
}
