import ResumeFiles
import Synchronization

/// The blob of a transfer, which any thread can read while it is being written.
///
/// Stored bytes do not change unless they are discarded: for a new blob with another representation, or for an end that
/// was found to be wrong and is written again. The epoch changes each time, before a byte is overwritten. So bytes that
/// were read are valid if the epoch is still the same afterwards.
final class ReadableBlob: Sendable {
    private struct State {
        /// The file, kept open after the delivery, when its name was removed or belongs to the user.
        var blob: (any BodyStorage)?
        var epoch = 0
        var totalLength: Int64?
        /// The blocks that were stored before the transfer and have not been compared with their checksums yet.
        var unread: [Block]
        var isClosed = false
        /// Whether reading is not allowed yet, since the bytes were fetched for another caller.
        var isWithheld: Bool
        var onChange: (@Sendable () -> Void)?

        func readable(in epoch: Int, evenIfWithheld: Bool = false) -> (any BodyStorage)? {
            self.epoch == epoch && (evenIfWithheld || !isWithheld) ? blob : nil
        }
    }

    /// The result of reading a range.
    enum Reading {
        case bytes([UInt8])
        /// Some of the bytes have been discarded since.
        case givenUp
        /// A block of the range does not match its checksum.
        case damaged(Block)
    }

    private let state: Mutex<State>
    private let sync: BlobSync

    init(_ blob: (any BodyStorage)?, _ sync: BlobSync, totalLength: Int64?, unread: [Block], isWithheld: Bool) {
        self.sync = sync
        state = Mutex(State(blob: blob, totalLength: totalLength, unread: unread, isWithheld: isWithheld))
    }

    /// Forbids reading until it is allowed again.
    func withhold() { state.withLock { $0.isWithheld = true } }

    /// Allows reading.
    func grant() {
        state.withLock { $0.isWithheld = false }
        changed()
    }

    /// Continues with a blob, or without one, after the writer has switched to it.
    ///
    /// - Parameters:
    ///   - blob: The blob.
    ///   - totalLength: The number of requested bytes.
    ///   - givesUp: Whether bytes that could be read are no longer valid.
    func begin(with blob: (any BodyStorage)?, totalLength: Int64?, givesUp: Bool) {
        state.withLock { state in
            let isOther = state.blob !== blob
            if isOther { state.unread = [] }
            if isOther || givesUp { state.epoch &+= 1 }
            state.blob = blob
            state.totalLength = totalLength
        }
        changed()
    }

    /// The end of the bytes from offset 0 that may be read.
    var readableEnd: Int64 {
        state.withLock(\.isWithheld) ? 0 : sync.ledger.withLock(\.readableEnd)
    }

    /// Records the number of requested bytes.
    func learn(totalLength: Int64?) {
        state.withLock { $0.totalLength = totalLength }
        changed()
    }

    /// Records that all bytes were compared with their checksums and that wrong ones were discarded.
    func confirm(givesUp: Bool) {
        state.withLock { state in
            state.unread = []
            if givesUp { state.epoch &+= 1 }
        }
    }

    /// Ends reading, since another transfer may write to the blob from now on.
    func close() {
        state.withLock { state in
            state.blob = nil
            state.epoch &+= 1
            state.isClosed = true
        }
        changed()
    }

    /// Calls a closure whenever more bytes may be readable; it must return at once.
    func onChange(_ call: @escaping @Sendable () -> Void) {
        state.withLock { $0.onChange = call }
        call()
    }

    /// Reports that more bytes may be readable.
    func changed() {
        state.withLock(\.onChange)?()
    }

    /// The current epoch, the number of requested bytes, and whether reading has ended.
    var status: (epoch: Int, totalLength: Int64?, isClosed: Bool) {
        state.withLock { ($0.epoch, $0.isWithheld ? nil : $0.totalLength, $0.isClosed || $0.isWithheld) }
    }

    /// Returns the blob if the epoch is still the same.
    func blob(in epoch: Int) -> (any BodyStorage)? {
        state.withLock { $0.readable(in: epoch) }
    }

    /// Reads a stored range; blocks, and compares bytes that were stored before the transfer with their checksums
    /// first.
    ///
    /// - Throws: ``StoreError``
    func read(_ range: Range<Int64>, in epoch: Int, evenIfWithheld: Bool = false) throws -> Reading {
        let (found, unread) = state.withLock { ($0.readable(in: epoch, evenIfWithheld: evenIfWithheld), $0.unread) }
        guard let blob = found else { return .givenUp }
        let blocks = unread.filter { $0.range.overlaps(range) }
        let damaged = try StoreError.wrapping { try (blob as? OpenFile)?.damaged(among: blocks).first }
        if let damaged { return .damaged(damaged) }
        if !blocks.isEmpty { state.withLock { $0.unread.removeAll { blocks.contains($0) } } }
        let bytes = try blob.bytes(in: range)
        return state.withLock { $0.epoch == epoch } ? .bytes(bytes) : .givenUp
    }
}
