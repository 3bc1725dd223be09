internal import ArgumentParser

/// How much of the machine and of the network `get` and `resume` use.
struct LoadOptions: ParsableArguments {
    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("Downloads at a time.", valueName: "n"))
    var maxConcurrent: Int = 4

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Bytes per second for each download, such as 2M.", valueName: "rate"),
        transform: RatePlan.argument)
    var limitRate: RatePlan?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "The same for all together; also 08:00-18:00=1M.", valueName: "rate"),
        transform: RatePlan.argument)
    var totalRate: RatePlan?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Connections to each host (default: as many as the number of downloads requires).", valueName: "n",
            visibility: .hidden))
    var perHost: Int?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "Retry for this long after progress, and wait no longer when a server asks (default: 15m).",
            valueName: "time", visibility: .hidden), transform: TimeSpan.secondsArgument)
    var retryTime: TimeSpan?

    func validate() throws {
        guard (1...64).contains(maxConcurrent) else {
            throw ValidationError("--max-concurrent must be between 1 and 64")
        }
        if let perHost, !(1...1024).contains(perHost) {
            throw ValidationError("--per-host must be between 1 and 1024")
        }
    }

    /// Returns how many downloads of each host may run.
    ///
    /// - Parameter connections: The connections of each download.
    /// - Returns: nil for any number.
    func downloadsPerHost(with connections: Int) -> Int? { perHost.map { max($0 / max(connections, 1), 1) } }
}
