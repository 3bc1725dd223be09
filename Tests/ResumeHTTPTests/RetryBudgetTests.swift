import HTTPTypes
@testable import ResumeHTTP
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RetryBudgetTests {
    private func waits(_ limits: RetryPolicy, jitter: Double, retryAfter: Int64? = nil) -> [Double] {
        var budget = RetryBudget(limits)
        var waits: [Double] = []
        while waits.count < 1000, let delay = budget.wait(0, retryAfter: retryAfter, jitter: jitter) {
            waits.append(delay / .seconds(1))
        }
        return waits
    }

    @Test("The defaults wait at most 0.5, 1, 2, ... seconds, at least half of that, five times")
    func defaults() {
        #expect(waits(RetryPolicy(), jitter: 1) == [0.5, 1, 2, 4, 8])
        #expect(waits(RetryPolicy(), jitter: 0) == [0.25, 0.5, 1, 2, 4])
        #expect(waits(RetryPolicy(), jitter: 0.5) == [0.375, 0.75, 1.5, 3, 6])
    }

    @Test(
        "Jitter outside 0 to 1 is clamped",
        arguments: [-1, 2, -.infinity, .infinity, .greatestFiniteMagnitude] as [Double])
    func clampedJitter(jitter: Double) {
        #expect(waits(RetryPolicy(), jitter: jitter) == waits(RetryPolicy(), jitter: jitter < 0 ? 0 : 1))
    }

    @Test("A wait is a finite number that a clock can sleep for")
    func finite() {
        let forever = Duration.seconds(Int64.max)
        var changed = RetryPolicy()
        (changed.firstDelay, changed.longestDelay) = (forever, forever)
        let broken = [
            waits(RetryPolicy(), jitter: .nan),
            waits(RetryPolicy(firstDelay: forever, longestDelay: forever), jitter: 0.5),
            waits(changed, jitter: 0.5),
        ]
        #expect(broken.allSatisfy { $0.count == RetryPolicy().retries }, "\(broken)")
        #expect(broken.allSatisfy { $0.allSatisfy { (0...86_400).contains($0) } }, "\(broken)")
    }

    @Test("Time in which a download has no place to try again is no time of failures")
    func leftOut() {
        for leavesOut in [true, false] {
            var budget = RetryBudget(RetryPolicy(retries: 1))
            let failed = { (now: Duration) in
                budget.failed(received: 0, at: RetryBudget.Moment(now: now, originWorks: true, jitter: 0))
            }
            #expect(failed(.zero) != .giveUp)
            if leavesOut { budget.leaveOut(.seconds(3600)) }
            #expect((failed(.seconds(3601)) == .giveUp) == !leavesOut)
        }
    }

    @Test("No wait exceeds the maximum, however many there were")
    func longest() {
        let waits = waits(
            RetryPolicy(retries: 200, firstDelay: .milliseconds(500), longestDelay: .seconds(30)), jitter: 1)
        #expect(waits.count == 200)
        #expect(waits.max() == 30)
        #expect(waits.suffix(190).allSatisfy { $0 == 30 })
        #expect(waits == waits.sorted())
    }

    @Test("I04: the server's requested wait is the minimum, lengthened by up to a tenth and at most a minute")
    func retryAfter() {
        #expect(waits(RetryPolicy(), jitter: 0, retryAfter: 3) == [3, 3, 3, 3, 4])
        #expect(waits(RetryPolicy(), jitter: 1, retryAfter: 3) == [3.3, 3.3, 3.3, 4, 8])
        #expect(waits(RetryPolicy(), jitter: 0.5, retryAfter: 600) == [630, 630, 630, 630, 630])
        #expect(waits(RetryPolicy(), jitter: 1, retryAfter: 900) == [960, 960, 960, 960, 960])
        #expect(waits(RetryPolicy(), jitter: 1, retryAfter: -5) == waits(RetryPolicy(), jitter: 1))
        #expect(waits(RetryPolicy(), jitter: 1, retryAfter: .min) == waits(RetryPolicy(), jitter: 1))
    }

    @Test("A server that asks to wait longer than the policy allows ends the download at once")
    func tooLong() {
        for asked in [901, 3600, ResponseTiming.RetryAfter.longest, .max] {
            #expect(waits(RetryPolicy(), jitter: 0, retryAfter: asked) == [])
        }
        #expect(waits(RetryPolicy(retries: 1, time: .seconds(7200)), jitter: 0, retryAfter: 3600) == [3600])
        #expect(waits(RetryPolicy(time: .zero), jitter: 0, retryAfter: 1) == [])
    }

    @Test("I08: 64 KiB or 1 % restore the retries and the first wait, added up over all attempts")
    func renewal() {
        let policy = RetryPolicy(retries: 2, time: .seconds(9))
        for (total, least) in [(nil, 65_536), (100 << 20, 65_536), (1_000_000, 10_000), (50, 1), (0, 1)]
            as [(Int64?, Int64)]
        {
            var budget = RetryBudget(policy)
            #expect(budget.wait(0, of: total) == .milliseconds(500))
            // Most of it came in connections before.
            budget.add(least / 2, of: total)
            #expect(!budget.hasProgressed)
            #expect(
                budget.wait(max(least - least / 2 - 1, 0), of: total)
                    == (least > 30_000 ? .milliseconds(15) : .seconds(1)))
            #expect(!budget.hasProgressed)
            #expect(budget.wait(1, of: total) == .milliseconds(500), "\(least)")
            #expect(budget.hasProgressed)
            #expect(budget.wait(0, of: total) == .seconds(1))
            #expect(budget.wait(0, of: total, at: .seconds(9)) == nil)
        }
    }

    @Test("After progress, only the time counts: none ends the download at the first failure")
    func noTime() {
        var budget = RetryBudget(RetryPolicy(retries: 5, time: .zero))
        #expect(budget.wait(0) == .milliseconds(500))
        #expect(budget.wait(1 << 20) == nil)
        var other = RetryBudget(RetryPolicy(retries: 5, time: .zero))
        #expect(other.wait(0, originWorks: true) == nil)
    }

    @Test("I08: a few bytes between failures are no progress, and it stops")
    func trickle() {
        var budget = RetryBudget(RetryPolicy(retries: 5))
        var count = 0
        while count < 100, budget.wait(10, of: 10_000_000, at: .seconds(count)) != nil { count += 1 }
        #expect(count == 5)
    }

    @Test("A16: after progress, failures go on for the policy's time and not for a number of tries")
    func outage() {
        var budget = RetryBudget(RetryPolicy(retries: 1))
        budget.add(1 << 20, of: 10 << 20)
        var (now, count) = (Duration.seconds(1000), 0)
        while count < 1000, let delay = budget.wait(0, of: 10 << 20, at: now) {
            #expect(delay <= .seconds(30))
            now += delay
            count += 1
        }
        #expect(now >= .seconds(1900) && now < .seconds(1931), "\(now)")
        // Progress begins another quarter of an hour.
        #expect(budget.wait(65_536, of: 10 << 20, at: now) == .milliseconds(15))
        #expect(budget.wait(0, of: 10 << 20, at: now + .seconds(899)) != nil)
    }

    @Test("Progress of another download of the origin gives a file the time as well, from its own first failure")
    func origin() {
        var budget = RetryBudget(RetryPolicy(retries: 1))
        #expect(budget.wait(0, at: .seconds(0), originWorks: true) != nil)
        #expect(budget.wait(0, at: .seconds(899), originWorks: true) != nil)
        #expect(budget.wait(0, at: .seconds(900), originWorks: true) == nil)
        var alone = RetryBudget(RetryPolicy(retries: 1))
        #expect(alone.wait(0) != nil)
        #expect(alone.wait(0) == nil)
    }

    @Test("No retries means none, whatever the progress")
    func none() {
        var none = RetryBudget(RetryPolicy(retries: 0))
        #expect(none.wait(20_000_000, originWorks: true) == nil)
        #expect(none.wait(0, retryAfter: 1) == nil)
    }

    @Test("After more than 16 KiB the next try follows within 15 ms, unless the server asks for more")
    func enough() {
        var budget = RetryBudget()
        for jitter in [0, 0.5, 1] {
            #expect(budget.wait(16385, jitter: jitter) == .milliseconds(15))
        }
        #expect(budget.wait(.max, retryAfter: 3, jitter: 0) == .seconds(3))
        #expect(budget.wait(16384) == .seconds(1), "no progress by itself")
        var short = RetryBudget(RetryPolicy(firstDelay: .milliseconds(10)))
        #expect(short.wait(20_000) == .milliseconds(10))
    }

    @Test("D09, E09: without progress it ends", arguments: [0, 1, 5, 1000])
    func bounded(retries: Int) {
        #expect(waits(RetryPolicy(retries: retries), jitter: 0.3).count == retries)
    }

    @Test("Limits below zero are zero")
    func limits() {
        let limits = RetryPolicy(retries: -1, firstDelay: .seconds(-1), longestDelay: .seconds(-1), restarts: -1)
        #expect(
            limits == RetryPolicy(retries: 0, firstDelay: .seconds(0), longestDelay: .seconds(0), restarts: 0))
        var changed = RetryPolicy(retries: 3)
        changed.firstDelay = .seconds(-7)
        #expect(waits(changed, jitter: 1) == [0, 0, 0])
        changed.retries = .min
        #expect(waits(changed, jitter: 1) == [])
    }

    @Test("B14, T11: restarts are limited, and progress does not renew them", arguments: [0, 1, 3])
    func restarts(limit: Int) {
        var budget = RetryBudget(RetryPolicy(restarts: limit))
        for _ in 0..<limit {
            #expect(budget.restarted() == true)
            _ = budget.wait(1 << 20)
        }
        #expect(budget.restarted() == false)
        #expect(budget.restarted() == false)
    }

    @Test("B14, M03, T11: replicas that disagree are never spliced, and end as unstable")
    func alternatingReplicas() {
        var budget = RetryBudget()
        var held = Fixture.tagged
        var avoidsRange: Reason?
        for request in 0..<100 {
            let plan = Plan(for: held, avoidsRange: avoidsRange)
            let tag = "ETag: \"\(request)\""
            let isRange = if case .range = plan { true } else { false }
            let head = response(isRange ? 206 : 200, [tag, isRange ? Fixture.contentRange : "Content-Length: 250000"])
            switch Verdict(for: head, to: plan, held: held) {
            case .askForWhole(let reason):
                #expect(isRange)
                #expect(reason.code.rawValue == "entity-tag-changed")
                avoidsRange = reason
            case .startOver(let representation, let reason):
                #expect(reason.code.rawValue == "entity-tag-changed")
                held = HeldPartial(representation: representation, length: Fixture.length)
                avoidsRange = nil
                guard budget.restarted() else {
                    #expect(request == 7)
                    return
                }
            case let verdict:
                Issue.record("\(verdict.summary)")
                return
            }
        }
        Issue.record("it never ended")
    }
}

extension RetryBudget {
    /// Records a failure.
    ///
    /// - Returns: The delay before the next try; nil if there is none.
    fileprivate mutating func wait(
        _ received: Int64, of total: Int64? = nil, retryAfter: Int64? = nil, at now: Duration = .zero,
        originWorks: Bool = false, jitter: Double = 1
    ) -> Duration? {
        let moment = Moment(now: now, total: total, originWorks: originWorks, jitter: jitter)
        return if case .wait(let delay) = failed(received: received, retryAfter: retryAfter, at: moment) {
            delay
        } else {
            nil
        }
    }
}
