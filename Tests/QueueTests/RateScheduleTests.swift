@testable import ResumeDownload
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RateScheduleTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func seconds(_ duration: Duration?) -> Double? {
        duration.map { ($0 / .seconds(1) * 1000).rounded() / 1000 }
    }

    @Test("A receiver waits until the rate has granted its bytes")
    func waits() {
        var schedule = RateLimiter.Schedule(rate: 1000, now: start)
        let ticket = schedule.take(500, now: start)
        #expect(seconds(schedule.delay(of: ticket, now: start)) == 0.5)
        #expect(seconds(schedule.delay(of: ticket, now: at(0.2))) == 0.3)
        #expect(schedule.delay(of: ticket, now: at(0.5)) == nil)
    }

    @Test("Downloads that share a limit take turns in order, and do not exceed it together")
    func shared() {
        var schedule = RateLimiter.Schedule(rate: 1000, now: start)
        let tickets = (0..<4).map { _ in schedule.take(250, now: start) }
        #expect(tickets.map { seconds(schedule.delay(of: $0, now: start)) } == [0.25, 0.5, 0.75, 1])
        let again = schedule.take(250, now: at(0.25))
        #expect(seconds(schedule.delay(of: again, now: at(0.25))) == 1)
    }

    @Test("Unused rate is saved for a tenth of a second only")
    func burst() {
        var schedule = RateLimiter.Schedule(rate: 1000, now: start)
        let ticket = schedule.take(600, now: at(3600))
        #expect(seconds(schedule.delay(of: ticket, now: at(3600))) == 0.5)
    }

    @Test("A new rate applies immediately, even to waiting receivers; no rate releases all of them")
    func changes() {
        var schedule = RateLimiter.Schedule(rate: 10, now: start)
        let ticket = schedule.take(1010, now: start)
        #expect(seconds(schedule.delay(of: ticket, now: at(1))) == 100)
        schedule.setRate(1000, now: at(1))
        #expect(seconds(schedule.delay(of: ticket, now: at(1))) == 1)
        schedule.setRate(0, now: at(1.5))
        #expect(schedule.delay(of: ticket, now: at(1.5)) == nil)
        schedule.setRate(100, now: at(2))
        let next = schedule.take(100, now: at(2))
        #expect(seconds(schedule.delay(of: next, now: at(2))) == 1)
    }

    @Test("Odd numbers and a clock that goes back do no harm")
    func odd() {
        var schedule = RateLimiter.Schedule(rate: .min, now: start)
        #expect(schedule.delay(of: schedule.take(.max, now: start), now: start) == nil)
        schedule.setRate(1, now: at(-100))
        let ticket = schedule.take(.max, now: at(-200))
        #expect(seconds(schedule.delay(of: ticket, now: at(-300))) == 86_400)
        schedule.setRate(.max, now: at(1))
        #expect(schedule.delay(of: ticket, now: at(10)) == nil)
    }
}
