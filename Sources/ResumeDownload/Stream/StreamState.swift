import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// The state that the readers of a ``DownloadStream`` share with its download.
final class StreamState: Sendable {
    private struct Mutable {
        var transfer: Transfer?
        /// The offset at which the first response continued; nil before it.
        var start: Int64?
        var outcome: DownloadOutcome?
        var readers: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextReader = 0
    }

    private let mutable = Mutex(Mutable())

    /// Sets the transfer when the download has its lease, and observes it.
    func begin(_ transfer: Transfer) {
        mutable.withLock { $0.transfer = transfer }
        transfer.onHeldChange { [weak self] in self?.changed() }
    }

    func take(_ event: DownloadEvent) {
        mutable.withLock { mutable in
            switch event {
            case .resumed(let offset, _): mutable.start = mutable.start ?? offset
            case .started, .progress: mutable.start = mutable.start ?? 0
            // The first response has been handled, so all bytes from now on belong to the server's file.
            case .restarted where mutable.start != nil: mutable.start = 0
            case .waiting, .damaged, .resumeDataOutdated, .restarted, .retrying, .finished: break
            }
        }
        changed()
    }

    /// Records that the download has ended.
    func finish(with outcome: DownloadOutcome) {
        mutable.withLock { $0.outcome = outcome }
        changed()
    }

    /// Returns the total length once the first response has been handled.
    ///
    /// - Returns: nil before that; otherwise the length, which may be unknown.
    /// - Throws: The error of the download.
    func totalBytes() throws -> Int64?? {
        let (transfer, start, outcome) = snapshot
        if let outcome { return .some(try outcome.get().totalBytes) }
        guard let transfer, start != nil else { return nil }
        return .some(transfer.heldView.totalLength)
    }

    private var snapshot: (Transfer?, start: Int64?, DownloadOutcome?) {
        mutable.withLock { ($0.transfer, $0.start, $0.outcome) }
    }

    /// The transfer, once there is one.
    var transfer: Transfer? { mutable.withLock(\.transfer) }

    /// Returns an element whenever there may be more to read; several changes may be merged into one.
    func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = mutable.withLock { mutable in
            mutable.nextReader += 1
            mutable.readers[mutable.nextReader] = continuation
            return mutable.nextReader
        }
        continuation.onTermination = { [weak self] _ in
            self?.mutable.withLock { _ = $0.readers.removeValue(forKey: id) }
        }
        return stream
    }

    private func changed() {
        let readers = mutable.withLock { Array($0.readers.values) }
        for reader in readers { reader.yield() }
    }

    /// Reads the next bytes, waiting for a change as long as that is not possible.
    ///
    /// - Returns: nil at the end of the file.
    /// - Throws: The error of the download; `DownloadError`, `StoreError`, `CancellationError`.
    func next(
        _ cursor: inout Cursor, _ changes: inout AsyncStream<Void>.Iterator,
        isolation actor: isolated (any Actor)?
    ) async throws -> [UInt8]? {
        while true {
            try Task.checkCancellation()
            let (transfer, start, outcome) = snapshot
            // After a failure, the lease is released and others may write.
            let result = try outcome?.get()
            if let transfer {
                let view = transfer.heldView
                // The overlap with the earlier bytes has been compared as soon as more than those have been received.
                let isConfirmed = view.held > start ?? .max || cursor.hasReturned
                switch cursor.action(for: view, isConfirmed: isConfirmed, isVerified: result != nil) {
                case .wait: break
                case .end: return nil
                case .fail: throw DownloadError(.representationChanged, .changedWhileRead)
                case .compare: if try await compare(&cursor, with: transfer, in: view.epoch) { continue }
                case .read(let range):
                    if let bytes = try await read(range, of: transfer, in: view.epoch, &cursor) {
                        guard let result, cursor.offset == view.held, !cursor.agrees(with: result.digest) else {
                            return bytes
                        }
                        throw DownloadError(.digestMismatch, .readDigestMismatch)
                    }
                    // Damaged bytes are fetched again before the whole is verified, not after.
                    if result != nil { throw StoreError(.heldBytesDiffer, "the stored bytes were changed on disk") }
                }
            }
            _ = await changes.next(isolation: actor)
        }
    }

    /// Reads and hashes a range outside of the cooperative thread pool.
    ///
    /// - Returns: nil if the epoch has ended or the range must be fetched again.
    private func read(
        _ range: Range<Int64>, of transfer: Transfer, in epoch: Int, _ cursor: inout Cursor
    ) async throws -> [UInt8]? {
        let before = cursor.hash
        let read = try await Blocking.run { () throws -> ([UInt8], RunningHash)? in
            guard let bytes = try transfer.readNow(range, in: epoch) else { return nil }
            var hash = before
            hash.update(bytes)
            return (bytes, hash)
        }
        guard let (bytes, hash) = read else { return nil }
        cursor.advance(over: bytes, hash: hash, in: epoch)
        return bytes
    }

    /// Compares the bytes returned so far with the beginning of the file as it is now.
    ///
    /// - Returns: False if nothing can be read because the download is ending; its outcome is reported by the next
    ///   step.
    private func compare(_ cursor: inout Cursor, with transfer: Transfer, in epoch: Int) async throws -> Bool {
        guard let held = transfer.heldBytes(in: epoch) else { return false }
        let algorithm = cursor.hash.algorithm
        let range = cursor.start..<cursor.offset
        let digest = try await Blocking.run { try held.digest(algorithm, of: range) }
        // The epoch has ended, so the next step decides again.
        guard transfer.heldView.epoch == epoch else { return true }
        guard cursor.hash.digest == digest else {
            throw DownloadError(.representationChanged, .changedWhileRead)
        }
        cursor.epoch = epoch
        return true
    }
}
