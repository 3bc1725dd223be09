@testable import ResumeDownload
import TestSupport
import Testing

/// Which downloads have a place.
@Suite(.timeLimit(.minutes(5)))
struct SlotsTests {
    private func slots(_ count: Int, perHost: Int? = nil) -> Slots {
        Slots(count: count, perHost: perHost, mostPaused: 8)
    }

    @Test("A download that waits gives its place to another one, and comes first when it goes on")
    func waits() {
        var slots = slots(1)
        #expect(slots.admit(1) == true)
        #expect(slots.admit(2) == false)
        #expect(slots.start(1, at: "a", mayBegin: true) == true)
        slots.pause(1)
        #expect(slots.admit(2) == true)
        #expect(slots.start(2, at: "b", mayBegin: true) == true)
        #expect(slots.start(1, at: "a", mayBegin: true) == false)
        slots.pause(2)
        #expect(slots.admit(3) == false, "the place is kept for the one that goes on")
        #expect(slots.start(1, at: "a", mayBegin: false) == true, "it has begun before")
        #expect(slots.start(1, at: "a", mayBegin: false) == true, "it runs already")
        slots.end(1)
        slots.end(2)
        #expect(slots.isIdle)
    }

    @Test("One that still waits changes nothing when it asks again, and what frees or takes a place does")
    func changes() {
        var slots = slots(1)
        _ = slots.admit(1)
        _ = slots.start(1, at: "closed", mayBegin: false)
        let parked = slots.changes
        for _ in 0..<3 { #expect(slots.start(1, at: "closed", mayBegin: false) == false) }
        slots.end(2)
        #expect(slots.changes == parked)
        _ = slots.start(1, at: "closed", mayBegin: true)
        #expect(slots.changes == parked + 1)
        slots.pause(1)
        _ = slots.admit(2)
        _ = slots.start(1, at: "closed", mayBegin: true)
        let resuming = slots.changes
        _ = slots.start(1, at: "closed", mayBegin: true)
        #expect(slots.changes == resuming)
        slots.end(2)
        #expect(slots.changes == resuming + 1)
    }

    @Test("A download whose origin is closed or whose host has no place does not stop those behind it")
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
        #expect(slots.admit(5) == false, "the place is for the one that waits for nothing else any more")
        #expect(slots.start(3, at: "closed", mayBegin: true) == true)
    }

    @Test("At most 64 downloads wait to begin; then none is admitted")
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

    @Test("So many that have begun wait, such as small files for their delivery; then none is admitted")
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

    @Test("One that goes on waits for its host without a place, and before others of the host")
    func goesOn() {
        var slots = slots(3, perHost: 1)
        #expect(slots.admit(1, at: "a") == true)
        #expect(slots.admit(2, at: "a") == false)
        #expect(slots.start(1, at: "a", mayBegin: true) == true)
        slots.pause(1)
        #expect(slots.admit(2, at: "a") == true)
        #expect(slots.start(2, at: "a", mayBegin: true) == true)
        #expect(slots.start(1, at: "a", mayBegin: true) == false)
        #expect(slots.admit(3, at: "b") == true, "another host gets the place")
        slots.end(2)
        #expect(slots.admit(4, at: "a") == false, "the host's place is kept")
        #expect(slots.start(1, at: "a", mayBegin: true) == true)
    }

    @Test("Any changes in any order: no more run than may, and all of them end", arguments: 0..<100)
    func walk(seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        let perHost = seed % 3 == 0 ? nil : Int(seed % 3)
        var slots = slots(3, perHost: perHost)
        var hosts: [Int64: String] = [:]
        var running: Set<Int64> = []
        func start(_ id: Int64, mayBegin: Bool) throws {
            guard slots.start(id, at: hosts[id] ?? "", mayBegin: mayBegin) else { return }
            running.insert(id)
            try #require(running.count <= 3)
            try #require(running.count { hosts[$0] == hosts[id] } <= perHost ?? 3)
        }
        for id in 1...200 as ClosedRange<Int64> {
            let host = ["a", "b", "c"].randomElement(using: &chance) ?? ""
            if slots.admit(id, at: Bool.random(using: &chance) ? host : nil) { hosts[id] = host }
            guard let other = hosts.keys.sorted().randomElement(using: &chance) else { continue }
            switch Int.random(in: 0..<4, using: &chance) {
            case 0 where running.remove(other) != nil: slots.pause(other)
            case 1 where running.remove(other) != nil:
                slots.end(other)
                hosts[other] = nil
            default: try start(other, mayBegin: Int.random(in: 0..<3, using: &chance) > 0)
            }
        }
        while let id = hosts.keys.sorted().randomElement(using: &chance) {
            for id in hosts.keys.sorted() { try start(id, mayBegin: true) }
            try #require(!running.isEmpty, "a place is free")
            guard running.remove(id) != nil else { continue }
            slots.end(id)
            hosts[id] = nil
        }
        #expect(slots.isIdle && slots.mayAdmit && slots.admit(1, at: "a"))
    }
}
