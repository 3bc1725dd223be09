@testable import ResumeStore
import Testing

/// Every short history of a part, and long random ones, against a model of its rows.
@Suite("The ledger of a part", .timeLimit(.minutes(5)))
struct PartLedgerTests {
    @Test("No history of up to five steps breaks a promise", arguments: [false, true])
    func exhaustive(isGrowing: Bool) throws {
        var visited = 0
        func visit(_ model: Model, depth: Int) throws {
            visited += 1
            try model.end()
            guard depth > 0 else { return }
            for step in Model.Step.allCases {
                var next = model
                guard try next.take(step) else { continue }
                try visit(next, depth: depth - 1)
            }
        }
        try visit(Model(isGrowing: isGrowing), depth: 5)
        #expect(visited > 20_000)
    }

    @Test("Nor does a long random one", arguments: 1...200 as ClosedRange<UInt64>)
    func random(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        var model = Model(isGrowing: seed % 2 == 0)
        for _ in 0..<120 {
            if let step = Model.Step.allCases.randomElement(using: &generator) { _ = try model.take(step) }
        }
        try model.end()
    }
}

/// Fixed random numbers.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A part whose rows are kept as the database would.
private struct Model {
    enum Step: CaseIterable {
        case small, large, shortTime, longTime
        case body, bodyWithBorder, bodyWithDigest, shorten, compared
        case beginCommit, commit, failCommit
        case beginFlush, flush
    }

    struct Broken: Error { var promise: String }

    private let isGrowing: Bool
    private var now = Duration.zero
    private var ledger: PartLedger
    private var pieces: [Int64] = []
    private var received: Int64 = Self.start
    private var border: Int64?
    private var awaitsDigest = false
    private var lastCommit = Duration.zero
    /// What commits have recorded: the end of the bytes, and the checksums by offset.
    private var recorded: Int64 = Self.start
    private var blocks: [Int64: Block] = [:]
    private var committing: PartLedger.Commit?
    private var flushing: (flush: PartLedger.Commit, recorded: Int64)?

    private static let start: Int64 = 1000

    init(isGrowing: Bool) {
        self.isGrowing = isGrowing
        let row = PartReference(id: 1, generation: 2, offset: 0)
        ledger = PartLedger(row, received: Self.start, durable: 500, isFollowed: false, at: .zero)
        if isGrowing { ledger.pace = .rarely(upTo: 4 << 20) }
    }

    /// - Returns: False if the step is not possible now.
    mutating func take(_ step: Step) throws -> Bool {
        switch step {
        case .small: receive(300 << 10)
        case .large: receive(1100 << 10)
        case .shortTime: now += .milliseconds(15)
        case .longTime: now += .milliseconds(1200)
        case .body:
            (border, awaitsDigest) = (nil, false)
            ledger.beginBody(upTo: nil, isHeldBack: false, awaitsDigest: false, representationEnd: nil)
        case .bodyWithBorder, .bodyWithDigest:
            let end = received + 900 << 10
            border = PartLedger.border(end)
            awaitsDigest = step == .bodyWithDigest
            ledger.beginBody(upTo: end, isHeldBack: true, awaitsDigest: awaitsDigest, representationEnd: nil)
        case .shorten:
            // Another stream takes over at an offset that has been reached, almost.
            let end = received + 1000
            border = PartLedger.border(end)
            ledger.shorten(to: end)
        case .compared:
            if !awaitsDigest { border = nil }
            ledger.wasCompared()
        case .beginCommit:
            guard committing == nil else { return false }
            committing = ledger.commit(at: now)
            guard let committing else {
                try expect(recordable <= recorded, "bytes that can be recorded are")
                return false
            }
            lastCommit = now
            try expect(committing.end <= mostRecordable, "nothing behind the border is recorded")
            try expect(committing.end >= recordable, "everything else is, if a block ends at the border")
        case .commit:
            guard let commit = committing else { return false }
            committing = nil
            recorded = max(recorded, commit.end)
            for block in commit.blocks { blocks[block.offset] = block }
            ledger.wasRecorded(commit)
        case .failCommit:
            guard committing != nil else { return false }
            committing = nil
        case .beginFlush:
            guard flushing == nil, let flush = ledger.beginFlush() else { return false }
            flushing = (flush, recorded)
        case .flush:
            guard let (flush, recorded) = flushing else { return false }
            flushing = nil
            ledger.wasFlushed(flush)
            try expect(ledger.durable <= recorded, "only what was recorded when a flush began is durable")
        }
        try check()
        return true
    }

    private mutating func receive(_ count: Int64) {
        var rest = count
        while rest > 0 {
            let start = ledger.growingBlock
            let next = min(rest, ledger.roomInBlock)
            var block = start
            block.length += next
            block.checksum = Self.checksum(start.checksum, next)
            _ = ledger.receive(extending: start, to: block)
            pieces.append(next)
            received += next
            rest -= next
        }
    }

    /// The end of what can be recorded: up to the border, if a block could end there and no digest is awaited.
    private var recordable: Int64 {
        guard let border, received > border else { return received }
        if awaitsDigest { return recorded }
        var end = Self.start
        let ends = pieces.map { count in
            end += count
            return end
        }
        return ends.contains(border) ? max(recorded, border) : recorded
    }

    /// The most that may be: less is recorded only if no block ends at the border.
    private var mostRecordable: Int64 {
        awaitsDigest && received > border ?? .max ? recorded : min(received, border ?? .max)
    }

    private static func checksum(_ before: UInt32, _ count: Int64) -> UInt32 { before &* 31 &+ UInt32(count) }

    /// What holds after each step.
    private func check() throws {
        try expect(ledger.received == received && ledger.recorded == recorded, "the ledger counts what happened")
        try expect(ledger.durable <= recorded && recorded <= received, "each survives less than the one before")
        var (end, index) = (Self.start, pieces.startIndex)
        for block in blocks.values.sorted(by: { $0.offset < $1.offset }) {
            try expect(block.offset == end, "recorded blocks lie side by side")
            var checksum: UInt32 = 0
            while end < block.end, index < pieces.endIndex {
                checksum = Self.checksum(checksum, pieces[index])
                end += pieces[index]
                index += 1
            }
            try expect(end == block.end && checksum == block.checksum, "a block's checksum is that of its bytes")
        }
        try expect(end == recorded, "recorded blocks cover the recorded bytes")
        let unrecorded = max(recordable - recorded, 0)
        let (limit, delay): (Int64, Duration) =
            isGrowing && recorded > 0 ? (4 << 20, .seconds(1)) : (PartLedger.unrecordedLimit, .milliseconds(200))
        let isAtBorder = !isGrowing && !awaitsDigest && received >= border ?? .max
        let isLate = unrecorded >= limit || now - lastCommit >= delay || isAtBorder
        try expect(unrecorded == 0 || !isLate || ledger.isDue(at: now), "a commit is due at the bound")
        try expect(mostRecordable > recorded || !ledger.isDue(at: now), "and only if there is something to record")
    }

    /// However it stands, one commit more records everything.
    func end() throws {
        var model = self
        if model.committing != nil { _ = try model.take(.commit) }
        _ = try model.take(model.awaitsDigest ? .body : .compared)
        if try model.take(.beginCommit) { _ = try model.take(.commit) }
        try expect(model.recorded == model.received, "everything can be recorded in the end")
    }

    private func expect(_ condition: Bool, _ promise: String) throws {
        if !condition { throw Broken(promise: promise) }
    }
}
