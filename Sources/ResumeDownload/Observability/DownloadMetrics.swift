import Metrics
import ResumeHTTP

/// The metrics of downloads and of the store, reported through swift-metrics.
///
/// They are updated when bodies, downloads and collections end, never while bytes are transferred. Reasons are codes
/// defined by this package, so their dimension has few values.
struct DownloadMetrics: Sendable {
    /// The factory of the system or of the current task, read once.
    private let factory = MetricsSystem.factory

    /// Whether a metrics backend is set up.
    var isOn: Bool { !(factory is NOOPMetricsHandler) }

    /// Counts bytes of bodies received over the network.
    func fetched(_ bytes: Int64) { counter("resume_store_bytes_fetched").increment(by: bytes) }

    /// Counts bytes of a delivered file that had been received earlier.
    func reused(_ bytes: Int64) { counter("resume_store_bytes_reused").increment(by: bytes) }

    /// Counts a download that restarted although it had partial data.
    func restarted(because reason: Reason.Code) {
        counter("resume_store_restarts", ("reason", reason.rawValue)).increment()
    }

    /// Counts an entry that the collector removed.
    func evicted(because reason: Reason.Code) {
        counter("resume_store_evictions", ("reason", reason.rawValue)).increment()
    }

    /// Records how many bytes the store holds.
    func size(_ bytes: Int64) { Gauge(label: "resume_store_size", factory: factory).record(bytes) }

    /// Counts a download that has ended, and records how long it took.
    ///
    /// - Parameters:
    ///   - outcome: `delivered`, `failed`, `cancelled`, `paused` or `unchanged`.
    ///   - duration: The time since it was requested.
    func ended(as outcome: String, after duration: Duration) {
        counter("resume_store_downloads", ("outcome", outcome)).increment()
        let label = "resume_store_download_duration"
        Timer(label: label, dimensions: [("outcome", outcome)], factory: factory).record(duration: duration)
    }

    /// Changes the number of downloads that run.
    func active(by difference: Double) {
        Meter(label: "resume_store_downloads_active", factory: factory).increment(by: difference)
    }

    /// Changes the number of downloads that wait for another task or process.
    func waiting(by difference: Double) {
        Meter(label: "resume_store_downloads_waiting", factory: factory).increment(by: difference)
    }

    private func counter(_ label: String, _ dimensions: (String, String)...) -> Counter {
        Counter(label: label, dimensions: dimensions, factory: factory)
    }
}
