internal import ArgumentParser

/// How much of the machine and of the network `get` and `resume` use.
struct LoadOptions: ParsableArguments {
    @Option(name: [.customShort("j", allowingJoined: true), .long], help: .value("n", "Downloads at a time."))
    var maxConcurrent: Int = 4

    @Option(
        parsing: .unconditional, help: .value("rate", "Bytes per second for each download, such as 2M."),
        transform: RatePlan.argument)
    var limitRate: RatePlan?

    @Option(
        parsing: .unconditional, help: .value("rate", "The same for all together; also 08:00-18:00=1M."),
        transform: RatePlan.argument)
    var totalRate: RatePlan?

    @Option(help: .hidden("Connections to each host (default: as many as the number of downloads requires).", "n"))
    var perHost: Int?

    @Option(
        parsing: .unconditional,
        help: .hidden(
            "Retry for this long after progress, and wait no longer when a server asks (default: 15m).", "time"),
        transform: TimeSpan.secondsArgument)
    var retryTime: TimeSpan?

    func validate() throws {
        try require((1...64).contains(maxConcurrent), "--max-concurrent must be between 1 and 64")
        try require((1...1024).contains(perHost ?? 1), "--per-host must be between 1 and 1024")
    }

    /// Returns how many downloads of each host may run.
    ///
    /// - Parameter connections: The connections of each download.
    /// - Returns: nil for any number.
    func downloadsPerHost(with connections: Int) -> Int? { perHost.map { max($0 / max(connections, 1), 1) } }
}
