import ResumeHTTP
import Testing

/// Which ranges are fetched over which connections: pure decisions, and thousands of random downloads.
@Suite(.timeLimit(.minutes(5)))
struct SegmentPlanTests {
    private static let mebibyte: Int64 = 1 << 20

    private static func state(
        _ running: [(Int, Range<Int64>)], held: [Range<Int64>] = [], asked: [Range<Int64>] = [], now: Double = 0
    ) -> SegmentPlan.State {
        SegmentPlan.State(
            held: held, running: running.map { .init(id: $0, position: $1.lowerBound, end: $1.upperBound) },
            asked: asked, now: now)
    }

    @Test("The rest of a body is divided evenly among the free connections, one after the other")
    func evenly() {
        var plan = SegmentPlan(length: 80_000_000, connections: 4)
        var streams = [(0, Int64(0)..<Int64(80_000_000))]
        for (number, start) in [Int64(20_000_000), 40_000_000, 60_000_000].enumerated() {
            #expect(plan.actions(Self.state(streams)) == [.open(start..<80_000_000, splitting: number)])
            // Nothing more before that is answered.
            #expect(plan.actions(Self.state(streams, asked: [start..<80_000_000])).isEmpty)
            streams[number].1 = streams[number].1.lowerBound..<start
            streams.append((number + 1, start..<80_000_000))
        }
        #expect(plan.actions(Self.state(streams)).isEmpty)
    }

    @Test("A stream that has just begun is divided as a whole, one that is far advanced is not")
    func justBegun() {
        for (position, expected) in [(Int64(2_000_000), Int64(40_000_000)), (30_000_000, 55_000_000)] {
            var plan = SegmentPlan(length: 80_000_000, connections: 2)
            let stream = SegmentPlan.Stream(id: 0, start: 0, position: position, end: 80_000_000)
            let state = SegmentPlan.State(held: [0..<position], running: [stream], now: 0)
            #expect(plan.actions(state) == [.open(expected..<80_000_000, splitting: 0)])
        }
    }

    @Test("With one connection, or too little left, nothing is opened")
    func little() {
        var one = SegmentPlan(length: 80_000_000, connections: 1)
        #expect(one.actions(Self.state([(0, 0..<80_000_000)])).isEmpty)
        var four = SegmentPlan(length: 2 * Self.mebibyte - 1, connections: 4)
        #expect(four.actions(Self.state([(0, 0..<2 * Self.mebibyte - 1)])).isEmpty)
        var two = SegmentPlan(length: 2 * Self.mebibyte, connections: 4)
        #expect(two.actions(Self.state([(0, 0..<2 * Self.mebibyte)])).count == 1, "two pieces, not four")
    }

    @Test("Ranges without a stream are opened first, however short they are")
    func gaps() {
        var plan = SegmentPlan(length: 50_000_000, connections: 4)
        let state = Self.state([(0, 1000..<2000)], held: [0..<1000, 3000..<8000, 8010..<10_000_000])
        #expect(
            plan.actions(state) == [
                .open(2000..<3000, splitting: nil), .open(8000..<8010, splitting: nil),
                .open(10_000_000..<50_000_000, splitting: nil),
            ])
    }

    @Test("A gap that adjoins only a few bytes waits for the bytes before them", arguments: [Int64(4095), 4096])
    func tooFewBefore(held: Int64) {
        let isAsked = held == 4096
        let island = 20_000_000..<20_000_000 + held
        let last = SegmentPlan.Action.open(island.upperBound..<50_000_000, splitting: nil)
        // The bytes before it are in transit, requested, or missing as well.
        let states = [
            Self.state([(0, 1000..<20_000_000)], held: [0..<1000, island]),
            Self.state([], held: [0..<1000, island], asked: [1000..<20_000_000]),
            Self.state([], held: [0..<1000, island]),
        ]
        for (index, state) in states.enumerated() {
            var plan = SegmentPlan(length: 50_000_000, connections: 2)
            let first = index == 2 ? [SegmentPlan.Action.open(1000..<20_000_000, splitting: nil)] : []
            #expect(plan.actions(state) == first + (isAsked ? [last] : []), "and its connection is not used elsewhere")
        }
        var plan = SegmentPlan(length: 50_000_000, connections: 2)
        #expect(plan.actions(Self.state([], held: [0..<held])).count == 1, "nothing lies before these")
        var off = SegmentPlan(length: 50_000_000, connections: 2, overlap: 0)
        #expect(off.actions(states[0]).count == 1)
    }

    @Test("A server that refuses more connections gets no more, and the running ones continue")
    func refused() {
        var plan = SegmentPlan(length: 80_000_000, connections: 4)
        plan.refused(running: 2)
        #expect(plan.limit == 2)
        #expect(plan.actions(Self.state([(0, 0..<40_000_000), (1, 40_000_000..<80_000_000)])).isEmpty)
        // When one has ended, another may replace it.
        #expect(plan.actions(Self.state([(1, 40_000_000..<80_000_000)], held: [0..<40_000_000])).count == 1)
        plan.refused(running: 0)
        #expect(plan.limit == 1)
        #expect(plan.actions(Self.state([(1, 40_000_000..<50_000_000)], held: [0..<40_000_000])).isEmpty)
    }

    @Test("After a failure nothing is opened until its delay has passed")
    func waits() {
        var plan = SegmentPlan(length: 80_000_000, connections: 2)
        plan.wait(until: 3)
        #expect(plan.actions(Self.state([(0, 0..<80_000_000)], now: 2.9)).isEmpty)
        #expect(plan.actions(Self.state([(0, 0..<80_000_000)], now: 3)).count == 1)
    }

    @Test("A stream that is much slower than the others is replaced, one that is a little slower is not")
    func straggler() {
        for (progress, isSlow) in [(Int64(0), true), (1_000_000, true), (4_000_000, false)] {
            var plan = SegmentPlan(length: 200_000_000, connections: 2)
            _ = plan.actions(Self.state([(0, 0..<100_000_000), (1, 100_000_000..<200_000_000)], now: 0))
            let later = Self.state(
                [(0, 20_000_000..<100_000_000), (1, 100_000_000 + progress..<200_000_000)],
                held: [0..<20_000_000, 100_000_000..<100_000_000 + progress], now: 2.5)
            #expect(plan.actions(later) == (isSlow ? [.close(1)] : []), "\(progress)")
        }
    }

    @Test(
        "Fewer connections are tried only if a minute or more is left",
        arguments: [(Int64(5_000_000), true), (20_000_000, false), (0, false)])
    func trial(progress: Int64, isTried: Bool) {
        var plan = SegmentPlan(length: 200_000_000, connections: 2)
        let starts = [Int64(0), 100_000_000]
        let state = { (progress: Int64, now: Double) in
            Self.state(
                starts.enumerated().map { ($0, $1 + progress..<$1 + 100_000_000) },
                held: starts.map { $0..<$0 + progress }.filter { !$0.isEmpty }, now: now)
        }
        #expect(plan.actions(state(0, 0)).isEmpty)
        #expect(plan.actions(state(progress, 5)) == (isTried ? [.close(1)] : []))
    }

    @Test("A range of a damaged row, longer than any file, causes no trap")
    func damaged() {
        var plan = SegmentPlan(length: 50_000_000, connections: 2)
        #expect(plan.actions(Self.state([], held: [.min..<(.max)])).isEmpty)
    }

    /// A long download over connections that each have a rate limit and also share one.
    private static func connections(each: Int64, shared: Int64) -> Int {
        var plan = SegmentPlan(length: 4 << 30, connections: 4)
        var streams: [(Int, Range<Int64>)] = [(0, 0..<(4 << 30))]
        var held: [Range<Int64>] = []
        var (number, now) = (0, 0.0)
        while now < 60 {
            for action in plan.actions(Self.state(streams, held: held, now: now)) {
                switch action {
                case .close(let id): streams.removeAll { $0.0 == id }
                case .open(let range, let splitting):
                    number += 1
                    if let index = streams.firstIndex(where: { $0.0 == splitting }) {
                        streams[index].1 =
                            streams[index].1.lowerBound..<min(streams[index].1.upperBound, range.lowerBound)
                    }
                    streams.append((number, range))
                }
            }
            let rate = min(each, shared / Int64(max(streams.count, 1)))
            streams = streams.map { id, rest in
                let end = min(rest.lowerBound + rate / 4, rest.upperBound)
                held.append(rest.lowerBound..<end)
                return (id, end..<rest.upperBound)
            }.filter { !$0.1.isEmpty }
            held = SegmentModel.union(held)
            now += 0.25
        }
        return streams.count
    }

    @Test("Connections are kept only while they help, which is measured when a download takes long")
    func help() {
        #expect(Self.connections(each: 1 << 20, shared: 1 << 40) == 4, "each has a limit of its own")
        #expect(Self.connections(each: 1 << 40, shared: 2 << 20) == 1, "they share one limit")
        #expect(Self.connections(each: 2 << 20, shared: 4 << 20) == 2, "two have all there is")
    }

    @Test("Whatever happens, ranges do not overlap and cover everything", arguments: 0..<400)
    func random(seed: Int) {
        var model = SegmentModel(seed: UInt64(seed))
        model.run()
        #expect(model.problems.isEmpty, "\(model.problems)")
        #expect(model.held == [0..<model.length])
    }
}
