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

    @Test("The rest of a body is divided evenly among the connections that are free")
    func evenly() {
        var plan = SegmentPlan(length: 80_000_000, connections: 4)
        #expect(
            plan.actions(Self.state([(0, 0..<80_000_000)])) == [
                .open(20_000_000..<40_000_000, splitting: 0), .open(40_000_000..<60_000_000, splitting: 0),
                .open(60_000_000..<80_000_000, splitting: 0),
            ])
        let asked = Self.state([(0, 0..<80_000_000)], asked: [20_000_000..<40_000_000, 40_000_000..<80_000_000])
        #expect(plan.actions(asked) == [.open(10_000_000..<20_000_000, splitting: 0)])
    }

    @Test("A stream that has just begun is divided as a whole, one that has come far is not")
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

    @Test("What nobody brings is opened first, however short it is")
    func gaps() {
        var plan = SegmentPlan(length: 50_000_000, connections: 4)
        let state = Self.state([(0, 1000..<2000)], held: [0..<1000, 3000..<4000, 4010..<10_000_000])
        #expect(
            plan.actions(state) == [
                .open(2000..<3000, splitting: nil), .open(4000..<4010, splitting: nil),
                .open(10_000_000..<50_000_000, splitting: nil),
            ])
    }

    @Test("A server that wants no more gets no more, and those that run go on")
    func refused() {
        var plan = SegmentPlan(length: 80_000_000, connections: 4)
        plan.refused(running: 2)
        #expect(plan.limit == 2)
        #expect(plan.actions(Self.state([(0, 0..<40_000_000), (1, 40_000_000..<80_000_000)])).isEmpty)
        // When one has ended, another may take its place.
        #expect(plan.actions(Self.state([(1, 40_000_000..<80_000_000)], held: [0..<40_000_000])).count == 1)
        plan.refused(running: 0)
        #expect(plan.limit == 1)
        #expect(plan.actions(Self.state([(1, 40_000_000..<50_000_000)], held: [0..<40_000_000])).isEmpty)
    }

    @Test("After a failure nothing is opened before its time")
    func waits() {
        var plan = SegmentPlan(length: 80_000_000, connections: 2)
        plan.wait(until: 3)
        #expect(plan.actions(Self.state([(0, 0..<80_000_000)], now: 2.9)).isEmpty)
        #expect(plan.actions(Self.state([(0, 0..<80_000_000)], now: 3)).count == 1)
    }

    @Test("A stream that is much slower than the others is handed over, one that is a little slower is not")
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

    /// A long download over connections that have a rate each, and one that they share.
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

    @Test("Connections are kept only while they help, found out where a download takes long")
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

/// A download as random events: bytes, ends, cuts, answers and refusals.
private struct SegmentModel {
    let length: Int64
    private(set) var held: [Range<Int64>] = []
    private(set) var problems: [String] = []
    private var generator: Generator
    private var plan: SegmentPlan
    private var running: [SegmentPlan.Stream] = []
    private var asked: [(id: Int, range: Range<Int64>, splitting: Int?)] = []
    private var (number, now) = (0, 0.0)
    private let connections: Int

    init(seed: UInt64) {
        generator = Generator(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1)
        length = Int64.random(in: 1...(64 << 20), using: &generator)
        connections = Int.random(in: 1...16, using: &generator)
        plan = SegmentPlan(length: length, connections: connections)
        // What an earlier run left.
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            let start = Int64.random(in: 0..<length, using: &generator)
            held.append(start..<min(start + Int64.random(in: 1...(8 << 20), using: &generator), length))
        }
        held = Self.union(held)
    }

    mutating func run() {
        for _ in 0..<20_000 where held != [0..<length] {
            if running.isEmpty, asked.isEmpty { beginAnew() }
            act()
            happen()
            now += Double.random(in: 0...1, using: &generator)
        }
    }

    /// The single request that each round begins with: for the first gap.
    private mutating func beginAnew() {
        plan = SegmentPlan(length: length, connections: connections)
        let start = held.first?.lowerBound == 0 ? held[0].upperBound : 0
        number += 1
        let end = held.first { $0.lowerBound > start }?.lowerBound ?? length
        running.append(.init(id: number, position: start, end: end))
    }

    private mutating func act() {
        let state = SegmentPlan.State(held: held, running: running, asked: asked.map(\.range), now: now)
        for action in plan.actions(state) {
            switch action {
            case .close(let id): running.removeAll { $0.id == id }
            case .open(let range, let splitting):
                check(range, splitting)
                number += 1
                asked.append((number, range, splitting))
            }
        }
        if running.count + asked.count > connections { problems.append("too many connections") }
    }

    private mutating func check(_ range: Range<Int64>, _ splitting: Int?) {
        if range.isEmpty || range.lowerBound < 0 || range.upperBound > length { problems.append("odd: \(range)") }
        if held.contains(where: range.overlaps) { problems.append("held already: \(range)") }
        if asked.contains(where: { $0.range.overlaps(range) }) { problems.append("asked already: \(range)") }
        for stream in running where range.overlaps(stream.position..<max(stream.end, stream.position)) {
            let isWithin = stream.position < range.lowerBound && range.upperBound <= stream.end
            if stream.id != splitting || !isWithin { problems.append("on its way: \(range)") }
        }
    }

    private mutating func happen() {
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
            switch Int.random(in: 0..<12, using: &generator) {
            case 0..<3 where !asked.isEmpty: answer()
            case 3 where !running.isEmpty && Int.random(in: 0..<4, using: &generator) == 0:
                running.remove(at: Int.random(in: 0..<running.count, using: &generator))
            default: if !running.isEmpty { receive() }
            }
        }
    }

    private mutating func answer() {
        let (id, range, splitting) = asked.remove(at: Int.random(in: 0..<asked.count, using: &generator))
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: plan.refused(running: running.count + asked.count)
        case 1: plan.wait(until: now + 2)
        default:
            // Somebody may have come so far meanwhile.
            guard !held.contains(where: range.overlaps) else { return }
            if let index = running.firstIndex(where: { $0.id == splitting }), running[index].end > range.lowerBound {
                // It has come too far meanwhile.
                guard running[index].position < range.lowerBound else { return }
                running[index].end = range.lowerBound
            }
            // An answer may have less than was asked for.
            let isShort = Int.random(in: 0..<8, using: &generator) == 0
            let end =
                isShort
                ? Int64.random(in: range.lowerBound + 1...range.upperBound, using: &generator) : range.upperBound
            running.append(.init(id: id, position: range.lowerBound, end: end))
        }
    }

    private mutating func receive() {
        let index = Int.random(in: 0..<running.count, using: &generator)
        let stream = running[index]
        let end = min(stream.position + Int64.random(in: 1...(4 << 20), using: &generator), stream.end)
        if held.contains(where: (stream.position..<end).overlaps) { problems.append("brought twice: \(stream)") }
        held = Self.union(held + [stream.position..<end])
        running[index].position = end
        if end == stream.end { running.remove(at: index) }
    }

    static func union(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
        ranges.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { union, range in
            if let last = union.last, last.upperBound >= range.lowerBound {
                union[union.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else if !range.isEmpty {
                union.append(range)
            }
        }
    }
}

/// Random numbers that are the same in each run.
private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
