import Logging
import ResumeHTTP
import ResumeStore
import Synchronization
import Tracing

/// Reports a download to the program's logger, metrics and tracer.
///
/// It uses the run's own events and transport. Nothing it reports contains a secret: keys and URLs appear as they are
/// stored, errors as their codes.
struct DownloadObserver {
    let metrics = DownloadMetrics()
    private let url: DownloadURL
    private let store: DownloadStore
    private let storeKey: String
    private let interruption: Interruption?
    private let logger: Logger?

    init(of request: DownloadRequest, in store: DownloadStore, logger: Logger?) {
        url = request.url
        self.store = store
        storeKey = request.storeKey
        interruption = request.interruption
        var logger = logger
        logger?[metadataKey: "key"] = "\(Printable.escaped(storeKey))"
        self.logger = logger
    }

    /// Runs a download in a span that is the parent of the spans of its requests.
    ///
    /// - Parameters:
    ///   - transport: The HTTP client.
    ///   - onEvent: Called with each event.
    ///   - isolation: Where it runs: without it, each step would change the executor.
    ///   - download: Performs the download with the given transport and event handler.
    /// - Returns: The result of `download`.
    /// - Throws: The errors of `download`.
    func observe(
        over transport: any Transport, telling onEvent: @escaping DownloadEvent.Listener,
        isolation: isolated (any Actor)? = #isolation,
        _ download: (any Transport, @escaping DownloadEvent.Listener) async throws -> DownloadResult
    ) async throws -> DownloadResult {
        guard isTraced || metrics.isOn || logger != nil else {
            return try await download(transport, onEvent)
        }
        let isWaiting = Atomic(false)
        let told: DownloadEvent.Listener = { event in
            noteWaiting(event == .waiting, isWaiting)
            note(event)
            onEvent(event)
        }
        let start = ContinuousClock.now
        metrics.active(by: 1)
        defer {
            metrics.active(by: -1)
            noteWaiting(false, isWaiting)
        }
        do {
            let result = try await traced(over: transport) { try await download($0, told) }
            metrics.ended(as: "delivered", after: ContinuousClock.now - start)
            await noteSize()
            return result
        } catch {
            let reason = Reason(for: error, interruption)
            let isCancelled = error is CancellationError
            let outcome =
                error is Kept ? "unchanged" : !isCancelled ? "failed" : reason == .paused ? "paused" : "cancelled"
            metrics.ended(as: outcome, after: ContinuousClock.now - start)
            // The caller knows about its own cancellation, so that is logged at the debug level only.
            logger?.log(
                level: isCancelled ? .debug : .info, "\(reason == .interrupted ? "interrupted" : outcome)",
                metadata: .reason(reason))
            await noteSize()
            throw error
        }
    }

    private var isTraced: Bool { !(InstrumentationSystem.tracer is NoOpTracer) }

    private func traced(
        over transport: any Transport, isolation: isolated (any Actor)? = #isolation,
        _ download: (any Transport) async throws -> DownloadResult
    ) async throws -> DownloadResult {
        guard isTraced else { return try await download(transport) }
        let span = startSpan("resume-store.download")
        defer { span.end() }
        span.describe(url)
        span.attributes["resume_store.key"] = Printable.escaped(storeKey)
        do {
            let result = try await InstrumentationContext.$current.withValue(span.context) {
                try await download(TracedTransport(transport: transport, origin: url.origin))
            }
            span.attributes["resume_store.bytes.total"] = result.totalBytes
            span.attributes["resume_store.bytes.reused"] = result.reusedBytes
            span.attributes["resume_store.bytes.fetched"] = result.fetchedBytes
            return result
        } catch {
            span.fail(because: Reason(for: error, interruption).code.rawValue)
            throw error
        }
    }

    private func noteWaiting(_ isWaiting: Bool, _ before: borrowing Atomic<Bool>) {
        guard before.exchange(isWaiting, ordering: .relaxed) != isWaiting else { return }
        metrics.waiting(by: isWaiting ? 1 : -1)
    }

    private func note(_ event: DownloadEvent) {
        switch event {
        case .progress: break
        case .waiting: logger?.debug("waiting for another download of the same resource")
        case .started(let total): logger?.debug("started", metadata: ["total": "\(total, default: "unknown")"])
        case .resumed(let offset, let total):
            logger?.debug("resumed", metadata: ["offset": "\(offset)", "total": "\(total, default: "unknown")"])
        case .damaged(let reason): logger?.info("damaged", metadata: .reason(reason))
        case .resumeDataOutdated(let reason): logger?.info("resume data outdated", metadata: .reason(reason))
        case .restarted(let reason, _):
            metrics.restarted(because: reason.code)
            logger?.info("restarted", metadata: .reason(reason))
        case .retrying(let reason, let delay):
            logger?.info("retrying", metadata: .reason(reason, and: ["delay": "\(delay / .seconds(1))"]))
        case .finished(let result):
            metrics.reused(result.reusedBytes)
            logger?.debug(
                "delivered",
                metadata: [
                    "bytes": "\(result.totalBytes)", "reused": "\(result.reusedBytes)",
                    "fetched": "\(result.fetchedBytes)", "proved": "\(result.isProved)",
                ])
        }
    }

    private func noteSize() async {
        guard metrics.isOn, let totals = try? await store.totals() else { return }
        metrics.size(totals.receivedBytes)
    }
}

extension Logger.Metadata {
    /// The metadata for a reason: its code for programs, its text for people.
    static func reason(_ reason: Reason, and more: Self = [:]) -> Self {
        var metadata = more
        metadata["reason"] = "\(reason.code.rawValue)"
        metadata["explanation"] = "\(Printable.escaped(reason.text))"
        return metadata
    }
}
