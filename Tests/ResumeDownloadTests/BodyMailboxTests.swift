import ResumeDownload
import Synchronization
import Testing

/// The mailbox that passes a body from any client to its reader.
@Suite(.timeLimit(.minutes(10)))
struct BodyMailboxTests {
    private struct Part: BodyMailbox.Part {
        let bytes: [UInt8]

        var cost: Int { bytes.count }
        func read(_ body: (RawSpan) throws -> Bool) throws -> Bool { try body(bytes.span.bytes) }
    }

    private struct Dropped: Error {}

    /// What a reader received: the size of each piece, and all the bytes.
    private final class Passed: Sendable {
        private let state = Mutex((counts: [Int](), bytes: [UInt8]()))

        var counts: [Int] { state.withLock { $0.counts } }
        var bytes: [UInt8] { state.withLock { $0.bytes } }

        func add(_ span: RawSpan) {
            state.withLock { state in
                state.counts.append(span.byteCount)
                span.withUnsafeBytes { state.bytes.append(contentsOf: $0) }
            }
        }
    }

    private let mailbox = BodyMailbox(noHead: TransportError(.connectionClosed, "no head"))
    private let passed = Passed()
    /// Larger than the pieces that the reader receives, and not a multiple of them.
    private let long = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 / 251) }

    @Test("A reader may stop within a part; its rest comes on the next read, before the next part")
    func stopping() async throws {
        let isFull = !mailbox.add(Part(bytes: long + long))
        #expect(isFull)
        let hasRoom = Atomic(false)
        mailbox.whenRoom { hasRoom.store(true, ordering: .relaxed) }
        for count in 1...3 {
            #expect(try await read { _ in false }, "after a stop there is more")
            #expect(passed.counts == Array(repeating: 256 << 10, count: count))
            let isToldOfRoom = hasRoom.load(ordering: .relaxed)
            #expect(!isToldOfRoom, "what is left of a part still takes its memory")
        }
        mailbox.end(with: nil)
        #expect(try await !read { _ in true }, "that was all")
        let isToldOfRoom = hasRoom.load(ordering: .relaxed)
        #expect(isToldOfRoom)
        #expect(passed.bytes == long + long)
        #expect(passed.counts.allSatisfy { $0 <= 256 << 10 })
    }

    @Test("Parts are passed in order; those added during a call to a reader come after it")
    func order() async throws {
        _ = mailbox.add(Part(bytes: [1]))
        _ = mailbox.add(Part(bytes: long))
        let isAdded = Atomic(false)
        let hasMore = try await read { _ in
            if !isAdded.exchange(true, ordering: .relaxed) {
                _ = mailbox.add(Part(bytes: [2, 3]))
                mailbox.end(with: nil)
            }
            return true
        }
        #expect(!hasMore && passed.bytes == [1] + long + [2, 3])
    }

    @Test("Data dropped during a call to a reader is not passed, and the reader gets the reason")
    func dropping() async throws {
        _ = mailbox.add(Part(bytes: long))
        await #expect(throws: Dropped.self) {
            _ = try await read { _ in
                mailbox.end(with: Dropped(), drops: true)
                return true
            }
        }
        #expect(passed.counts == [256 << 10])
        let hasRoom = mailbox.add(Part(bytes: [1]))
        #expect(hasRoom, "after the end nothing is kept")
        await #expect(throws: Dropped.self) { _ = try await read { _ in true } }
        #expect(passed.counts == [256 << 10])
    }

    private func read(_ goesOn: @escaping @Sendable (RawSpan) -> Bool) async throws -> Bool {
        try await mailbox.read(
            { [passed] span in
                passed.add(span)
                return goesOn(span)
            }, start: { _, _ in mailbox.drain() })
    }
}
