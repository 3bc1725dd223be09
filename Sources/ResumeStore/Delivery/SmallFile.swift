import ResumeFiles
package import ResumeHTTP
import Synchronization

extension FreeKey {
    /// Locks the key of a download if the store holds nothing of it and nobody else uses it.
    ///
    /// - Parameters:
    ///   - name: The key.
    ///   - store: The store.
    /// - Throws: ``StoreError``
    package init?(_ name: String, in store: DownloadStore) throws {
        // Before the look-up, since the first row of a key is created only with this lock.
        let lease = try StoreError.wrapping {
            try Lease.take(Lease.number(of: name, store.identityKey), in: store.folder)
        }
        guard let lease, try store.readNow({ try $0.holdsNothing(of: name) }) else { return nil }
        self.init(name: name, lease: lease)
    }
}

/// The bytes of a small download, in a file without a name: if the process dies before the delivery, they are lost.
package final class SmallFile: Sendable {
    private struct State {
        var length: Int64 = 0
        var hashes: [RunningHash]
        /// The bytes that could not be written, or that are more than were announced.
        var unwritten: [UInt8] = []
    }

    /// The number of bytes that must be free in addition to a file, so that several fit for which no space is freed.
    private static let spareSpace: Int64 = 16 << 20

    private let key: FreeKey
    private let store: DownloadStore
    private let blob: OpenFile
    package let body: SmallFetch.Body
    private let begin = WallClock.milliseconds
    private let state: Mutex<State>

    /// Makes an empty file; nil if the system has no files without names, or no room.
    package init?(of key: FreeKey, for body: SmallFetch.Body, in store: DownloadStore) {
        guard let space = try? store.freeSpace(), space >= body.length + Self.spareSpace,
            let blob = store.folder.unnamedBlob()
        else { return nil }
        self.key = key
        self.store = store
        self.blob = blob
        self.body = body
        state = Mutex(State(hashes: body.digests.map { RunningHash($0.algorithm) }))
    }

    /// Whether small files may be delivered to a destination, nil for memory, without a row.
    ///
    /// Only rows count towards a binding limit.
    package static func mayBeDelivered(to destination: Destination?, from store: DownloadStore) -> Bool {
        guard !store.configuration.eviction.isBinding else { return false }
        guard let destination else { return true }
        return (destination.replaces || destination.isRecorded) && store.deliveries.canTake(destination)
    }

    /// Appends bytes of the body.
    ///
    /// - Returns: Whether more may follow: false for bytes that cannot be written, which are kept for ``read(from:_:)``.
    package func append(_ bytes: RawSpan) -> Bool {
        state.withLock { state in
            let end = state.length.addingSaturating(Int64(bytes.byteCount))
            guard state.unwritten.isEmpty, end <= body.length, (try? blob.write(bytes, at: state.length)) != nil else {
                unsafe bytes.withUnsafeBytes { unsafe state.unwritten.append(contentsOf: $0) }
                return false
            }
            state.length = end
            for index in state.hashes.indices {
                unsafe bytes.withUnsafeBytes { unsafe state.hashes[index].update($0) }
            }
            return true
        }
    }

    /// The number of bytes that were written.
    var length: Int64 { state.withLock(\.length) }

    /// Whether the body is complete and has its digests.
    package var isWhole: Bool {
        state.withLock { state in
            state.length == body.length && state.unwritten.isEmpty
                && zip(state.hashes, body.digests).allSatisfy { $0.digest == $1 }
        }
    }

    /// Passes received bytes to a reader until it stops.
    ///
    /// - Parameters:
    ///   - offset: The offset of the first byte.
    ///   - reader: The reader.
    /// - Returns: The offset of the first byte that was not passed, and whether the reader goes on.
    /// - Throws: The errors of the reader; ``StoreError``.
    package func read(from offset: Int64, _ reader: (RawSpan) throws -> Bool) throws -> (end: Int64, goesOn: Bool) {
        let (length, unwritten) = state.withLock { ($0.length, $0.unwritten) }
        var position = offset
        while position < length + Int64(unwritten.count) {
            let rest = Int(clamping: min(length - position, Int64(PartStream.pieceSize)))
            let part =
                rest > 0
                ? try StoreError.wrapping { try blob.bytes(rest, at: position) }
                : Array(unwritten.dropFirst(Int(clamping: position - length)).prefix(PartStream.pieceSize))
            guard !part.isEmpty else { throw StoreError.blobShort }
            position += Int64(part.count)
            if try !reader(unsafe part.span.bytes) { return (position, false) }
        }
        return (position, true)
    }

    /// Delivers the file together with others that arrive at the same time.
    ///
    /// - Parameters:
    ///   - destination: The destination.
    ///   - caller: The request, with what its response came from.
    ///   - rows: The rows of queues that it fulfils.
    ///   - digest: The digest that it was found to have; nil if none was compared.
    /// - Returns: Whether it was delivered. If not, nothing was changed, and the ordinary way is to be tried.
    /// - Throws: ``StoreError``
    package func deliver(
        to destination: Destination, for caller: Caller, fulfilling rows: [JobTable.QueuedRow] = [], digest: HTTPDigest?
    ) async throws -> Bool {
        let departure = departure(to: destination, for: caller, fulfilling: rows, digest)
        let file = DeliveryBatch.File(blob, length: body.length, to: destination, departure, under: key.lease)
        switch await store.deliveries.deliver(file, from: store) {
        case .delivered: return true
        case .unnamed: return false
        case .stored(let creation):
            try? store.folder.remove([creation.name])
            return false
        case .unsynced(let error): throw StoreError(wrapping: error)
        case .named(let error): throw error
        }
    }

    /// Returns the bytes, which leave the store; nil if another task or process waits for them.
    ///
    /// - Throws: ``StoreError``
    func take(for caller: Caller) throws -> [UInt8]? {
        guard !key.lease.isAwaited else { return nil }
        let bytes = try StoreError.wrapping { try blob.bytes(Int(clamping: body.length)) }
        let departure = departure(to: nil, for: caller, fulfilling: [], nil)
        try store.writeNow { try $0.record([(departure, nil)]) }
        return bytes
    }

    private func departure(
        to destination: Destination?, for caller: Caller, fulfilling rows: [JobTable.QueuedRow], _ digest: HTTPDigest?
    ) -> Departure {
        var caller = caller
        return Departure(
            of: key.name, from: caller.url, to: destination, fulfilling: rows, bytes: body.length,
            started: body.reason == .firstRequest ? nil : (begin, body.reason), digest: digest, body.representation,
            caller.requester(for: body.representation, store.identityKey))
    }
}
