import Metrics
import ResumeHTTP

/// The metrics of downloads and of the store, reported through swift-metrics.
///
/// They are updated when bodies, downloads and collections end, never while bytes are transferred. Reasons are codes
/// defined by this package, so their dimension has few values.
struct DownloadMetrics {
    /// The factory of the system or of the current task, read once; nil if no metrics backend is set up.
    private let factory: (any MetricsFactory)? = {
        let factory = MetricsSystem.factory
        return factory is NOOPMetricsHandler ? nil : factory
    }()

    /// Whether a metrics backend is set up.
    var isOn: Bool { factory != nil }

    /// Counts bytes of bodies received over the network.
    func fetched(_ bytes: Int64) { counter("resume_store_bytes_fetched")?.increment(by: bytes) }

    /// Counts bytes of a delivered file that had been received earlier.
    func reused(_ bytes: Int64) { counter("resume_store_bytes_reused")?.increment(by: bytes) }

    /// Counts a download that restarted although it had partial data.
    func restarted(because reason: Reason.Code) {
        counter("resume_store_restarts", ("reason", reason.rawValue))?.increment()
    }

    /// Counts an entry that the collector removed.
    func evicted(because reason: Reason.Code) {
        counter("resume_store_evictions", ("reason", reason.rawValue))?.increment()
    }

    /// Records how many bytes the store holds.
    func size(_ bytes: Int64) {
        if let factory { Gauge(label: "resume_store_size", factory: factory).record(bytes) }
    }

    /// Counts a download that has ended, and records how long it took.
    ///
    /// - Parameters:
    ///   - outcome: `delivered`, `failed`, `cancelled`, `paused` or `unchanged`.
    ///   - duration: The time since it was requested.
    func ended(as outcome: String, after duration: Duration) {
        counter("resume_store_downloads", ("outcome", outcome))?.increment()
        guard let factory else { return }
        let label = "resume_store_download_duration"
        Timer(label: label, dimensions: [("outcome", outcome)], factory: factory).record(duration: duration)
    }

    /// Changes the number of downloads that run.
    func active(by difference: Double) {
        change("resume_store_downloads_active", by: difference)
    }

    /// Changes the number of downloads that wait for another task or process.
    func waiting(by difference: Double) {
        change("resume_store_downloads_waiting", by: difference)
    }

    private func change(_ label: String, by difference: Double) {
        if let factory { Meter(label: label, factory: factory).increment(by: difference) }
    }

    private func counter(_ label: String, _ dimensions: (String, String)...) -> Counter? {
        factory.map { Counter(label: label, dimensions: dimensions, factory: $0) }
    }
}
