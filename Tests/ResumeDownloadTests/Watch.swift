import CoreMetrics
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing
import Tracing

/// Downloads with all instrumentation enabled.
struct Watch {
    let handler = InMemoryLogHandler()
    let metrics = TestMetrics()
    let tracer = InMemoryTracer()

    var logger: Logger {
        let handler = handler
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .trace
        return logger
    }

    /// Runs a body with the metrics and the tracer.
    func watching(_ body: () async throws -> Void) async throws {
        try await withMetricsFactory(metrics) {
            try await withTracer(tracer) { try await body() }
        }
    }

    /// Downloads the origin's file.
    ///
    /// - Returns: Whether it was delivered.
    @discardableResult
    func get(
        _ origin: Origin, _ url: String? = nil, store: DownloadStore? = nil,
        _ configure: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> Bool {
        var request = DownloadRequest(try DownloadURL(url ?? origin.url), to: origin.folder["out"])
        request.retryPolicy = .init(
            retries: 0, time: .zero, firstDelay: .milliseconds(10), longestDelay: .milliseconds(20))
        request.stallTimeout = Engine.patience
        configure(&request)
        let (wanted, logger, store) = (request, logger, store ?? origin.store)
        return try await TransportKind.withTransport { transport in
            let result = try? await Downloader(store: store, transport: transport, logger: logger).download(wanted)
            return result != nil
        }
    }

    /// The log lines: level, message, and the code of the reason, if any.
    var lines: [String] {
        handler.entries.map { entry in
            let reason = entry.metadata["reason"].map { " \($0)" } ?? ""
            return "\(entry.level): \(entry.message)\(reason)"
        }
    }

    /// A counter's sum.
    func total(_ label: String, reason: String? = nil) -> Int64 {
        metrics.counterTotal(label: label, dimensions: reason.map { [("reason", $0)] } ?? [])
    }

    /// The sizes that were reported.
    var sizes: [Double] { metrics.recorders(label: "resume_store_size").flatMap(\.values) }

    /// The spans of requests, in the order of their ends.
    var requests: [FinishedInMemorySpan] { tracer.finishedSpans.filter { $0.kind == .client } }

    var downloads: [FinishedInMemorySpan] {
        tracer.finishedSpans.filter { $0.operationName == "resume-store.download" }
    }

    /// All output of the log, metrics and traces as text.
    var everything: String {
        let log = handler.entries.map { "\($0.level) \($0.message) \($0.metadata) \($0.error.map { "\($0)" } ?? "")" }
        let counters = metrics.counters.map { "\($0.label) \($0.dimensions)" }
        let spans = tracer.finishedSpans.map { span in
            "\(span.operationName) \(span.texts) \(span.events) \(span.errors) \(span.status.map { "\($0)" } ?? "")"
        }
        return (log + counters + spans).joined(separator: "\n")
    }
}

extension FinishedInMemorySpan {
    /// The attributes as text, by name.
    var texts: [String: String] {
        var texts: [String: String] = [:]
        attributes.forEach { name, value in
            texts[name] =
                switch value {
                case .string(let text): text
                case .int64(let number): "\(number)"
                default: "\(value)"
                }
        }
        return texts
    }
}
