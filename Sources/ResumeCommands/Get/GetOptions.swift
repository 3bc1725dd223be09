import ArgumentParser
import ResumeDownload
import ResumeHTTP

/// How much of the machine and of the network `get` and `resume` use.
struct LoadOptions: ParsableArguments {
    private static let mostRetries = 1000

    @Option("j max-concurrent") var maxConcurrent = 4
    @Option("limit-rate") var limitRate: RatePlan?
    @Option("total-rate") var totalRate: RatePlan?
    @Option("per-host") var perHost: Int?
    @Option("retries") var retries: Int?
    /// As other programs count: the first attempt is one of them.
    @Option("t tries") var tries: Int?
    @Option("retry-time", TimeSpan.secondsArgument) var retryTime: TimeSpan?
    @Option("stall-timeout T", TimeSpan.secondsArgument) var stallTimeout: TimeSpan?

    /// Sets the limits of a request that are given.
    func apply(to request: inout DownloadRequest) {
        if let retries = retries ?? tries.map({ $0 == 0 ? Self.mostRetries : $0 - 1 }) {
            request.retryPolicy.retries = retries
        }
        if let retryTime { request.retryPolicy.time = retryTime.duration }
        if let limitRate { request.rateLimit = limitRate.constant }
        if let stallTimeout { request.stallTimeout = stallTimeout.duration }
    }

    func validate() throws {
        try require(maxConcurrent, in: 1...64, "--max-concurrent")
        try require(retries, in: 0...Self.mostRetries, "--retries")
        try require(tries, in: 0...Self.mostRetries, "--tries")
        try exclude(retries != nil && tries != nil, "--retries and --tries (-t)")
        try require(perHost, in: 1...1024, "--per-host")
        try require(TimeSpan.isLimit(stallTimeout), sentence("limit-stall"))
    }
}

extension GetCommand {
    /// Which URLs `get` downloads, besides its arguments, and where to.
    struct Files: ParsableArguments {
        @Option("o output", completion: .file()) var output: String?
        @Option("P directory", completion: .directory) var directory: String?
        @Option("i input-file", completion: .file()) var inputFile: String?
        @Option(
            help: .of("input-format"),
            transform: { try ListLine.Format(rawValue: $0).orRefuse("use auto, urls or aria2") })
        var inputFormat: ListLine.Format = .auto
        @Option("from", completion: .file()) var from: String?
        @Flag("hold") var hold = false
        @Flag("keep") var keep = false
        @Flag("J remote-header-name") var remoteHeaderName = false
        @Flag("auto-rename") var autoRename = false
        @Flag("overwrite") var overwrite = false
        @Flag("skip-existing") var skipExisting = false
        @Flag("follow-links") var followLinks = false
    }

    /// What `get` requires of a file.
    struct Checks: ParsableArguments {
        @OptionGroup var digests: DigestOptions

        @Option("checksum", transform: { try HTTPDigest(named: $0).orRefuse(sentence("use-checksum")) })
        var checksum: HTTPDigest?

        @Option("checksums", completion: .file()) var checksums: String?
        @Option("max-size") var maxSize: ByteCount?
        @Flag("allow-unvalidated") var allowUnvalidated = false
        @Flag("restart") var restart = false

        @Option(
            help: .of("condition"),
            transform: { try ResumePolicy.Condition(rawValue: $0).orRefuse("use if-range, if-match or head") }
        )
        var condition: ResumePolicy.Condition = .ifRange

        @Option("head-url") var headUrl: String?
    }

    struct Requests: ParsableArguments {
        @Option(
            "range", parsing: .unconditional,
            transform: { try RangeSelection($0).orRefuse(sentence("use-ranges")) })
        var range: RangeSelection?

        @Option("key") var key: String?
        @Option("max-redirs") var mostRedirects = 20
        @Option("accept-encoding") var acceptEncoding: String?
        @Flag("http2") var usesHTTP2 = false
        @Flag("http3") var usesHTTP3 = false
    }

    /// How `get` makes the requests of a file, and how long it waits.
    struct Pace: ParsableArguments {
        @Option("connections") var connections = 1
        @Option("connect-timeout", TimeSpan.secondsArgument) var connectTimeout: TimeSpan?
        @Option("max-time", TimeSpan.secondsArgument) var maxTime: TimeSpan?

        /// Returns a time limit; 30 seconds if it is not set.
        static func limit(_ limit: TimeSpan?) -> Duration { limit?.duration ?? .seconds(30) }
    }

    /// What `get` prints.
    struct Messages: ParsableArguments {
        @Flag("get/json") var json = false
        @Flag("q quiet") var quiet = false

        /// What is printed on standard output.
        enum Printed: String, CaseIterable, ExpressibleByArgument {
            case path
        }

        @Option("print") var printed: Printed?
        @Flag("v verbose") var verbose = false
        @Flag("no-progress") var noProgress = false

        /// How the progress is shown.
        enum Progress: String, CaseIterable, ExpressibleByArgument {
            case bar, lines
        }

        @Option("progress") var progress = Progress.bar
    }
}
