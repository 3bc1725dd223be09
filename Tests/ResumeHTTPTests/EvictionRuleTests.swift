import ResumeHTTP
import Testing

/// Which entries may be removed to make room, in which order, and how many bytes may arrive.
struct EvictionRuleTests {
    private static let day: Int64 = 86_400_000

    @Test("get removes what is superseded, unused for a day, or an unfinished job unused for seven")
    func stale() {
        let cases: [(EvictionRule.Group, Int64, Bool)] = [
            (.unused, Self.day - 1000, false), (.unused, Self.day + 1000, true), (.job, Self.day + 1000, false),
            (.job, 7 * Self.day - 1000, false), (.job, 7 * Self.day + 1000, true), (.paused, 400 * Self.day, false),
            (.superseded, 0, true),
            // The clock was set back.
            (.unused, -Self.day, false), (.job, .min, false),
        ]
        for (group, time, isRemoved) in cases {
            #expect(EvictionRule.stale.removes(group, unusedFor: time) == isRemoved, "\(group) \(time)")
            #expect(EvictionRule.staleWithinLimit.removes(group, unusedFor: time) == isRemoved, "\(group) \(time)")
            #expect(EvictionRule.leastRecentlyUsed.removes(group, unusedFor: time))
        }
        #expect(EvictionRule.Group.allCases == [.superseded, .unused, .job, .paused])
        #expect(!EvictionRule.leastRecentlyUsed.isBinding && !EvictionRule.stale.isBinding)
        #expect(EvictionRule.staleWithinLimit.isBinding)
    }

    @Test("Room is made for the bytes that arrive next, however many are announced")
    func steps() {
        let announced = SpaceDecision(.leastRecentlyUsed, left: 1 << 30, free: 1 << 40, rest: 15 << 30)
        #expect(announced.deficit == 0 && announced.missing <= 0)
        #expect(announced.refusal == nil && announced.allowed == 64 << 20)
        let full = SpaceDecision(.leastRecentlyUsed, left: 0, free: 1 << 40, rest: 1 << 30)
        #expect(full.deficit == 64 << 20 && full.refusal == nil)
        // The rest is less than a step.
        #expect(SpaceDecision(.leastRecentlyUsed, left: 0, free: 1 << 40, rest: 1000).deficit == 1000)
        // A copy arrives at once.
        let copy = SpaceDecision(.stale, left: 0, free: 1 << 40, rest: 1 << 30, wanted: 1 << 30)
        #expect(copy.deficit == 1 << 30)
    }

    @Test("A dozen processes that take at the same time what a binding limit leaves do not pass it")
    func shared() {
        for left in [Int64(10) << 20, 1 << 30, 1 << 40] {
            let decision = SpaceDecision(.staleWithinLimit, left: left, free: .max, rest: .max, wanted: .max)
            #expect(decision.allowed > 0 && decision.allowed <= left / 12)
        }
    }

    @Test("Only a binding limit refuses; the disk always does")
    func refusals() {
        let over = SpaceDecision(.stale, left: -99_000, free: 1 << 30, rest: 50_000)
        #expect(over.missing <= 0 && over.refusal == nil && over.allowed == 50_000)
        let bound = SpaceDecision(.staleWithinLimit, left: 40_000, free: 1 << 30, rest: 50_000)
        #expect(bound.excess == 10_000 && bound.missing == 10_000)
        // Those that run will receive their rest, too.
        let beside = SpaceDecision(.staleWithinLimit, left: 100_000, free: 1 << 30, rest: 50_000, others: 60_000)
        #expect(beside.excess == 10_000)
        #expect(SpaceDecision(.staleWithinLimit, left: 0, free: 1 << 30, rest: 1).refusal == .limit)
        #expect(SpaceDecision(.staleWithinLimit, left: 0, free: 1 << 30, rest: nil).refusal == .limit)
        // The announced rest of others is theirs.
        let reserved = SpaceDecision(.staleWithinLimit, left: 8 << 20, free: 1 << 30, rest: nil, others: 8 << 20)
        #expect(reserved.refusal == .limit)
        for rule in [EvictionRule.leastRecentlyUsed, .stale, .staleWithinLimit] {
            #expect(SpaceDecision(rule, left: 1 << 40, free: 50_000, rest: 50_001).missing == 1)
            let fits = SpaceDecision(rule, left: 1 << 40, free: 50_000, rest: 50_000)
            #expect(fits.missing <= 0 && fits.refusal == nil)
            // A body without a length leaves room for the database.
            #expect(SpaceDecision(rule, left: 1 << 40, free: 1 << 20, rest: nil).refusal == .disk)
            #expect(SpaceDecision(rule, left: 1 << 40, free: 0, rest: 0).refusal == nil)
        }
    }

    @Test("A body without a length never passes a binding limit, and always gets further until then")
    func growth() {
        let limit: Int64 = 16 << 20
        var held: Int64 = 0
        while true {
            let next = SpaceDecision(.staleWithinLimit, left: limit - held, free: 1 << 40, rest: nil)
            guard next.refusal == nil else { break }
            #expect(next.allowed > 0)
            // The last part of a body may be longer than what was permitted.
            held += next.allowed + (256 << 10) - 1
            #expect(held <= limit)
        }
        #expect(held > limit / 2)
    }

    @Test("Numbers that no disk and no limit has cause no overflow")
    func extremes() {
        for rule in [EvictionRule.leastRecentlyUsed, .stale, .staleWithinLimit] {
            for number in [Int64.min, -1, 0, 1, .max] {
                for rest in [nil, Int64.min, 0, .max] {
                    let decision = SpaceDecision(
                        rule, left: number, free: number, rest: rest, others: number, wanted: number)
                    #expect(decision.deficit >= 0 && decision.excess >= 0)
                    #expect(decision.refusal != nil || decision.allowed >= 0)
                }
            }
        }
    }
}
