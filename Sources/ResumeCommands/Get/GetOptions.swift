internal import ArgumentParser
internal import ResumeHTTP

/// Which URLs `get` downloads, besides its arguments, and where to.
struct FileOptions: ParsableArguments {
    @Option(
        name: [.customShort("o", allowingJoined: true), .long],
        help: ArgumentHelp("File to write (replaced); - for standard output.", valueName: "path"),
        completion: .file())
    var output: String?

    @Option(
        name: [.customShort("P", allowingJoined: true), .long],
        help: ArgumentHelp("Folder to write to, which is created.", valueName: "dir"), completion: .directory)
    var directory: String?

    @Option(
        name: [.customShort("i", allowingJoined: true), .long],
        help: ArgumentHelp("Read URLs from a file, one per line; - for input.", valueName: "file"), completion: .file())
    var inputFile: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Begin with what another program has left; see adopt.", valueName: "path"),
        completion: .file())
    var from: String?

    @Flag(
        name: .long, help: ArgumentHelp("With -o -, write nothing before the file is verified.", visibility: .hidden))
    var hold = false

    @Flag(name: .long, help: ArgumentHelp("With -o -, keep partial data in the store.", visibility: .hidden))
    var keep = false

    @Flag(
        name: [.customShort("J"), .long],
        help: "Use the name that the server sends.")
    var remoteHeaderName = false

    @Flag(name: .long, help: ArgumentHelp("Number files of the same name (name.1.ext).", visibility: .hidden))
    var autoRename = false

    @Flag(
        name: .long, help: ArgumentHelp("Replace files that this program has not written.", visibility: .hidden))
    var overwrite = false

    @Flag(name: .long, help: "Skip files that exist, without checking them.")
    var skipExisting = false
}

/// What `get` requires of a file.
struct CheckOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("Expected SHA-256 of the file, or --sha512.", valueName: "hex"))
    var sha256: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Expected SHA-512 of the file.", valueName: "hex", visibility: .hidden))
    var sha512: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The same as sha-256=hex or sha-512=hex, as aria2 takes it.", valueName: "type=hex", visibility: .hidden),
        transform: Self.checksum)
    var checksum: HTTPDigest?

    @Option(
        name: .long, help: ArgumentHelp("List like sha256sum's to verify files; also a URL.", valueName: "file"),
        completion: .file())
    var checksums: String?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Refuse larger files, such as 500M or 1.5GiB.", valueName: "size", visibility: .hidden),
        transform: ByteCount.argument)
    var maxSize: ByteCount?

    @Flag(
        name: .long,
        help: ArgumentHelp("Resume without ETag or date, comparing some bytes.", visibility: .hidden))
    var allowUnvalidated = false

    @Flag(name: .long, help: "Discard the partial data and start over.")
    var restart = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How to check that the file on the server is unchanged (default: if-range).",
            valueName: "if-range|if-match|head", visibility: .hidden),
        transform: Self.condition)
    var condition: ResumePolicy.Condition = .ifRange

    @Option(
        name: .long,
        help: ArgumentHelp(
            "URL for the HEAD requests of --condition head (default: the download URL).", valueName: "url",
            visibility: .hidden))
    var headUrl: String?

    private static func checksum(_ text: String) throws -> HTTPDigest {
        guard let digest = HTTPDigest(named: text) else {
            throw ValidationError("use sha-256= and 64 hexadecimal digits, or sha-512= and 128")
        }
        return digest
    }

    private static func condition(_ text: String) throws -> ResumePolicy.Condition {
        guard let condition = ResumePolicy.Condition(rawValue: text) else {
            throw ValidationError("use if-range, if-match or head")
        }
        return condition
    }
}

/// What `get` requests.
struct RequestOptions: ParsableArguments {
    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "Only these bytes: 0-99, 200-, -500, or several.", valueName: "ranges", visibility: .hidden),
        transform: Self.selection)
    var range: RangeSelection?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Key of the download in the store, instead of its URL. Requires a single URL.", valueName: "key",
            visibility: .hidden))
    var key: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Accept these content codings, such as gzip, and store the file as sent, without decoding it.",
            valueName: "codings", visibility: .hidden))
    var acceptEncoding: String?

    @Flag(
        name: .customLong("http2"),
        help: ArgumentHelp("Use HTTP/2 with servers that support it.", visibility: .hidden))
    var usesHTTP2 = false

    private static func selection(_ text: String) throws -> RangeSelection {
        guard let selection = RangeSelection(text) else {
            throw ValidationError("use ranges such as bytes=0-99, 200- or -500")
        }
        return selection
    }
}

/// How `get` makes the requests of a file, how often, and how long it waits.
struct PaceOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("Connections for each file.", valueName: "n"))
    var connections: Int = 1

    @Option(
        name: .long,
        help: ArgumentHelp("Retries before the first progress; 0 for none.", valueName: "n", visibility: .hidden))
    var retries: Int = 5

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "Close a connection that receives less than 1 KiB in this time, and retry (default: 30s).",
            valueName: "time", visibility: .hidden), transform: TimeSpan.secondsArgument)
    var stallTimeout: TimeSpan?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "Time limit for establishing a connection (default: 30s).", valueName: "time", visibility: .hidden),
        transform: TimeSpan.secondsArgument)
    var connectTimeout: TimeSpan?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "Stop each download after this time, such as 10m.", valueName: "time"), transform: TimeSpan.secondsArgument)
    var maxTime: TimeSpan?

    /// Returns a time limit; 30 seconds if it is not set.
    static func limit(_ limit: TimeSpan?) -> Duration { limit?.duration ?? .seconds(30) }
}

/// What `get` prints.
struct MessageOptions: ParsableArguments {
    @Flag(name: .long, help: "Print each event as a JSON object.")
    var json = false

    @Flag(name: [.short, .long], help: "Print only errors, and no paths.")
    var quiet = false

    /// What is printed on standard output.
    enum Printed: String, CaseIterable, ExpressibleByArgument {
        case path
    }

    @Option(
        name: .customLong("print"),
        help: ArgumentHelp("Print the path of each file, even with -q or in a terminal.", visibility: .hidden))
    var printed: Printed?

    @Flag(name: [.short, .long], help: ArgumentHelp("Also print when each download starts.", visibility: .hidden))
    var verbose = false

    @Flag(name: .long, help: ArgumentHelp("Do not show the progress.", visibility: .hidden))
    var noProgress = false

    /// How the progress is shown.
    enum Progress: String, CaseIterable, ExpressibleByArgument {
        case bar, lines
    }

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Print a line at least every 30 s, as without a terminal, instead of a bar.", visibility: .hidden))
    var progress = Progress.bar
}
