@testable import ResumeHTTP
import Testing

/// What follows each request of a download.
@Suite(.timeLimit(.minutes(5)))
struct RequestCourseTests {
    static let limits = RetryPolicy(
        retries: 2, time: .seconds(60), firstDelay: .seconds(1), longestDelay: .seconds(1), restarts: 1)
    /// A file without a known length, and the longest random part of each wait.
    static let now = RetryBudget.Moment(now: .zero, jitter: 1)

    @Test("A cut waits, progress restores the retries, and a complete part is followed by the next one")
    func bodies() {
        var course = RequestCourse(Self.limits)
        #expect(course.next(after: .body(received: 1, failed: false), at: Self.now) == .wait(.milliseconds(15)))
        for _ in 0..<2 {
            #expect(course.next(after: .body(received: 0, failed: true), at: Self.now) == .wait(.milliseconds(1000)))
        }
        #expect(course.next(after: .body(received: 0, failed: false), at: Self.now) == .giveUp)
        #expect(course.next(after: .body(received: 1, failed: true), at: Self.now) == .giveUp)
        #expect(course.next(after: .body(received: 70_000, failed: false), at: Self.now) == .askAgain)
        for _ in 0..<3 {
            #expect(course.next(after: .body(received: 0, failed: true), at: Self.now) == .wait(.milliseconds(1000)))
        }
        var late = Self.now
        late.now = .seconds(60)
        #expect(course.next(after: .body(received: 0, failed: true), at: late) == .giveUp)
    }

    @Test("A server that fails at ranges twice is asked for the whole file, which counts as a restart")
    func failedRanges() {
        var course = RequestCourse(Self.limits)
        #expect(
            course.next(after: .retry(afterSeconds: 7, failedRange: true), at: Self.now) == .wait(.milliseconds(7700)))
        #expect(course.avoidsRange == nil)
        #expect(
            course.next(after: .retry(afterSeconds: nil, failedRange: true), at: Self.now) == .wait(.milliseconds(1000))
        )
        #expect(course.avoidsRange?.code.rawValue == "range-fails-repeatedly")
        let isFirstAllowed = course.began(anew: true)
        #expect(isFirstAllowed, "it was counted before")
        #expect(course.avoidsRange == nil, "the whole was asked for once")
        let isSecondAllowed = course.began(anew: true)
        #expect(!isSecondAllowed)
    }

    @Test("A server that fails at ranges after the last restart is reported as unstable")
    func failedRangesWithoutStarts() {
        var course = RequestCourse(Self.limits)
        let isAllowed = course.began(anew: true)
        #expect(isAllowed)
        #expect(
            course.next(after: .retry(afterSeconds: nil, failedRange: true), at: Self.now) == .wait(.milliseconds(1000))
        )
        #expect(course.next(after: .retry(afterSeconds: nil, failedRange: true), at: Self.now) == .unstable)
    }

    @Test("Responses that are not used are failures after the 24th in a row")
    func unused() {
        var course = RequestCourse(Self.limits)
        for _ in 0..<2 {
            for _ in 0..<24 { #expect(course.next(after: .unused, at: Self.now) == .askAgain) }
            #expect(course.next(after: .unused, at: Self.now) == .wait(.milliseconds(1000)))
            #expect(course.next(after: .body(received: 70_000, failed: false), at: Self.now) == .askAgain)
        }
        for _ in 0..<26 { _ = course.next(after: .unused, at: Self.now) }
        let late = RetryBudget.Moment(now: .seconds(60), jitter: 1)
        #expect(course.next(after: .unused, at: late) == .giveUp)
    }

    @Test("Closed ranges without new bytes become smaller by half, or end")
    func halves() {
        var course = RangeCourse()
        var count = Int64.max
        var requests = 0
        while course.sentNothingNew(count) {
            requests += 1
            count = (course.size ?? 0) - 1
            let isAccepted = course.sentNothingNew(count)
            #expect(!isAccepted)
            count = (course.size ?? 0) / 2
        }
        #expect(requests == 28)
    }

    @Test("One start is allowed, whatever its reason")
    func starts() {
        let reason = Reason.rangeFailsRepeatedly
        for first in [RequestCourse.Outcome.discarded, .askForWhole(reason)] {
            var course = RequestCourse(Self.limits)
            #expect(course.next(after: first, at: Self.now) == .askAgain)
            #expect(course.next(after: .discarded, at: Self.now) == .unstable)
        }
        var course = RequestCourse(Self.limits)
        for anew in [false, true, false] {
            let isAllowed = course.began(anew: anew)
            #expect(isAllowed)
        }
        #expect(course.next(after: .askForWhole(reason), at: Self.now) == .unstable)
    }
}
