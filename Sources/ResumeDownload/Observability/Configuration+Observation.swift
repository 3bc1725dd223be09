public import Logging
import ResumeHTTP
public import ResumeStore

extension DownloadStore.Configuration {
    /// Returns the same configuration with an observed collector: what it evicts is logged, and counted by
    /// swift-metrics under the name `resume_store_evictions`.
    ///
    /// - Parameter logger: Logs evictions, with key and reason as metadata; nil for no log.
    /// - Returns: A configuration to open the store with.
    public func observed(by logger: Logger? = nil) -> Self {
        let metrics = DownloadMetrics()
        let former = onCollection
        var configuration = self
        configuration.onCollection = { report, totals in
            former?(report, totals)
            for removed in report.removed {
                metrics.evicted(because: removed.reason.code)
                logger?.info(
                    "evicted",
                    metadata: .reason(
                        removed.reason,
                        and: ["key": "\(Printable.escaped(removed.key))", "bytes": "\(removed.bytes)"]))
            }
            metrics.size(totals.receivedBytes)
        }
        return configuration
    }
}
