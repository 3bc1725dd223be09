#if !Engine
#error("ResumeDownload needs the trait 'Engine' of the package resume-store, which is enabled by default")
#endif
public import Logging
import ResumeFiles
import ResumeHTTP
@_exported public import ResumeStore

/// Downloads files through a store: consults it before each request, resumes where possible, otherwise restarts and
/// reports the reason, and delivers the complete file.
///
/// It reports metrics to swift-metrics and spans to swift-distributed-tracing if the program has set them up;
/// `docs/observability.md` lists the names.
///
/// ```swift
/// let downloader = Downloader(store: store, transport: CurlTransport())
/// let result = try await downloader.download(DownloadRequest(url, to: "image.iso"))
/// ```
public struct Downloader: Sendable {
    /// The store that keeps partial data.
    public let store: DownloadStore
    /// The HTTP client.
    package let transport: any Transport
    private let logger: Logger?
    /// What its downloads have learned about the origins.
    package let origins = OriginPaces()
    let lane = SmallFileLane()

    /// Makes a downloader.
    ///
    /// - Parameters:
    ///   - store: The store that keeps partial data.
    ///   - transport: The HTTP client.
    ///   - logger: Logs each step, with the store's key and the reason as metadata; nil for no log.
    public init(store: DownloadStore, transport: some Transport, logger: Logger? = nil) {
        self.store = store
        self.transport = transport
        self.logger = logger
    }

    /// Downloads one file.
    ///
    /// Cancelling the task keeps the partial data, and the next call resumes it.
    ///
    /// - Parameters:
    ///   - request: What to download, where to, and how.
    ///   - onEvent: Called with each event, in order; the download waits for it to return.
    /// - Returns: The path of the file, and how many of its bytes had been received before.
    /// - Throws: `DownloadError`, which contains the resume data if there is any. `StoreError` and
    ///   `CancellationError`; after these, use ``resumeData(for:)``.
    public func download(
        _ request: DownloadRequest, onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> DownloadResult {
        try await download(request, onTransfer: { _ in }, onEvent: onEvent)
    }

    /// Downloads one file like ``download(_:onEvent:)``, and passes on the transfer before the first request.
    ///
    /// - Parameters:
    ///   - request: What to download, where to, and how.
    ///   - isRead: Whether the bytes are read while they are received, so that there must be a transfer.
    ///   - onTransfer: Called with the transfer, if there is one.
    ///   - onEvent: Called with each event.
    /// - Returns: The result.
    /// - Throws: The errors of ``download(_:onEvent:)``.
    func download(
        _ request: DownloadRequest, isRead: Bool = false,
        onTransfer: @escaping @Sendable (isolated Transfer) -> Void, onEvent: @escaping DownloadEvent.Listener
    ) async throws -> DownloadResult {
        try await revalidating(request) { request in
            try await TransferQueue(of: store, isPreferred: true).run { queue in
                try await download(request, isRead: isRead, on: queue, onTransfer: onTransfer, onEvent: onEvent)
            }
        }
    }

    private func download(
        _ request: DownloadRequest, isRead: Bool, on queue: isolated TransferQueue,
        onTransfer: @Sendable (isolated Transfer) -> Void, onEvent: @escaping DownloadEvent.Listener
    ) async throws -> DownloadResult {
        var request = request
        request.origins = request.origins ?? origins
        // Whether a file in place is right, only a response can tell.
        if request.digestNamed != nil { request.deliveredFile = nil }
        // Before anything is fetched and before waiting for a lease.
        let destination = try request.checkedDestination()
        let checksDigest = request.digest != nil && request.ifExists != .replace
        if request.ifExists == .fail || !checksDigest, try request.keepsFile(at: destination) {
            return Self.keep(destination.path, .exists, onEvent)
        }
        let observer = DownloadObserver(of: request, in: store, logger: logger)
        let names = NameGuard(for: request, in: store)
        do {
            var request = request
            if names.isGuarding || checksDigest {
                // If the server has named the file, only the last delivery tells where it is.
                let place =
                    request.usesServerFilename
                    ? try request.deliveredFile?.path.map { try Destination($0) } : destination
                if let place, try await !names.admit(place) { request.deliveredFile = nil }
                if try request.keepsFile(at: destination) { return Self.keep(destination.path, .exists, onEvent) }
            }
            return try await observer.observe(over: transport, telling: onEvent) { transport, onEvent in
                if request.evictedBytes > 0 { onEvent(.damaged(reason: .evicted(request.evictedBytes))) }
                let sender = RequestSender(
                    request: request, transport: transport,
                    permitsDowngrade: request.policy.hasProof && !isRead)
                var key: FreeKey?
                var begun = SmallDownload.Begun()
                if !isRead, var small = try self.small(sender, to: names.admitted(destination), names, onEvent) {
                    if let result = try await small.run() {
                        observer.metrics.fetched(result.totalBytes)
                        onEvent(.finished(result))
                        return result
                    }
                    (key, begun) = (small.key, small.begun)
                }
                do {
                    let transfer = try await begin(request, to: destination, key, on: queue, onEvent: onEvent)
                    var run = DownloadRun(
                        sender: sender, transfer: transfer, destination: destination, names: names,
                        metrics: observer.metrics, onEvent: onEvent)
                    run.begun = begun
                    return try await download(run, onTransfer: onTransfer)
                } catch {
                    // It may not have been used.
                    (try? begun.first?.reply.get())?.response.body.cancel()
                    throw error
                }
            }
        } catch let kept as Kept {
            let file = request.deliveredFile
            if kept.reason != .unchanged || file?.isInPlace(at: destination.path) == true {
                return Self.keep(kept.path ?? file?.path ?? destination.path, kept.reason, onEvent)
            }
            // It was removed or changed in the meantime.
            var request = request
            request.deliveredFile = nil
            return try await download(
                request, isRead: isRead, on: queue, onTransfer: onTransfer, onEvent: onEvent)
        } catch let error as StoreError
            where error.code == .destinationExists && request.ifExists == .skip && request.usesServerFilename
        {
            // The server has named it.
            return Self.keep(error.path ?? destination.path, .exists, onEvent)
        }
    }

    private func download(
        _ run: DownloadRun, onTransfer: @Sendable (isolated Transfer) -> Void
    ) async throws -> DownloadResult {
        let request = run.request
        let transfer = run.transfer
        let onEvent = run.onEvent
        do {
            let result = try await transfer.run { transfer in
                if request.restarts {
                    let isAnew = !transfer.partial.isEmpty
                    if isAnew { try await run.requireFreeNameOfHeld() }
                    try await transfer.restart()
                    if isAnew { onEvent(.restarted(reason: .restartRequested, totalBytes: nil)) }
                } else if let reason = request.resumeData?.mismatch(with: transfer.partial) {
                    try await transfer.note(reason)
                    onEvent(.resumeDataOutdated(reason: reason))
                }
                if let path = request.adopts, transfer.receivedBytes == 0, !transfer.isComplete {
                    try await adopt(path, for: transfer, digest: request.policy.proof)
                }
                onTransfer(transfer)
                return try await run.run()
            }
            onEvent(.finished(result))
            return result
        } catch {
            if error is Kept {
                // Nothing was requested that could be interrupted.
                try? await transfer.close()
            } else if (error as? StoreError)?.code == .busy {
                await transfer.letGo()
            } else {
                try await keep(transfer, because: error, request.interruption)
            }
            guard var failure = error as? DownloadError else { throw error }
            // The caller keeps the data that it passed in, even if the server refuses this request.
            failure.resumeData = await transfer.resumeData ?? request.resumeData
            throw failure
        }
    }

    /// Whether the file at the destination has the digest that a request names; then it counts as this program's.
    package func recognizesFile(of request: DownloadRequest) async throws -> Bool {
        var request = request
        request.replacing = .own
        let place = try Destination(request.destination)
        let (_, digest) = try await NameGuard(for: request, in: store).examine(place, place.found)
        return digest.map { $0 != .wrong } ?? false
    }

    private func begin(
        _ request: DownloadRequest, to destination: Destination, _ key: FreeKey? = nil, waits: Bool = false,
        on queue: isolated TransferQueue, onEvent: DownloadEvent.Listener
    ) async throws -> Transfer {
        var policy = request.policy
        policy.confirmsComplete = request.permits != nil || transport.permitsSomeAddressesOnly
        do {
            let place = request.usesServerFilename ? nil : destination
            return try await open(request, policy, to: place, key, waits: waits, on: queue)
        } catch let error as StoreError where error.code == .inUse && request.waits && !waits {
            onEvent(.waiting)
            // Who uses the download may wait for a place itself.
            await request.onPause?(true)
            let transfer = try await begin(request, to: destination, waits: true, on: queue, onEvent: onEvent)
            await request.onPause?(false)
            return transfer
        }
    }

    func open(
        _ request: DownloadRequest, variant: Int? = nil, _ policy: ResumePolicy, to destination: Destination?,
        _ key: FreeKey? = nil, waits: Bool = false, on queue: TransferQueue
    ) async throws -> Transfer {
        let caller = Caller(
            url: request.url, headerFields: request.identityFields, policy: policy, destination: destination)
        return try await TransferOpener(store).open(
            caller, key: request.key, selection: request.selection, variant: variant, holding: key, waits: waits,
            on: queue)
    }

    /// Records the received bytes and why the download stopped.
    ///
    /// An error while recording does not replace the original one.
    private func keep(_ transfer: Transfer, because error: any Error, _ interruption: Interruption?) async throws {
        let held = await transfer.receivedBytes
        try? await transfer.close()
        // A refusal was recorded with its response, and a wrong digest with what became of the bytes.
        if let error = error as? DownloadError {
            if error.code == .refused && error.status != nil || error.code == .digestMismatch { return }
        }
        // If nothing was received, nothing was interrupted.
        if held == 0, (error as? StoreError)?.code == .destinationExists { return }
        var kind = Event.Kind.interrupted
        var reason = Reason(for: error, interruption)
        if error is CancellationError {
            switch reason {
            case .paused: kind = .paused
            case .interrupted, .timeLimit, .outputClosed: break
            // The data is kept until it is removed, which is a separate event.
            default: (kind, reason) = (.cancelled, .cancelled)
            }
        }
        try? await store.record(kind, key: await transfer.entryKey, reason: reason, bytes: held)
    }
}
