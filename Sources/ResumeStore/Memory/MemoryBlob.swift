internal import Synchronization

/// The received bytes of one download in memory, from offset 0 without gaps.
///
/// A class with a lock, so that they can be passed to the next user of the entry without a copy.
final class MemoryBlob: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        /// The reserved capacity in bytes.
        var room = 0
    }

    private let state = Mutex(State())

    /// The maximum initial capacity, so that a length announced by a server cannot allocate more.
    private static let firstRoom = 64 << 10

    /// The reserved capacity in bytes.
    var room: Int { state.withLock { $0.room } }

    /// Returns the first bytes.
    func bytes(count: Int) -> [UInt8] {
        state.withLock { state in
            state.bytes.count == count ? state.bytes : Array(state.bytes.prefix(count))
        }
    }

    /// Returns the bytes of a range, as far as they exist.
    func bytes(in range: Range<Int>) -> [UInt8] {
        state.withLock { Array($0.bytes[range.clamped(to: $0.bytes.indices)]) }
    }

    /// Frees unused capacity.
    ///
    /// - Returns: The remaining capacity in bytes.
    func trim() -> Int {
        state.withLock { state in
            // Not worth a copy for small amounts.
            if state.room - state.bytes.count > state.bytes.count / 8 {
                var exact: [UInt8] = []
                exact.reserveCapacity(state.bytes.count)
                exact.append(contentsOf: state.bytes)
                state = State(bytes: exact, room: exact.count)
            }
            return state.room
        }
    }

    /// Appends bytes.
    ///
    /// The capacity doubles when needed, so that it follows the received bytes and not the announced length.
    ///
    /// - Parameters:
    ///   - part: The bytes.
    ///   - offset: Their offset: the end, or before it, where they replace the bytes from there on.
    ///   - limit: The maximum length.
    ///   - reserve: Called to reserve capacity, with the required and the desired one; returns the granted one.
    /// - Throws: The errors of `reserve`; ``StoreError``: `tooLarge` beyond the limit, `misuse` for an offset after the
    ///   end.
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

    /// Reads up to the buffer's size from an offset; fewer bytes only at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        state.withLock { state in
            guard let start = Int(exactly: offset), (0...state.bytes.count).contains(start) else { return 0 }
            let count = min(buffer.count, state.bytes.count - start)
            unsafe buffer.copyBytes(from: state.bytes[start..<start + count])
            return count
        }
    }
}

/// The storage of a body in memory.
struct MemoryBody: BodyStorage {
    let blob: MemoryBlob
    let store: MemoryStore
    let key: String
    /// The maximum length of the blob.
    let limit: Int

    func write(_ bytes: RawSpan, at offset: Int64) throws {
        try blob.append(bytes, at: offset, limit: limit) { try store.reserve($0, for: key) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        unsafe blob.read(into: buffer, at: offset)
    }
}
