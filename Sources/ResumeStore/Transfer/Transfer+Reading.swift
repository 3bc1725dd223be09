internal import ResumeFiles
internal import ResumeHTTP

/// Reading what is held while the rest comes.
extension Transfer {
    /// Where bytes are held, as offsets in the file that will be delivered, in order and apart from one another.
    public var heldRanges: [Range<Int64>] {
        readable.status.isClosed ? [] : parts.disjoint.extents
    }

    /// Reads bytes that are held, now; nobody is asked for others.
    ///
    /// What was held before this transfer is compared with its checksums first. That all bytes are of one file is
    /// what the engine sees to; that they are the right ones, for which a digest may be known, shows when the whole is
    /// there. It goes on working after ``deliver(to:)``, as long as the transfer is kept.
    ///
    /// - Parameter range: Offsets in the file that will be delivered.
    /// - Returns: All bytes of the range.
    /// - Throws: ``StoreError``: `notHeld` where some of the range is not, or was given up meanwhile;
    ///   `heldBytesDiffer` where the disk did not keep it: then it is fetched again before the delivery; `io`.
    public func read(_ range: Range<Int64>) async throws -> [UInt8] {
        guard range.isEmpty || heldRanges.contains(where: { $0.contains(range) }) else {
            throw StoreError.notHeld(range)
        }
        let (epoch, readable) = (readable.status.epoch, readable)
        switch try await Blocking.run({ try readable.read(range, in: epoch) }) {
        case .bytes(let bytes): return bytes
        case .givenUp: throw StoreError.notHeld(range)
        case .damaged(let block): throw StoreError(.heldBytesDiffer, Reason.blockDamaged(block.range).text)
        }
    }
}

/// What a reader that follows a transfer sees of it at a moment.
package struct HeldView: Sendable, Hashable {
    /// Another one whenever bytes were given up that could be read before.
    package var epoch: Int
    /// Bytes from 0 on that can be read.
    package var held: Int64
    /// How many bytes are wanted; nil where that is not known yet.
    package var totalLength: Int64?

    /// Makes a view.
    package init(epoch: Int, held: Int64, totalLength: Int64?) {
        self.epoch = epoch
        self.held = held
        self.totalLength = totalLength
    }
}

/// For a reader that follows on other threads.
extension Transfer {
    /// What can be read at this moment.
    package nonisolated var heldView: HeldView {
        // The epoch first: with bytes of a later one nothing is read in it.
        let status = readable.status
        return HeldView(epoch: status.epoch, held: readable.readableEnd, totalLength: status.totalLength)
    }

    /// Calls a closure whenever there may be more to read, on any thread; it must return at once.
    package nonisolated func onHeldChange(_ call: @escaping @Sendable () -> Void) {
        readable.onChange(call)
    }

    /// Reads a range of what a view shows, and blocks meanwhile.
    ///
    /// - Returns: nil where some of it has been given up since, or must be fetched again.
    /// - Throws: ``StoreError``
    package nonisolated func readNow(_ range: Range<Int64>, in epoch: Int) throws -> [UInt8]? {
        guard case .bytes(let bytes) = try readable.read(range, in: epoch) else { return nil }
        return bytes
    }

    /// The bytes that a view shows, to be read at once; nil where some have been given up since.
    package nonisolated func heldBytes(in epoch: Int) -> HeldBytes? {
        readable.blob(in: epoch).map { HeldBytes(blob: $0) }
    }
}
