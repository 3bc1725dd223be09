@testable import ResumeCommands
import Testing

/// Which of the jobs that were taken run.
@Suite(.timeLimit(.minutes(5)))
struct SlotStateTests {
    private func slots(_ count: Int, perHost: Int? = nil) -> SlotState {
        SlotState(count: count, perHost: perHost, mostPaused: 8)
    }

    @Test("A job that waits gives its place to another one, and comes first when it goes on")
    func waits() {
        var slots = slots(1)
        #expect(slots.admit(1) == true)
        #expect(slots.admit(2) == false)
        #expect(slots.start(1, at: "a", mayBegin: true) == true)
        slots.pause(1)
        #expect(slots.admit(2) == true)
        #expect(slots.start(2, at: "b", mayBegin: true) == true)
        slots.goOn(1)
        #expect(slots.start(1, at: "a", mayBegin: true) == false)
        #expect(slots.admit(3) == false)
        slots.end(2)
        #expect(slots.start(1, at: "a", mayBegin: false) == true, "it has begun before")
        slots.end(1)
        #expect(slots.isIdle)
    }

    @Test("A job whose origin is closed or whose host has no place does not stop those behind it")
    func behind() {
        var slots = slots(2, perHost: 1)
        for (id, host) in [(1, "a"), (2, "a"), (3, "closed"), (4, "b")] as [(Int64, String)] {
            #expect(slots.admit(id) == true)
            #expect(slots.start(id, at: host, mayBegin: host != "closed") == [1, 4].contains(id))
        }
        #expect(slots.admit(5) == false)
        slots.end(1)
        #expect(slots.start(2, at: "a", mayBegin: true) == true)
        #expect(slots.start(3, at: "closed", mayBegin: true) == false)
        slots.end(4)
        #expect(slots.start(3, at: "closed", mayBegin: true) == true)
    }

    @Test("At most 64 jobs wait; then none is taken")
    func most() {
        var slots = slots(4)
        for id in 1...64 {
            #expect(slots.admit(Int64(id)) == true)
            #expect(slots.start(Int64(id), at: "closed", mayBegin: false) == false)
        }
        #expect(slots.admit(65) == false)
        #expect(slots.start(1, at: "closed", mayBegin: true) == true)
        #expect(slots.admit(65) == true)
    }

    @Test("So many that have begun wait, such as small files for their delivery; then none is taken")
    func paused() {
        var slots = slots(1)
        for id in 1...8 as ClosedRange<Int64> {
            #expect(slots.admit(id) == true)
            #expect(slots.start(id, at: "a", mayBegin: true) == true)
            slots.pause(id)
        }
        #expect(slots.admit(9) == false)
        slots.end(3)
        #expect(slots.admit(9) == true)
    }
}
