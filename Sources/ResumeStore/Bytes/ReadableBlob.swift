internal import ResumeFiles
internal import Synchronization

/// The blob of a transfer, to be read on any thread while it is written.
///
/// What is held of it does not change, but for what is given up: a new blob for another
/// representation, or an end that was found to be wrong and is written anew. Each time that happens the epoch is
/// another one, before a byte is written over; so what was read counts if the epoch is the same after it.
final class ReadableBlob: Sendable {
    private struct State {
        /// Kept open after the delivery, when its name is gone or is the caller's.
        var blob: OpenFile?
        var epoch = 0
        var totalLength: Int64?
        /// What was held before the transfer, and has not been compared with its checksums yet.
        var unread: [Block]
        var isClosed = false
        /// Whether nobody may read yet, since the bytes were fetched for another caller.
        var isWithheld: Bool
        var onChange: (@Sendable () -> Void)?

        func readable(in epoch: Int) -> OpenFile? { self.epoch == epoch && !isWithheld ? blob : nil }
    }

    /// What became of reading a range.
    enum Reading {
        case bytes([UInt8])
        /// What was to be read has been given up meanwhile.
        case givenUp
        /// A block of it is not what was recorded.
        case damaged(Block)
    }

    private let state: Mutex<State>
    private let ledger: SharedLedger

    init(_ blob: OpenFile?, _ ledger: SharedLedger, totalLength: Int64?, unread: [Block], isWithheld: Bool) {
        self.ledger = ledger
        state = Mutex(State(blob: blob, totalLength: totalLength, unread: unread, isWithheld: isWithheld))
    }

    /// Lets the bytes be read.
    func grant() {
        state.withLock { $0.isWithheld = false }
        changed()
    }

    /// Goes on with a blob, or without one, after the writer does.
    ///
    /// - Parameters:
    ///   - blob: The blob.
    ///   - totalLength: How many bytes are wanted.
    ///   - givesUp: Whether bytes that could be read cannot be relied on any more.
    func begin(with blob: OpenFile?, totalLength: Int64?, givesUp: Bool) {
        state.withLock { state in
            let isOther = state.blob !== blob
            if isOther { state.unread = [] }
            if isOther || givesUp { state.epoch &+= 1 }
            state.blob = blob
            state.totalLength = totalLength
        }
        changed()
    }

    /// The end of the bytes from 0 on that may be read.
    var readableEnd: Int64 {
        state.withLock(\.isWithheld) ? 0 : ledger.withLock(\.readableEnd)
    }

    /// Takes note of how many bytes are wanted.
    func learn(totalLength: Int64?) {
        state.withLock { $0.totalLength = totalLength }
        changed()
    }

    /// Takes note that everything was compared with its checksums, and what was found to be wrong given up.
    func confirm(givesUp: Bool) {
        state.withLock { state in
            state.unread = []
            if givesUp { state.epoch &+= 1 }
        }
    }

    /// Ends where somebody else may write to the blob from now on.
    func close() {
        state.withLock { state in
            state.blob = nil
            state.epoch &+= 1
            state.isClosed = true
        }
        changed()
    }

    /// Calls a closure whenever there may be more to read; it must return at once.
    func onChange(_ call: @escaping @Sendable () -> Void) {
        state.withLock { $0.onChange = call }
        call()
    }

    /// Says that there may be more to read.
    func changed() {
        state.withLock(\.onChange)?()
    }

    /// What the present epoch is, how many bytes are wanted, and whether there are none that may be read.
    var status: (epoch: Int, totalLength: Int64?, isClosed: Bool) {
        state.withLock { ($0.epoch, $0.isWithheld ? nil : $0.totalLength, $0.isClosed || $0.isWithheld) }
    }

    /// The blob, as long as the epoch is the same.
    func blob(in epoch: Int) -> OpenFile? {
        state.withLock { $0.readable(in: epoch) }
    }

    /// Reads a range that is held, and compares what was held before with its checksums first; blocks meanwhile.
    ///
    /// - Throws: ``StoreError``
    func read(_ range: Range<Int64>, in epoch: Int) throws -> Reading {
        let (found, unread) = state.withLock { ($0.readable(in: epoch), $0.unread) }
        guard let blob = found else { return .givenUp }
        let blocks = unread.filter { $0.range.overlaps(range) }
        do {
            if let damaged = try blob.damaged(among: blocks).first { return .damaged(damaged) }
        } catch {
            throw StoreError(wrapping: error)
        }
        if !blocks.isEmpty { state.withLock { $0.unread.removeAll { blocks.contains($0) } } }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(clamping: range.upperBound - range.lowerBound))
        try unsafe HeldBytes(blob: blob).forEachBuffer(in: range) { unsafe bytes.append(contentsOf: $0) }
        return state.withLock { $0.epoch == epoch } ? .bytes(bytes) : .givenUp
    }
}
