import HTTPTypes
import ResumeHTTP
import ResumeStore

/// A download for which this process holds the lease, from the first request to the delivery.
///
/// It does the I/O for a ``RequestLoop``, and checks and delivers the complete file.
struct DownloadRun {
    var sender: RequestSender
    let transfer: Transfer
    /// The file as the caller named it.
    let destination: Destination
    /// Decides about the file that has the name.
    let names: NameGuard
    let metrics: DownloadMetrics
    let onEvent: DownloadEvent.Listener
    /// What the lane of small files has begun.
    var begun = SmallDownload.Begun()

    var fetched: Int64 = 0
    /// How many connections may be opened from now on.
    var connections = 1
    var isLengthVerified = true
    var digest = Digest()
    var history = History()

    /// What earlier requests of this run have shown.
    struct History {
        /// The address that responded first, to which further requests go.
        var settled: RequestSender.Route?
        /// Whether the last body ended as announced, so that the next range only goes on.
        var goesOn = false
        /// How often the URL was renewed since the last progress.
        var renewals = 0
        /// How often HEAD has failed; after two failures it is no longer sent.
        var headFailures = 0
    }

    var request: DownloadRequest {
        get { sender.request }
        _modify { yield &sender.request }
    }

    /// Downloads and delivers the file.
    func run() async throws -> DownloadResult {
        var loop = RequestLoop(self)
        if let damage = await transfer.damage { onEvent(.damaged(reason: damage)) }
        try await requireFreeNameOfHeld()
        // A caller found that the file is not the expected one. The server may have another one by now.
        if !request.policy.hasProof, await transfer.isComplete {
            let isRefused = try await transfer.refusedDigest != nil
            if isRefused || request.digestNamed != nil { await transfer.requireConfirmation() }
        }
        while true {
            try await loop.run()
            if let result = try await loop.client.delivered() { return result }
        }
    }

    /// Checks the complete file and delivers it.
    ///
    /// - Returns: nil if more must be requested first.
    private mutating func delivered() async throws -> DownloadResult? {
        guard try await !fetchRefusedAgain(), try await confirm(), try await checkDigest() else {
            return nil
        }
        let whole = await transfer.partial
        let total = whole.length
        // Another task or process may have received these bytes, under another limit.
        try requireAllowed(length: total)
        try await confirmName(of: whole)
        let destination = destination(for: whole.representation)
        let digest = await expectedDigest
        let samples = await transfer.agreedSamples
        // Beside samples, the digest may be that of a file's name.
        let isOneVersion =
            if let digest, digest.isProof, samples == nil || request.digest != nil { true } else {
                await transfer.isProved
            }
        onEvent(.progress(receivedBytes: total, totalBytes: total))
        let comparison = names.comparison
        try comparison?.advance(to: total, of: await transfer.heldBytes, isLast: true)
        try await transfer.deliver(
            to: destination, fulfilling: request.queuedRows, isProved: isOneVersion, digest: digest)
        var result = await result(of: whole, at: destination.path, digest, isOneVersion: isOneVersion)
        if comparison != nil { (result.isExisting, result.kept) = (true, .same) }
        result.agreedSamples = samples
        return result
    }

    /// Describes the whole file.
    func result(
        of whole: HeldPartial, at path: String, _ digest: HTTPDigest?, isOneVersion: Bool
    ) async -> DownloadResult {
        let reused = await min(transfer.reused, whole.length)
        var result = DownloadResult(
            path: path, totalBytes: whole.length, reusedBytes: reused, fetchedBytes: fetched, digest: digest)
        result.isLengthVerified = isLengthVerified
        result.isProved = result.isProved && isOneVersion
        result.contentCoding = whole.representation?.contentCoding
        result.contentType = whole.representation?.contentType
        return result
    }

    private func requireAllowed(length: Int64?) throws {
        guard let limit = request.maximumLength, let length, length > limit else { return }
        throw DownloadError(.tooLarge, .tooLarge(length, limit: limit))
    }

    /// Counts bytes received from the network.
    mutating func count(_ bytes: Int64) {
        fetched += bytes
        metrics.fetched(bytes)
    }
}

/// The requests of a run, over its transport.
extension RequestLoop where Client == DownloadRun {
    init(_ run: DownloadRun) {
        var run = run
        let request = run.request
        run.connections = request.boundedConnections
        if let rate = request.rateLimit { run.request.rateLimiters.append(RateLimiter(bytesPerSecond: rate)) }
        self.init(
            run, request.retryPolicy, sampleSeed: request.sampleSeed, origins: request.origins ?? OriginPaces(),
            clock: request.waitClock)
    }

    mutating func run() async throws { try await run { try await $0.response(to: $1) } }

    mutating func compareAll() async throws -> SampleVerdict { try await compareAll { try await $0.response(to: $1) } }
}

extension DownloadRequest {
    /// Exchanges requests and responses for a transfer without a delivery, and closes it.
    func exchange<Result: Sendable>(
        for transfer: Transfer, over transport: any Transport, onEvent: @escaping DownloadEvent.Listener = { _ in },
        _ body: (inout RequestLoop<DownloadRun>) async throws -> Result
    ) async throws -> Result {
        let run = DownloadRun(
            sender: RequestSender(request: self, transport: transport), transfer: transfer,
            destination: try Destination("/unused"),
            names: NameGuard(for: self, in: nil), metrics: DownloadMetrics(), onEvent: onEvent)
        var loop = RequestLoop(run)
        let result = await Swift.Result { try await body(&loop) }
        let end = await Swift.Result { try await transfer.close() }
        let value = try result.get()
        try end.get()
        return value
    }
}

/// Reports the decisions of the request loop to the caller and to the transfer.
extension DownloadRun: RequestClient {
    // The server's digest is that of the whole representation.
    var comparesDigest: Bool { request.selection == nil && !request.policy.hasWeakDigest }

    func cancel(_ body: any ResponseBody) { body.cancel() }

    var deliveredRepresentation: Representation? { request.deliveredFile?.representation }

    func prepare(for verdict: Verdict, of head: HTTPResponse) async throws {
        // For a selection, the limit applies to the transfer's length, once it is known, and to the bytes that must be
        // read before the ranges.
        if request.selection == nil, verdict.usesBody { try requireAllowed(length: head.announcedLength) }
        let begun = verdict.replaces ? verdict.continuation?.representation : nil
        if let representation = verdict.continuation?.representation {
            try await requireName(of: representation, isNew: begun != nil)
        }
        try await transfer.prepare(for: verdict, of: head)
        if case .append = verdict, let comparison = names.comparison {
            // The stored bytes may show a difference before any others are received.
            try comparison.advance(to: await transfer.contiguousLength, of: await transfer.heldBytes, isLast: true)
        }
        if request.selection != nil {
            try requireAllowed(length: max(await transfer.partial.totalLength ?? 0, verdict.continuation?.skipped ?? 0))
        }
        if let begun, request.usesServerFilename { try await transfer.setDestination(destination(for: begun)) }
    }

    mutating func willReceive(_ verdict: Verdict, after held: HeldPartial) async {
        digest.course.receive(verdict)
        guard let use = verdict.continuation else { return }
        if verdict.replaces, request.restarts {
            // An interrupted run is continued. If this cannot be recorded, the next one starts over again.
            try? await transfer.disk?.recordRestart(of: request.queuedRows)
        }
        let total = await transfer.partial.totalLength
        if !verdict.replaces {
            if history.goesOn { return }
            onEvent(.resumed(offset: use.offset, totalBytes: total ?? use.representation.completeLength))
        } else {
            digest.known = .unknown
            if begun.isAnnounced, held.isEmpty { return begun.isAnnounced = false }
            onEvent(held.isEmpty ? .started(totalBytes: total) : .restarted(reason: use.reason, totalBytes: total))
        }
    }

    mutating func discarded(because reason: Reason) {
        digest.known = .unknown
        onEvent(.restarted(reason: reason, totalBytes: nil))
    }

    mutating func wentBack() { digest.known = .unknown }

    mutating func gaveUp(because reason: Reason) {
        digest.known = .unknown
        onEvent(.damaged(reason: reason))
    }

    func retries(after delay: Duration, because failure: any Error) {
        onEvent(.retrying(reason: Reason(for: failure), after: delay))
    }

    func pausing(_ wait: () async throws -> Void) async throws {
        await request.onPause?(true)
        // It fails only if the download is cancelled.
        try await wait()
        await request.onPause?(false)
    }

    func noResponse(_ failure: any Error) -> NoResponse? {
        switch (failure as? TransportError)?.code {
        case .notConnected?: .unreachable
        case .connectionClosed?, .stalled?: .silent
        default: nil
        }
    }

    var renews: Bool { request.refresh != nil }

    var firstTurn: OriginPace.Turn? { begun.first?.turn }

    func exhausted(because failure: any Error) async -> any Error {
        let kept = transfer.isInMemory ? 0 : await transfer.receivedBytes
        let response = failure as? ResponseFailure
        let reason = Reason.retriesExhausted(
            response?.lastReason ?? Reason(for: failure), held: kept, isPostponed: response?.afterSeconds ?? 0 > 0)
        return DownloadError(.unreachable, reason, status: response?.status)
    }
}
