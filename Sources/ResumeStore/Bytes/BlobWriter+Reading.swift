import ResumeFiles
import Synchronization

/// Reads a blob, on any thread, while it is being written.
extension BlobWriter {
    /// Changes what may be read, and reports it.
    func changeReading(_ change: (inout Reading) -> Void) {
        // A file is closed after the lock is given up.
        _ = state.withLock { state in
            let old = state.reading
            change(&state.reading)
            return old
        }
        changed()
    }

    /// Forbids reading until it is allowed again.
    func withhold() { changeReading { $0.isWithheld = true } }

    func grant() { changeReading { $0.isWithheld = false } }

    /// Reports that more bytes may be readable.
    func changed() { state.withLock(\.reading.onChange)?() }

    /// Whether reading has ended, or is not allowed.
    var refusesReading: Bool { state.withLock { $0.reading.isClosed || $0.reading.isWithheld } }

    /// The bytes that can be read.
    var view: HeldView {
        state.withLock { state in
            let reading = state.reading
            return HeldView(
                epoch: reading.epoch, held: reading.isWithheld ? 0 : state.ledger.readableEnd,
                totalLength: reading.isWithheld ? nil : reading.totalLength)
        }
    }

    /// Reads a stored range; blocks, and compares bytes that were stored before the transfer with their checksums
    /// first.
    ///
    /// - Throws: ``StoreError``
    func read(_ range: Range<Int64>, in epoch: Int, evenIfWithheld: Bool = false) throws -> Reading.Outcome {
        let (found, unread) = state.withLock {
            ($0.reading.blob(in: epoch, evenIfWithheld: evenIfWithheld), $0.reading.unread)
        }
        guard let blob = found else { return .givenUp }
        let blocks = unread.filter { $0.range.overlaps(range) }
        let damaged = try StoreError.wrapping { try (blob as? OpenFile)?.damaged(among: blocks).first }
        if let damaged { return .damaged(damaged) }
        let bytes = try blob.bytes(in: range)
        return state.withLock { state in
            guard state.reading.epoch == epoch else { return .givenUp }
            if !blocks.isEmpty { state.reading.unread.removeAll { blocks.contains($0) } }
            return .bytes(bytes)
        }
    }
}
