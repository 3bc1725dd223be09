import HTTPTypes
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

extension Downloader {
    /// Counts the bytes of small files that wait for their delivery.
    final class SmallFileLane: Sendable {
        /// How many may wait without a place among the running downloads; they are lost if the process dies.
        private static let most: Int64 = 64 << 20

        private let waiting = Atomic<Int64>(0)

        /// Adds bytes that wait.
        ///
        /// - Returns: Whether they may wait without a place.
        func begin(_ bytes: Int64) -> Bool { waiting.add(bytes, ordering: .relaxed).newValue <= Self.most }

        /// Removes bytes that no longer wait.
        func end(_ bytes: Int64) { waiting.subtract(bytes, ordering: .relaxed) }
    }
}

/// A download of which the store holds nothing, as long as nothing shows that it needs a row.
struct SmallDownload {
    /// What was begun before the ordinary way goes on.
    struct Begun {
        /// The response to the first request, if that was sent.
        var first: First?
        /// Whether an event has said that the first body begins.
        var isAnnounced = false
    }

    /// The response to the first request, and its turn at the origin.
    typealias First = (reply: Result<RequestSender.Reply, any Error>, turn: OriginPace.Turn)

    let sender: RequestSender
    let destination: Destination
    let key: FreeKey
    let store: DownloadStore
    let lane: Downloader.SmallFileLane
    let onEvent: DownloadEvent.Listener
    private(set) var begun = Begun()
    private var clock: StoreClock { store.configuration.clock }
    private var request: DownloadRequest { sender.request }

    /// Downloads and delivers the file, unless the ordinary way goes on with what was begun.
    ///
    /// - Returns: The result; nil if it goes on.
    /// - Throws: ``Kept`` after 304; `StoreError` if the file got its name, but a later step failed.
    mutating func run() async throws -> DownloadResult? {
        let origin = request.url.origin
        let origins = request.origins ?? OriginPaces()
        let now = request.waitClock.now()
        guard case .go(let turn) = origins.with(origin, { $0.enter(at: now) }) else { return nil }
        var reply: RequestSender.Reply
        let file: SmallFile
        do {
            defer { origins.with(origin) { $0.leave(turn) } }
            let result = await Result { try await sender.send(.whole(reason: nil)) }
            begun.first = (result, turn)
            guard case .success(let sent) = result else { return nil }
            reply = sent
            try keepIfUnchanged(reply.response)
            guard let small = self.file(for: reply.response) else { return nil }
            origins.with(origin) { $0.serves(turn) }
            file = small
            let body = reply.response.body
            reply.response.body = BegunBody(file, before: body)
            begun.first = (.success(reply), turn)
            guard await receive(body, into: file) else { return nil }
            origins.with(origin) { $0.works = true }
        }
        let length = file.body.length
        // Before the delivery: whoever listens may look at what it replaces.
        onEvent(.started(totalBytes: length))
        onEvent(.progress(receivedBytes: length, totalBytes: length))
        begun.isAnnounced = true
        // The next download may begin, since this one needs no connection any more.
        let waits = lane.begin(length)
        defer { lane.end(length) }
        if waits { await request.onPause?(true) }
        let digest = file.body.digest
        let isDelivered = try await file.deliver(
            to: destination, for: caller(after: reply.response), fulfilling: request.queuedRows, digest: digest)
        guard isDelivered else {
            if waits { await request.onPause?(false) }
            return nil
        }
        var result = DownloadResult(
            path: destination.path, totalBytes: length, fetchedBytes: length, digest: digest)
        result.contentType = file.body.representation.contentType
        return result
    }

    private func caller(after response: FetchResponse<any ResponseBody>) -> Caller {
        Caller(url: request.url, headerFields: request.identityFields, policy: request.policy)
            .responded(from: response.url, response.trust, store.identityKey)
    }

    /// Throws if the server says that the delivered file has not changed.
    private func keepIfUnchanged(_ response: FetchResponse<any ResponseBody>) throws {
        guard let delivered = request.deliveredFile, delivered.condition != nil,
            DeliveredVerdict(for: response.head, delivered: delivered.representation) == .unchanged,
            caller(after: response).isSource(of: delivered)
        else { return }
        response.body.cancel()
        throw Kept(.unchanged)
    }

    private func file(for response: FetchResponse<any ResponseBody>) -> SmallFile? {
        let fetch = SmallFetch(of: request.url, request.policy, maximum: request.maximumLength)
        let body = fetch.body(
            of: response.head, from: response.url, unlike: request.deliveredFile?.representation,
            at: clock.now())
        return body.flatMap { SmallFile(of: key, for: $0, in: store) }
    }

    /// Receives a body.
    ///
    /// - Returns: Whether it is complete. If not, what was received is kept, and an error is thrown by the next read.
    private func receive(_ body: any ResponseBody, into file: SmallFile) async -> Bool {
        let stop = Ticker.shared.every(.milliseconds(50)) { [clock] in
            if file.body.isLate(at: clock.now()) { body.pause() }
        }
        defer { stop() }
        let hasMore = try? await withCancellation {
            try await body.read { file.append($0) }
        } onCancel: {
            body.cancel()
        }
        return hasMore == false && file.isWhole
    }

    /// A body whose first bytes were received into a small file.
    private final class BegunBody: ResponseBody {
        private let rest: any ResponseBody
        /// The file, and the offset of the next byte of it, until all of it was passed on.
        private let begun: Mutex<(file: SmallFile?, position: Int64)>

        init(_ file: SmallFile, before rest: any ResponseBody) {
            self.rest = rest
            begun = Mutex((file, 0))
        }

        func read(_ reader: @escaping @Sendable (RawSpan) throws -> Bool) async throws -> Bool {
            // Also after a cancellation: what has arrived is kept.
            if case (let file?, let start) = begun.withLock({ $0 }) {
                let (_, goesOn) = try file.read(from: start) { bytes in
                    begun.withLock { $0.position += Int64(bytes.byteCount) }
                    return try reader(bytes)
                }
                guard goesOn else { return true }
                begun.withLock { $0.file = nil }
            }
            return try await rest.read(reader)
        }

        func pause() { rest.pause() }

        func cancel(with error: any Error) { rest.cancel(with: error) }
    }
}

extension Downloader {
    /// Begins a download in the lane of small files, if it may be one.
    func small(
        _ sender: RequestSender, to destination: Destination, _ names: NameGuard,
        _ onEvent: @escaping DownloadEvent.Listener
    ) throws -> SmallDownload? {
        guard sender.request.mayBeSmall, names.comparison == nil,
            SmallFile.mayBeDelivered(to: destination, from: store),
            let key = try FreeKey(sender.request.storeKey, in: store)
        else { return nil }
        return SmallDownload(
            sender: sender, destination: destination, key: key, store: store, lane: lane, onEvent: onEvent)
    }
}
