@testable import ResumeHTTP
import TestSupport

/// A download as random events: bytes, ends, cuts, answers and refusals.
struct SegmentModel {
    let length: Int64
    private(set) var held: [Range<Int64>] = []
    private(set) var problems: [String] = []
    private var generator: SplitMix64
    private var plan: SegmentPlan
    private var running: [SegmentPlan.Stream] = []
    private var asked: [(id: Int, range: Range<Int64>, splitting: Int?)] = []
    private var (number, now) = (0, 0.0)
    private let connections: Int

    init(seed: UInt64) {
        generator = SplitMix64(seed: seed)
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

    /// The single request that begins each round: for the first gap.
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
            // Another stream may have reached this range since.
            guard !held.contains(where: range.overlaps) else { return }
            if let index = running.firstIndex(where: { $0.id == splitting }), running[index].end > range.lowerBound {
                // It has advanced too far since.
                guard running[index].position < range.lowerBound else { return }
                running[index].end = range.lowerBound
            }
            // An answer may have less than requested.
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
