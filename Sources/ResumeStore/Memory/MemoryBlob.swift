import ResumeHTTP
import Synchronization

/// The received bytes of one download in memory, from offset 0 without gaps.
///
/// A class with a lock, so that they can be passed to the next user of the entry without a copy.
final class MemoryBlob: BodyStorage {
    private struct State {
        var bytes: [UInt8] = []
        /// The reserved capacity in bytes.
        var room = 0
        var owner: RequestIdentity?
    }

    private let state: Mutex<State>
    /// The maximum length.
    private let limit: Int
    /// Reserves capacity, given the required and the desired one, and returns the granted one.
    private let reserve: @Sendable (ClosedRange<Int>) throws -> Int

    /// The maximum initial capacity, so that a length announced by a server cannot allocate more.
    private static let firstRoom = 64 << 10

    init(owner: RequestIdentity?, limit: Int, reserve: @escaping @Sendable (ClosedRange<Int>) throws -> Int) {
        state = Mutex(State(owner: owner))
        self.limit = limit
        self.reserve = reserve
    }

    /// The request that the bytes were fetched with; nil if it is unknown.
    var owner: RequestIdentity? {
        get { state.withLock(\.owner) }
        set { state.withLock { $0.owner = newValue } }
    }

    /// The reserved capacity in bytes.
    var room: Int { state.withLock(\.room) }

    func bytes(count: Int) -> [UInt8] {
        state.withLock { state in
            state.bytes.count == count ? state.bytes : Array(state.bytes.prefix(count))
        }
    }

    /// Frees unused capacity.
    func trim() {
        state.withLock { state in
            // Not worth a copy for small amounts.
            guard state.room - state.bytes.count > state.bytes.count / 8 else { return }
            var exact: [UInt8] = []
            exact.reserveCapacity(state.bytes.count)
            exact.append(contentsOf: state.bytes)
            state.bytes = exact
            state.room = exact.count
        }
    }

    /// Writes bytes at the end, or before it, where they replace all bytes from there on.
    ///
    /// The capacity doubles when needed, so that it follows the received bytes and not the announced length.
    ///
    /// - Throws: ``StoreError``: `tooLarge` beyond the limit, `noSpace` if no capacity is left, `misuse` for an offset
    ///   after the end.
    func write(_ bytes: RawSpan, at offset: Int64) throws {
        try state.withLock { state in
            guard let start = Int(exactly: offset), (0...state.bytes.count).contains(start) else {
                throw StoreError(.misuse, Reason("beyond-received"))
            }
            let (end, overflow) = start.addingReportingOverflow(bytes.byteCount)
            guard !overflow, end <= limit else {
                throw StoreError.tooLarge(receiving: Int64(clamping: end), limit: Int64(limit))
            }
            if end > state.room {
                let room = try reserve(end...min(max(end, 2 * state.room, Self.firstRoom), limit))
                state.bytes.reserveCapacity(room)
                state.room = room
            }
            state.bytes.removeLast(state.bytes.count - start)
            state.bytes.append(bytes)
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        state.withLock { unsafe $0.bytes.copy(to: buffer, from: offset) }
    }
}

extension [UInt8] {
    package mutating func append(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }

    /// Copies up to the buffer's size from an offset, and returns the number of bytes; 0 outside of the array.
    func copy(to buffer: UnsafeMutableRawBufferPointer, from offset: Int64) -> Int {
        guard let start = Int(exactly: offset), indices.contains(start) else { return 0 }
        let rest = self[start...].prefix(buffer.count)
        unsafe buffer.copyBytes(from: rest)
        return rest.count
    }
}
