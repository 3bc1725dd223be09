import Foundation
import HTTPTypes
@testable import ResumeHTTP
import ResumeMaintenance
@testable import ResumeStore
import TestSupport
import Testing

/// Several streams into one blob: rows, boundaries, a kill at each step, and resuming with a different number of
/// streams.
@Suite(.timeLimit(.minutes(10)))
struct SegmentTests {
    static let server = HonestServer(sampleBytes(8_000_000))
    static let url = DownloadStore.testURL

    /// Begins the first stream: the whole file, with nothing written yet.
    static func start(_ transfer: Transfer, of server: HonestServer = server) async throws {
        let plan = await transfer.plan()
        _ = try await transfer.receive(server.answer(plan.fields).head, to: plan)
    }

    /// Runs a test on a transfer of a new store whose first stream has begun, and closes both.
    static func withStarted(_ body: (TemporaryFolder, Transfer) async throws -> Void) async throws {
        try await DownloadStore.with { store, folder in
            let transfer = try await store.begin()
            try await start(transfer)
            try await body(folder, transfer)
            try await transfer.close()
        }
    }

    /// Opens a stream for a range, as the engine does.
    ///
    /// - Returns: The stream and the bytes of its body.
    static func open(
        _ range: Range<Int64>, in transfer: Transfer, of server: HonestServer = server, splitting running: PartStream?
    ) async throws -> (segment: PartStream, body: [UInt8])? {
        guard let continuation = try await continuation(range, in: transfer, of: server) else { return nil }
        guard let segment = try await transfer.open(continuation, splitting: running) else { return nil }
        return (segment, Array(server.content[Int(continuation.bodyStart)..<Int(range.upperBound)]))
    }

    /// The same for a stream that must be opened.
    static func opened(
        _ range: Range<Int64>, in transfer: Transfer, of server: HonestServer = server, splitting running: PartStream?
    ) async throws -> (segment: PartStream, body: [UInt8]) {
        try #require(try await open(range, in: transfer, of: server, splitting: running))
    }

    /// The continuation that follows from the answer to a range request.
    static func continuation(
        _ range: Range<Int64>, in transfer: Transfer, of server: HonestServer = server
    ) async throws -> Verdict.Continuation? {
        let stored = try #require(await transfer.partial.representation)
        let request = Plan.RangeRequest(
            segment: range, held: await transfer.heldRanges, validator: stored.validator, policy: await transfer.policy)
        return answer(to: request, of: server, stored: stored)?.0
    }

    /// The decision about the answer to a segment's request, and the bytes of its body; nil if the answer is not used.
    static func answer(
        to request: Plan.RangeRequest, of server: HonestServer = server, stored: Representation
    ) -> (Verdict.Continuation, body: Range<Int>)? {
        let (head, body) = server.answer(Plan.range(request).fields)
        let verdict = SegmentVerdict(for: head, to: request, stored: stored, policy: ResumePolicy())
        guard case .use(let continuation) = verdict else { return nil }
        return (continuation, body)
    }

    static func append(_ bytes: some Collection<UInt8>, to segment: PartStream) throws {
        let bytes = Array(bytes)
        for start in stride(from: 0, to: bytes.count, by: PartStream.pieceSize) {
            let end = min(start + PartStream.pieceSize, bytes.count)
            if try !segment.append(bytes.span.bytes.extracting(start..<end)) { try segment.recordIfDue() }
        }
    }

    /// Fetches the missing bytes over several streams, taking a piece from each in turn.
    static func finish(_ transfer: Transfer, streams: Int, of server: HonestServer = server) async throws {
        while await !transfer.isComplete {
            let plan = await transfer.plan()
            let (head, body) = server.answer(plan.fields)
            _ = try await transfer.receive(head, to: plan)
            var open: [(segment: PartStream, body: ArraySlice<UInt8>)] = [(transfer.main, server.content[body][...])]
            var segments = SegmentPlan(length: Int64(server.content.count), connections: streams)
            while !open.isEmpty {
                let state = SegmentPlan.State(
                    held: await transfer.heldRanges,
                    running: open.enumerated().map {
                        .init(id: $0.offset, position: $0.element.segment.held, end: $0.element.segment.end)
                    }, now: 0)
                for action in segments.actions(state) {
                    guard case .open(let range, let splitting) = action else { continue }
                    let opened = try await Self.open(
                        range, in: transfer, of: server, splitting: splitting.map { open[$0].segment })
                    if let opened { open.append((opened.segment, opened.body[...])) }
                }
                for index in open.indices {
                    let piece = open[index].body.prefix(200_000)
                    open[index].body = open[index].body.dropFirst(200_000)
                    try append(piece, to: open[index].segment)
                }
                open.removeAll { $0.body.isEmpty || $0.segment.hasAllWanted }
            }
            _ = try await transfer.endBody(.cut)
        }
    }

    /// Checks that the contents of the store lead to the right file.
    static func recover(_ folder: TemporaryFolder, streams: Int) async throws {
        let store = try await DownloadStore.open(at: folder["store"])
        let damage = try await store.verify().filter { $0.kind != .orphan }
        #expect(damage.isEmpty, "\(damage)")
        let transfer = try await store.begin()
        try await finish(transfer, streams: streams)
        try await transfer.deliver(to: folder["out"])
        #expect(try Files.matches(folder["out"], server.content))
        #expect(try await store.totals() == Totals(entries: 0, receivedBytes: 0))
        #expect(try await store.verify().allSatisfy { $0.kind == .orphan })
        await store.close()
    }

    @Test("A boundary is not recorded uncompared because another stream of the same bytes has ended")
    func borderOfSuccessor() async throws {
        try await Self.withStarted { _, transfer in
            try Self.append(Self.server.content[..<2_000_000], to: transfer.main)
            let behind = try await Self.opened(3_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            try Self.append(behind.body.prefix(100_000), to: behind.segment)
            // The first stream dies here. Another one continues it up to the boundary, and is cut there.
            let next = try await Self.opened(2_000_000..<3_000_000, in: transfer, splitting: nil)
            try Self.append(next.body, to: next.segment)
            #expect(next.segment.isAtBorder)
            _ = try await transfer.endBody(.cut)
            #expect(await transfer.heldRanges == [0..<2_995_904, 3_000_000..<3_100_000])
        }
    }

    @Test("Streams write side by side into one blob, and together they make up the file", arguments: [2, 3, 7])
    func sideBySide(streams: Int) async throws {
        try await TemporaryFolder.with { folder in try await Self.recover(folder, streams: streams) }
    }

    @Test("A concurrent reader continues across stream boundaries and across bytes stored behind a gap")
    func readAlong() async throws {
        try await DownloadStore.with { store, _ in
            let first = try await store.begin()
            try await Self.start(first)
            let third = try await Self.opened(6_000_000..<8_000_000, in: first, splitting: first.main)
            let second = try await Self.opened(4_000_000..<6_000_000, in: first, splitting: first.main)
            try Self.append(third.body, to: third.segment)
            try Self.append(second.body[..<1_000_000], to: second.segment)
            #expect(first.heldView.held == 0)
            try Self.append(Self.server.content[..<4_000_000], to: first.main)
            #expect(first.heldView.held == 4_000_000, "what lies behind the border is to be compared yet")
            try Self.append(Self.server.content[4_000_000..<4_100_000], to: first.main)
            #expect(first.heldView.held == 5_000_000)
            let epoch = first.heldView.epoch
            let read = try first.readNow(3_999_000..<5_000_000, in: epoch)
            #expect(read == Array(Self.server.content[3_999_000..<5_000_000]))
            _ = try await first.endBody(.cut)
            #expect(first.heldView.held == 5_000_000 && first.heldView.epoch == epoch)
            try await first.close()

            let next = try await store.begin()
            try await Self.start(next)
            #expect(next.heldView.held == 5_000_000)
            let overlap = 5_000_000 - Int(ResumePolicy.defaultOverlap)
            try Self.append(Self.server.content[overlap..<6_000_000], to: next.main)
            #expect(next.heldView.held == 6_000_000)
            let compared = 6_000_000 + Int(ResumePolicy.defaultOverlap)
            try Self.append(Self.server.content[6_000_000..<compared], to: next.main)
            #expect(next.heldView.held == 8_000_000, "without waiting for the end of the body")
            try await next.close()
        }
    }

    @Test("A shortened stream stops at the boundary and compares later bytes with its successor's")
    func border() async throws {
        try await Self.withStarted { folder, transfer in
            let second = try await Self.opened(4_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            #expect(transfer.main.end == 4_000_000)
            try Self.append(second.body, to: second.segment)
            try Self.append(Self.server.content[..<4_000_100], to: transfer.main)
            #expect(transfer.main.held == 4_000_000)
            #expect(!transfer.main.hasAllWanted, "some of the next bytes are to be compared yet")
            try Self.append(Self.server.content[4_000_100..<4_500_000], to: transfer.main)
            #expect(transfer.main.hasAllWanted)
            #expect(try await transfer.endBody(.cut))
            try await transfer.deliver(to: folder["out"])
            #expect(try Files.matches(folder["out"], Self.server.content))
        }
    }

    @Test("A boundary that was not compared leaves a gap", arguments: [0, 100_000])
    func uncompared(surplus: Int) async throws {
        try await Self.withStarted { _, transfer in
            let second = try await Self.opened(4_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            // There is nothing to compare yet, whether or not the next bytes arrive.
            try Self.append(Self.server.content[..<(4_000_000 + surplus)], to: transfer.main)
            #expect(transfer.main.isAtSuccessor && transfer.main.hasAllWanted == (surplus > 0))
            try Self.append(second.body, to: second.segment)
            #expect(try await !transfer.endBody(.cut))
            let held = await transfer.heldRanges
            let first = try #require(held.first)
            #expect(held.count == 2 && held.last == 4_000_000..<8_000_000)
            #expect(first.upperBound == 4_000_000 - 4096)
            // The stream that fills it compares the bytes on both sides.
            let plan = await transfer.plan()
            let range = "bytes=\(first.upperBound - 4096)-\(4_000_000 + 4095)"
            #expect(plan.fields[.range] == range)
        }
    }

    @Test("A stream that begins where an unfinished one ends is compared with it", arguments: [0, 4096])
    func atEndOfOther(surplus: Int) async throws {
        try await Self.withStarted { _, transfer in
            let second = try await Self.opened(4_000_000..<6_000_000, in: transfer, splitting: transfer.main)
            let other = HonestServer(sampleBytes(8_000_000, seed: 5))
            let third = try await Self.opened(6_000_000..<8_000_000, in: transfer, of: other, splitting: nil)
            try Self.append(third.body, to: third.segment)
            try Self.append(second.body, to: second.segment)
            #expect(second.segment.isAtSuccessor)
            if surplus > 0 {
                #expect(throws: StoreError(.heldBytesDiffer, "")) {
                    try Self.append(Self.server.content[6_000_000..<6_000_000 + surplus], to: second.segment)
                }
            }
            _ = try await transfer.endBody(.cut)
            #expect(await transfer.heldRanges == [4_000_000..<6_000_000 - 4096, 6_000_000..<8_000_000])
        }
    }

    @Test("A stream requested before any bytes were stored behind it is compared with those stored on arrival")
    func askedBefore() async throws {
        try await Self.withStarted { _, transfer in
            let stored = try #require(await transfer.partial.representation)
            let asked = Plan.RangeRequest(
                segment: 2_000_000..<4_000_000, held: [], validator: stored.validator, policy: ResumePolicy())
            let last = try await Self.opened(4_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            try Self.append(last.body, to: last.segment)
            let (continuation, body) = try #require(Self.answer(to: asked, stored: stored))
            let segment = try #require(try await transfer.open(continuation, splitting: transfer.main))
            try Self.append(Self.server.content[body], to: segment)
            _ = try await transfer.endBody(.cut)
            #expect(await transfer.heldRanges == [2_000_000..<4_000_000 - 4096, 4_000_000..<8_000_000])
        }
    }

    @Test("If all answers end where bytes are stored behind a gap, the next plan requests the whole file")
    func alignedAnswers() async throws {
        try await Self.withStarted { folder, transfer in
            let second = try await Self.opened(4_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            try Self.append(second.body, to: second.segment)
            try Self.append(Self.server.content[..<1_000_000], to: transfer.main)
            _ = try await transfer.endBody(.cut)
            for hasRange in [true, true, false] {
                let plan = await transfer.plan()
                #expect((plan.fields[.range] != nil) == hasRange)
                var asked = plan.fields
                if let range = asked[.range] { asked[.range] = "\(range.prefix { $0 != "-" })-3999999" }
                let (head, body) = Self.server.answer(asked)
                _ = try await transfer.receive(head, to: plan)
                try Self.append(Self.server.content[body], to: transfer.main)
                #expect(try await transfer.endBody(.whole) != hasRange)
            }
            try await transfer.deliver(to: folder["out"])
            #expect(try Files.matches(folder["out"], Self.server.content))
        }
    }

    /// How an answer ends that has nothing stored behind the gap to compare with.
    enum GapEnd: String, CaseIterable, Codable {
        case cut, announced, closed, overlap
    }

    @Test("The end of a gap counts once it has been compared with the bytes behind it", arguments: GapEnd.allCases)
    func farSide(end: GapEnd) async throws {
        try await DownloadStore.with { store, folder in
            let first = try await store.begin()
            try await Self.start(first)
            let second = try await Self.opened(4_000_000..<8_000_000, in: first, splitting: first.main)
            try Self.append(second.body.prefix(1_000_000), to: second.segment)
            try Self.append(Self.server.content[..<1_000_000], to: first.main)
            try await first.close()

            let transfer = try await store.begin()
            let plan = await transfer.plan()
            #expect(plan.fields[.range] == "bytes=995904-4004095")
            var asked = plan.fields
            if end == .announced { asked[.range] = "bytes=995904-3999999" }
            _ = try await transfer.receive(Self.server.answer(asked).head, to: plan)
            let last = end == .overlap ? 4_004_096 : end == .cut ? 4_000_100 : 4_000_000
            try Self.append(Self.server.content[995_904..<last], to: transfer.main)
            #expect(transfer.main.held == 4_000_000)
            if end != .closed { _ = try await transfer.endBody(end == .announced ? .whole : .cut) }
            try await transfer.close()

            let again = try await store.begin()
            let held = await again.heldRanges
            #expect(held.last?.upperBound == 5_000_000)
            let gap = try #require(held.first).upperBound
            if end == .overlap {
                #expect(held.count == 1)
            } else {
                #expect(held.count == 2 && gap == 4_000_000 - 4096)
                #expect(await again.plan().fields[.range] == "bytes=\(gap - 4096)-4004095")
            }
            try await again.close()
            await store.close()
            try await Self.recover(folder, streams: 2)
        }
    }

    @Test("A stream adjoining bytes that have grown since its request is of no use")
    func nearSide() async throws {
        try await Self.withStarted { _, transfer in
            let second = try await Self.opened(4_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            try Self.append(second.body.prefix(6), to: second.segment)
            let held = await transfer.heldRanges
            #expect(held == [4_000_000..<4_000_006])
            let stored = try #require(await transfer.partial.representation)
            let few = Plan.RangeRequest(
                segment: 4_000_006..<8_000_000, held: held, validator: stored.validator, policy: ResumePolicy())
            #expect(few.start == 4_000_000)
            try Self.append(Self.server.content[..<4_000_000], to: transfer.main)
            let (continuation, _) = try #require(Self.answer(to: few, stored: stored))
            let refused = try await transfer.open(continuation, splitting: nil)
            #expect(refused == nil)
            let opened = try await Self.open(4_000_006..<8_000_000, in: transfer, splitting: nil)
            #expect(opened != nil)
        }
    }

    @Test("Bytes dropped from the start of a part are dropped for readers too")
    func rewindToPart() async throws {
        try await Self.withStarted { _, transfer in
            let second = try await Self.opened(4_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            try Self.append(second.body.prefix(1_000_000), to: second.segment)
            try Self.append(Self.server.content[..<4_004_096], to: transfer.main)
            _ = try await transfer.endBody(.cut)
            let epoch = transfer.heldView.epoch
            #expect(transfer.heldView.held == 5_000_000)
            try await transfer.rewind(to: 4_000_000, reason: Reason(code: "test", text: ""))
            #expect(transfer.heldView.held == 4_000_000)
            #expect(transfer.heldView.epoch != epoch)
        }
    }

    @Test("An answer before the end of a body that waits for comparison is refused")
    func answerAtBorder() async throws {
        try await Self.withStarted { _, transfer in
            _ = try await Self.opened(4_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            try Self.append(Self.server.content[..<4_000_000], to: transfer.main)
            let plan = await transfer.plan()
            let (head, _) = Self.server.answer(plan.fields)
            await #expect(throws: StoreError(.misuse, "")) { _ = try await transfer.receive(head, to: plan) }
            _ = try await transfer.endBody(.cut)
            let next = await transfer.plan()
            _ = try await transfer.receive(Self.server.answer(next.fields).head, to: next)
        }
    }

    @Test("Different bytes with the same entity tag are found at the boundary", arguments: [true, false])
    func otherBytes(secondIsOther: Bool) async throws {
        try await Self.withStarted { _, transfer in
            let other = HonestServer(sampleBytes(8_000_000, seed: 5))
            let (first, second) = secondIsOther ? (Self.server, other) : (other, Self.server)
            let opened = try await Self.opened(
                4_000_000..<8_000_000, in: transfer, of: second, splitting: transfer.main)
            try Self.append(opened.body.prefix(100_000), to: opened.segment)
            #expect(throws: StoreError(.heldBytesDiffer, "")) {
                try Self.append(first.content[..<4_500_000], to: transfer.main)
            }
        }
    }

    @Test("A stream that arrives too late, for bytes written since its request, is of no use")
    func tooLate() async throws {
        try await Self.withStarted { folder, transfer in
            try Self.append(Self.server.content[..<5_000_000], to: transfer.main)
            let opened = try await Self.open(4_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            #expect(opened == nil)
            try Self.append(Self.server.content[5_000_000...], to: transfer.main)
            #expect(try await transfer.endBody(.whole))
            try await transfer.deliver(to: folder["out"])
            #expect(try Files.matches(folder["out"], Self.server.content))
        }
    }

    @Test("After a clean stop the bytes of each stream are kept, and no missing byte is claimed")
    func stopped() async throws {
        try await DownloadStore.with { store, folder in
            let transfer = try await store.begin()
            try await Self.start(transfer)
            let third = try await Self.opened(6_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            let second = try await Self.opened(3_000_000..<6_000_000, in: transfer, splitting: transfer.main)
            try Self.append(Self.server.content[..<1_000_000], to: transfer.main)
            try Self.append(second.body.prefix(700_000), to: second.segment)
            try Self.append(third.body.prefix(300_000), to: third.segment)
            #expect(await transfer.receivedBytes == 2_000_000)
            #expect(await transfer.contiguousLength == 1_000_000)
            try await transfer.close()
            let entry = try #require(try await store.entry(for: Self.url))
            #expect(
                entry.chunks.map { $0.offset...$0.offset + $0.length } == [
                    0...1_000_000, 3_000_000...3_700_000, 6_000_000...6_300_000,
                ])
            #expect(entry.durableBytes == 2_000_000)
            #expect(try await store.totals().receivedBytes == 2_000_000)
            await store.close()
            // After a reboot as well.
            try folder.sql("UPDATE download SET boot_id = 'another'")
            let again = try await DownloadStore.open(at: folder["store"])
            let next = try await again.begin()
            #expect(await next.receivedBytes == 2_000_000)
            #expect(await next.plan().fields[.range] == "bytes=995904-3004095", "with bytes to compare on both sides")
            try await next.close()
            await again.close()
            try await Self.recover(folder, streams: 2)
        }
    }

    @Test("A new stream extends the row of the bytes that it adjoins; adjoining parts become one")
    func rows() async throws {
        try await TemporaryFolder.with { folder in
            for round in 0..<6 {
                let store = try await DownloadStore.open(at: folder["store"])
                let transfer = try await store.begin()
                if round == 0 {
                    try await Self.start(transfer)
                    let second = try await Self.opened(4_000_000..<8_000_000, in: transfer, splitting: transfer.main)
                    try Self.append(second.body.prefix(500_000), to: second.segment)
                    try Self.append(Self.server.content[..<100_000], to: transfer.main)
                } else {
                    let plan = await transfer.plan()
                    let (head, body) = Self.server.answer(plan.fields)
                    _ = try await transfer.receive(head, to: plan)
                    try Self.append(Self.server.content[body].prefix(104_096), to: transfer.main)
                    let start = Int64(4_000_000 + round * 500_000)
                    let second = try await Self.opened(start..<8_000_000, in: transfer, splitting: nil)
                    try Self.append(second.body.prefix(504_096), to: second.segment)
                }
                try await transfer.close()
                let entry = try #require(try await store.entry(for: Self.url))
                #expect(entry.chunks.count == 2)
                #expect(entry.receivedBytes == Int64(600_000 * (round + 1)))
                await store.close()
            }
            try await Self.recover(folder, streams: 3)
        }
    }

    /// Three streams, whose process is killed at a given point.
    static func download(in path: String, dyingAt point: KillPoint, occurrence: Int) async throws {
        let store = try await DownloadStore.open(at: "\(path)/store", configuration: .init(durableInterval: 1 << 20))
        let transfer = try await store.begin()
        KillPoint.arm(point, occurrence: occurrence)
        try await finish(transfer, streams: 3)
        try await transfer.deliver(to: "\(path)/out")
    }

    @Test(
        "SIGKILL while several streams write: any other number of streams resumes",
        arguments: [
            KillPoint.segmentOpened, .bytesWritten, .checkpointCommitted, .blobSynced, .durableCommitted,
        ], [1, 2, 7])
    func killed(at point: KillPoint, streams: Int) async throws {
        for occurrence in [1, 2, 5] where occurrence <= 2 || point == .bytesWritten || point == .checkpointCommitted {
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let path = folder.path
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, point = point as KillPoint, occurrence = occurrence as Int] in
                try await SegmentTests.download(in: path, dyingAt: point, occurrence: occurrence)
            }
            try await Self.recover(folder, streams: streams)
        }
    }

    @Test("Without an overlap a stream ends where the next one begins, and nothing is compared")
    func withoutOverlap() async throws {
        try await DownloadStore.with { store, _ in
            let transfer = try await store.open(
                DownloadURL(Self.url), headerFields: [:], policy: ResumePolicy(overlap: 0))
            try await Self.start(transfer)
            let opened = try await Self.open(4_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            let (segment, body) = try #require(opened)
            #expect(transfer.main.end == 4_000_000 && body.count == 4_000_000)
            try Self.append(body, to: segment)
            try Self.append(Self.server.content[..<4_000_100], to: transfer.main)
            #expect(transfer.hasAllWanted)
            #expect(try await transfer.endBody(.cut))
            let isRight = try await transfer.takeData(upTo: .max) == Self.server.content
            #expect(isRight)
        }
    }

    @Test("A stream that would begin where another one already is is not opened, and the other one continues")
    func nothingToSplit() async throws {
        try await Self.withStarted { folder, transfer in
            try Self.append(Self.server.content[..<1_000_000], to: transfer.main)
            let opened = try await Self.open(1_000_000..<8_000_000, in: transfer, splitting: transfer.main)
            #expect(opened == nil)
            #expect(transfer.main.end == 8_000_000)
            try Self.append(Self.server.content[1_000_000...], to: transfer.main)
            #expect(try await transfer.endBody(.whole))
            try await transfer.deliver(to: folder["out"])
        }
    }

    @Test("No stream is opened without a data file or without an end")
    func notOpened() async throws {
        try await Self.withStarted { folder, transfer in
            var endless = Representation(entityTag: EntityTag(rawValue: Self.server.etag))
            endless.acceptsRanges = true
            let reason = Reason(code: "test", text: "Test.")
            let whole = Verdict.Continuation(whole: endless, reason: reason)
            #expect(try await transfer.open(whole, splitting: nil) == nil)
            let continuation = try #require(try await Self.continuation(4_000_000..<8_000_000, in: transfer))
            try await transfer.discard(reason: reason)
            #expect(try await transfer.open(continuation, splitting: nil) == nil)
        }
    }
}
