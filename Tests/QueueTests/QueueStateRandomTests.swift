@testable import ResumeDownload
import ResumeHTTP
import TestSupport
import Testing

/// Random walks through the state machine, with invariants that are checked after each step.
@Suite(.timeLimit(.minutes(10)))
struct QueueStateRandomTests {
    /// A queue, and what its callers and runs know.
    struct Walk {
        var state: QueueState
        var chance: SplitMix64
        var lastCaller = 0
        /// The callers that have not been answered yet.
        var waiting: Set<Int> = []
        /// The runs that were started and have not ended.
        var runs: [String: Int64] = [:]
        var dropping: Set<String> = []
        /// The items that wait for a place to go on.
        var resuming: Set<String> = []

        mutating func take(_ actions: [QueueState.Action]) throws {
            for action in actions {
                switch action {
                case .start(let key):
                    try #require(runs[key] == nil, "\(key) runs twice")
                    try #require(!dropping.contains(key), "\(key) runs while it is dropped")
                    runs[key] = state.items[key]?.run?.number
                    try #require(receiving.count <= state.maximumRunning, "more run than may")
                    let forced = state.items.values.first { $0.key == state.forced && $0.wish == .waiting }
                    try #require(forced == nil || forced?.key == key && runs.count == 1, "beside a forced one")
                case .stop(let key): try #require(runs[key] != nil, "\(key) does not run")
                case .answer(let callers, _):
                    for caller in callers { try #require(waiting.remove(caller) != nil, "answered twice") }
                case .drop(let key):
                    try #require(runs[key] == nil, "\(key) is dropped while it runs")
                    try #require(dropping.insert(key).inserted, "\(key) is dropped twice")
                }
            }
            try check()
        }

        /// The keys of the runs that have a slot.
        private var receiving: [String] { runs.keys.filter { state.items[$0].map { !state.waits($0) } ?? false } }

        private static func host(_ key: String) -> String { "h\((Int(key) ?? 0) % 3)" }

        private func check() throws {
            let items = state.items.values
            try #require(Set(state.running) == Set(runs.keys))
            try #require(Set(items.filter { $0.run != nil }.map(\.key)) == Set(runs.keys))
            try #require(state.forced.map { state.items[$0] != nil } ?? true, "the forced one is unknown")
            for item in items where item.wish == .dropping {
                try #require(item.run != nil || dropping.contains(item.key), "who was dropped gets its drop")
            }
            let numbers = items.flatMap { $0.deliveries.map(\.number) }
            try #require(Set(numbers).count == numbers.count)
            try #require(Set(items.flatMap { $0.deliveries.flatMap(\.callers) }) == waiting, "nobody is forgotten")
            let ready = items.filter {
                $0.wish == .waiting && $0.run == nil && $0.deliveries.contains(where: \.isReady)
            }
            try #require(Set(state.waiting) == Set(ready.map(\.key)))
            // No silent starvation: a waiting item waits for a free slot, a forced one, or a user.
            let forced = items.first { $0.key == state.forced && $0.wish == .waiting }
            if !state.isHeld, !state.isClosed, !ready.isEmpty {
                let claims = resuming.filter { state.items[$0].map(state.waits) ?? false }
                let taken = receiving + claims
                let isFull = taken.count >= state.maximumRunning
                let isWaiting =
                    isFull
                    || ready.allSatisfy { item in
                        taken.count { Self.host($0) == Self.host(item.key) } >= state.slots.perHost ?? .max
                    }
                try #require(forced != nil || isWaiting, "a place is free")
                if let forced { try #require(forced.run != nil || !runs.isEmpty, "the forced one does not start") }
            }
            for item in items where item.wish == .waiting {
                try #require(item.run != nil || item.deliveries.contains(where: \.isReady), "waits for nothing")
            }
            for item in items where item.wish == .failed {
                try #require(item.run == nil && item.deliveries.allSatisfy { $0.failure != nil }, "not all failed")
            }
            let active = items.filter { $0.run.map { !$0.isStopping } ?? false }
            try #require(active.count { !state.waits($0) } <= state.maximumRunning)
            try #require(active.count { state.waits($0) } <= QueueState.mostPaused)
            if forced != nil { try #require(active.count <= 1) }
            if state.isHeld { try #require(active.isEmpty) }
        }

        mutating func endOne(_ ending: QueueState.Ending) throws {
            guard let (key, run) = runs.sorted(by: { $0.key < $1.key }).randomElement(using: &chance) else { return }
            runs[key] = nil
            try take(state.ended(key, run: run, ending))
        }

        mutating func dropOne() throws {
            guard let key = dropping.min() else { return }
            dropping.remove(key)
            try take(state.dropped(key))
        }

        mutating func step() throws {
            let key = "\(Int.random(in: 0..<12, using: &chance))"
            switch Int.random(in: 0..<23, using: &chance) {
            case 0..<6:
                var caller: Int?
                if Int.random(in: 0..<4, using: &chance) > 0 {
                    lastCaller += 1
                    caller = lastCaller
                    waiting.insert(lastCaller)
                }
                let destination = "/\(Int.random(in: 0..<3, using: &chance))"
                let priority = DownloadQueue.Priority.allCases.randomElement(using: &chance) ?? .normal
                let isExclusive = Int.random(in: 0..<8, using: &chance) == 0
                try take(
                    state.add([
                        .init(
                            key, to: destination, caller: caller, priority: priority, isExclusive: isExclusive,
                            at: Self.host(key))
                    ]))
            case 6..<8: try endOne(Int.random(in: 0..<4, using: &chance) > 0 ? .delivered : .outdated)
            case 8..<10: try endOne(.stopped)
            case 10:
                let numbers = state.items.values.flatMap { $0.deliveries.map(\.number) }
                let spared = numbers.sorted().filter { _ in Int.random(in: 0..<4, using: &chance) == 0 }
                let reason = Reason(code: "refused", text: "no")
                let isForGood = Bool.random(using: &chance)
                try endOne(
                    .failed(
                        isOfDestination: Bool.random(using: &chance), sparing: Set(spared),
                        forGood: isForGood ? reason : nil))
            case 11, 12:
                guard let caller = waiting.sorted().randomElement(using: &chance) else { break }
                let item = state.items.values.first { $0.deliveries.contains { $0.callers.contains(caller) } }
                try take(state.leave(caller, of: try #require(item).key))
            case 13:
                try take(state.cancel(key, Bool.random(using: &chance) ? .keepingPartial : .discardingPartial) ?? [])
            case 14: try take(state.pause(key) ?? [])
            case 15: try take(state.resume(key) ?? [])
            case 16: try take(Bool.random(using: &chance) ? state.pauseAll() : state.resumeAll())
            case 17: try take(state.setMaximumRunning(Int.random(in: 1...4, using: &chance)))
            case 18:
                state.releaseMemory()
                try take([])
            case 19:
                let numbers = state.items[key]?.deliveries.map(\.number) ?? []
                let rejected = numbers.filter { _ in Bool.random(using: &chance) }
                try take(state.reject(key, Set(rejected)))
            case 20, 21:
                guard let (key, run) = runs.sorted(by: { $0.key < $1.key }).randomElement(using: &chance) else { break }
                resuming.remove(key)
                if Bool.random(using: &chance) {
                    state.slots.pause(run)
                    // One that has ended.
                    state.slots.pause(-1)
                } else if !state.slots.start(run, at: Self.host(key), mayBegin: true) {
                    resuming.insert(key)
                }
                try take(state.schedule())
            default: try dropOne()
            }
        }
    }

    @Test("Any operations, in any order", arguments: 0..<400)
    func walk(seed: UInt64) throws {
        var walk = Walk(
            state: QueueState(
                order: seed % 2 == 0 ? .lastInFirstOut : .firstInFirstOut, maximumRunning: 3,
                maximumPerHost: seed % 4 < 2 ? nil : 1),
            chance: SplitMix64(seed: seed))
        if seed % 3 == 0 {
            for number in 0..<6 {
                walk.state.restore(
                    .init("\(number)", to: "/0", at: "h\(number % 3)"), rank: Int64(number / 3),
                    isPaused: number % 3 == 0,
                    isReady: number % 2 == 0)
            }
        }
        for _ in 0..<300 { try walk.step() }
        if seed % 5 == 0 {
            try walk.take(walk.state.close())
            #expect(walk.waiting.isEmpty, "closing answers everybody")
            while !walk.runs.isEmpty { try walk.endOne(.stopped) }
            return
        }
        // Everything finishes once it may.
        try walk.take(walk.state.resumeAll())
        for number in 0..<12 { try walk.take(walk.state.resume("\(number)") ?? []) }
        while !walk.runs.isEmpty || !walk.dropping.isEmpty {
            try walk.endOne(.delivered)
            try walk.dropOne()
        }
        #expect(walk.state.isIdle)
        #expect(walk.waiting.isEmpty, "everybody was answered")
    }
}
