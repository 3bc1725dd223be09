import ArgumentParser
import ResumeDownload
import ResumeHTTP

/// How much of the machine and of the network `get` and `resume` use.
struct LoadOptions: ParsableArguments {
    @Option(name: .option("j max-concurrent"), help: .value("n", "Downloads at a time."))
    var maxConcurrent: Int = 4

    @Option(typed: "Bytes per second for each download, such as 2M.")
    var limitRate: RatePlan?

    @Option(typed: "The same for all together; also 08:00-18:00=1M.")
    var totalRate: RatePlan?

    @Option(help: .hidden("Connections to each host (default: as many as the number of downloads requires).", "n"))
    var perHost: Int?

    @Option(help: .hidden("Retries before the first progress; 0 for none (default: 5).", "n"))
    var retries: Int?

    @Option(
        typed: "Retry for this long after progress, and wait no longer when a server asks (default: 15m).",
        isHidden: true, TimeSpan.secondsArgument)
    var retryTime: TimeSpan?

    @Option(
        typed: "Close a connection that receives less than 1 KiB in this time, and retry (default: 30s).",
        isHidden: true, TimeSpan.secondsArgument)
    var stallTimeout: TimeSpan?

    /// Sets the limits of a request that are given.
    func apply(to request: inout DownloadRequest) {
        if let retries { request.retryPolicy.retries = retries }
        if let retryTime { request.retryPolicy.time = retryTime.duration }
        if let limitRate { request.rateLimit = limitRate.constant }
        if let stallTimeout { request.stallTimeout = stallTimeout.duration }
    }

    func validate() throws {
        try require(maxConcurrent, in: 1...64, "--max-concurrent")
        try require(retries, in: 0...1000, "--retries")
        try require(perHost, in: 1...1024, "--per-host")
        try require(TimeSpan.isLimit(stallTimeout), "--stall-timeout must be between 0.1 and 86400 seconds")
    }
}
