import ArgumentParser
import ResumeDownload
import ResumeHTTP

/// How much of the machine and of the network `get` and `resume` use.
struct LoadOptions: ParsableArguments {
    @Option("j max-concurrent") var maxConcurrent = 4
    @Option("limit-rate") var limitRate: RatePlan?
    @Option("total-rate") var totalRate: RatePlan?
    @Option("per-host") var perHost: Int?
    @Option("retries") var retries: Int?
    @Option("retry-time", TimeSpan.secondsArgument) var retryTime: TimeSpan?
    @Option("stall-timeout", TimeSpan.secondsArgument) var stallTimeout: TimeSpan?

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
