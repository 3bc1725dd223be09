@testable import ResumeCommands
import Testing

/// What signals do, by when they arrive.
struct SignalCourseTests {
    @Test("Signals within a second of the first one belong to it; a later one ends the process")
    func together() {
        let start = ContinuousClock.now
        var course = Signals.Course()
        #expect(course.receive(at: start) == .cancel)
        for seconds in [0, 0.5, 0.999] { #expect(course.receive(at: start + .seconds(seconds)) == .ignore) }
        for seconds in [1.0, 60] { #expect(course.receive(at: start + .seconds(seconds)) == .exit) }
    }
}
