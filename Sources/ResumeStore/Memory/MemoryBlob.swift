internal import Synchronization

/// The bytes of one partial in memory, from 0 on without a gap.
///
/// A class with a lock, since whoever waits for the entry takes them over without a copy.
final class MemoryBlob: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        /// How many bytes there is room for.
        var room = 0
    }

    private let state = Mutex(State())

    /// What is made room for at once, at most: a length that a server announces allocates no more than this.
    private static let firstRoom = 64 << 10

    /// How many bytes there is room for.
    var room: Int { state.withLock { $0.room } }

    /// The first bytes.
    func bytes(count: Int) -> [UInt8] {
        state.withLock { state in
            state.bytes.count == count ? state.bytes : Array(state.bytes.prefix(count))
        }
    }

    /// Some of the bytes, as far as they are there.
    func bytes(in range: Range<Int>) -> [UInt8] {
        state.withLock { Array($0.bytes[range.clamped(to: $0.bytes.indices)]) }
    }

    /// Gives back what was made room for and not used.
    ///
    /// - Returns: How many bytes there is room for now.
    func trim() -> Int {
        state.withLock { state in
            // Not worth a copy for a little.
            if state.room - state.bytes.count > state.bytes.count / 8 {
                var exact: [UInt8] = []
                exact.reserveCapacity(state.bytes.count)
                exact.append(contentsOf: state.bytes)
                state = State(bytes: exact, room: exact.count)
            }
            return state.room
        }
    }

    /// Adds bytes at the end.
    ///
    /// Room grows to twice what it was each time, so that it follows what has come, not what was announced.
    ///
    /// - Parameters:
    ///   - part: The bytes.
    ///   - offset: Where they belong: the end, or before it, and then they take the place of what is there.
    ///   - limit: The longest that it may become.
    ///   - reserve: Asked for more room: how much is needed and how much would be better; tells how much there is.
    /// - Throws: What `reserve` throws; ``StoreError`` with `tooLarge` beyond the limit.
    func append(_ part: RawSpan, at offset: Int64, limit: Int, reserve: (ClosedRange<Int>) throws -> Int) throws {
        try state.withLock { state in
            guard let start = Int(exactly: offset), (0...state.bytes.count).contains(start) else {
                throw StoreError(.misuse, "bytes were written beyond the end of the received bytes")
            }
            let (end, overflow) = start.addingReportingOverflow(part.byteCount)
            guard !overflow, end <= limit else {
                throw StoreError.tooLarge(receiving: Int64(clamping: end), limit: Int64(limit))
            }
            if end > state.room {
                let room = try reserve(end...min(max(end, 2 * state.room, Self.firstRoom), limit))
                state.bytes.reserveCapacity(room)
                state.room = room
            }
            state.bytes.removeLast(state.bytes.count - start)
            unsafe part.withUnsafeBytes { unsafe state.bytes.append(contentsOf: $0) }
        }
    }

    /// Reads up to the buffer's size from an offset; less only at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        state.withLock { state in
            guard let start = Int(exactly: offset), (0...state.bytes.count).contains(start) else { return 0 }
            let count = min(buffer.count, state.bytes.count - start)
            unsafe buffer.copyBytes(from: state.bytes[start..<start + count])
            return count
        }
    }
}

/// Where a body goes in memory, as far as there is room.
struct MemoryBody: BodyStorage {
    let blob: MemoryBlob
    let store: MemoryStore
    let key: String
    /// The longest that the blob may become.
    let limit: Int

    func write(_ bytes: RawSpan, at offset: Int64) throws {
        try blob.append(bytes, at: offset, limit: limit) { try store.reserve($0, for: key) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        unsafe blob.read(into: buffer, at: offset)
    }
}
