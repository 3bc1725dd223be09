import HTTPTypes
import ResumeHTTP
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RetryBudgetTests {
    private func waits(_ limits: RetryPolicy, jitter: Double, retryAfter: Int64? = nil) -> [Double] {
        var budget = RetryBudget(limits)
        var waits: [Double] = []
        while waits.count < 1000,
            case .wait(let delay) = budget.failed(received: 0, retryAfter: retryAfter, jitter: jitter)
        {
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

    @Test("No wait exceeds the maximum, however many there were")
    func longest() {
        let waits = waits(
            RetryPolicy(retries: 200, firstDelay: .milliseconds(500), longestDelay: .seconds(30)), jitter: 1)
        #expect(waits.count == 200)
        #expect(waits.max() == 30)
        #expect(waits.suffix(190).allSatisfy { $0 == 30 })
        #expect(waits == waits.sorted())
    }

    @Test("I04: the server's requested wait is the minimum")
    func retryAfter() {
        #expect(waits(RetryPolicy(), jitter: 1, retryAfter: 3) == [3, 3, 3, 4, 8])
        #expect(waits(RetryPolicy(), jitter: 0, retryAfter: 600) == [600, 600, 600, 600, 600])
        #expect(waits(RetryPolicy(), jitter: 1, retryAfter: -5) == waits(RetryPolicy(), jitter: 1))
        #expect(waits(RetryPolicy(), jitter: 1, retryAfter: .min) == waits(RetryPolicy(), jitter: 1))
    }

    @Test("I08: a byte of progress restores the retries and the first wait")
    func renewal() {
        var budget = RetryBudget(RetryPolicy(retries: 2))
        #expect(budget.failed(received: 0, retryAfter: nil, jitter: 1) == .wait(.milliseconds(500)))
        #expect(budget.failed(received: 0, retryAfter: nil, jitter: 1) == .wait(.milliseconds(1000)))
        #expect(budget.failed(received: 1, retryAfter: nil, jitter: 1) == .wait(.milliseconds(500)))
        #expect(budget.failed(received: 0, retryAfter: nil, jitter: 1) == .wait(.milliseconds(1000)))
        #expect(budget.failed(received: 0, retryAfter: nil, jitter: 1) == .giveUp)
        #expect(budget.failed(received: 0, retryAfter: nil, jitter: 1) == .giveUp)
    }

    @Test("After more than 16 KiB the next try follows within 20 ms, unless the server asks for more")
    func enough() {
        var budget = RetryBudget()
        for jitter in [0, 0.5, 1] {
            #expect(budget.failed(received: 16385, retryAfter: nil, jitter: jitter) == .wait(.milliseconds(20)))
        }
        #expect(budget.failed(received: .max, retryAfter: 3, jitter: 1) == .wait(.milliseconds(3000)))
        #expect(budget.failed(received: 16384, retryAfter: nil, jitter: 1) == .wait(.milliseconds(500)))
        var short = RetryBudget(RetryPolicy(firstDelay: .milliseconds(10)))
        #expect(short.failed(received: 20_000, retryAfter: nil, jitter: 1) == .wait(.milliseconds(10)))
        var none = RetryBudget(RetryPolicy(retries: 0))
        #expect(none.failed(received: 20_000, retryAfter: nil, jitter: 1) == .giveUp)
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
            _ = budget.failed(received: 1, retryAfter: nil, jitter: 0)
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
