internal import Metrics
internal import ResumeHTTP

/// What is counted, by swift-metrics.
///
/// The numbers change at ends of bodies, of downloads and of collections, never while bytes move. A reason is the code
/// of one of the package's own reasons, so the dimension has few values.
struct DownloadMetrics: Sendable {
    /// The system's, or the one that the task was given; asked for once, where the work begins.
    private let factory = MetricsSystem.factory

    /// Whether anybody takes the numbers.
    var isOn: Bool { !(factory is NOOPMetricsHandler) }

    /// Bytes of bodies that came over the network.
    func fetched(_ bytes: Int64) {
        Counter(label: "resume_store_bytes_fetched", factory: factory).increment(by: bytes)
    }

    /// Bytes of a delivered file that had been held before.
    func reused(_ bytes: Int64) {
        Counter(label: "resume_store_bytes_reused", factory: factory).increment(by: bytes)
    }

    /// A download began anew although bytes were held.
    func restarted(because reason: Reason.Code) {
        counter("resume_store_restarts", reason).increment()
    }

    /// The collector removed an entry.
    func evicted(because reason: Reason.Code) {
        counter("resume_store_evictions", reason).increment()
    }

    /// Bytes that the store holds.
    func size(_ bytes: Int64) {
        Gauge(label: "resume_store_size", factory: factory).record(bytes)
    }

    private func counter(_ label: String, _ reason: Reason.Code) -> Counter {
        Counter(label: label, dimensions: [("reason", reason.rawValue)], factory: factory)
    }
}
