import ArgumentParser
import ResumeHTTP

/// Which URLs `get` downloads, besides its arguments, and where to.
struct FileOptions: ParsableArguments {
    @Option(
        name: .option("o output"),
        help: .value("path", "File to write (replaced); - for standard output."), completion: .file())
    var output: String?

    @Option(
        name: .option("P directory"),
        help: .value("dir", "Folder to write to, which is created."), completion: .directory)
    var directory: String?

    @Option(
        name: .option("i input-file"),
        help: .value("file", "Read URLs from a file, one per line; - for input."), completion: .file())
    var inputFile: String?

    @Option(help: .hidden("Begin with what another program has left; see adopt.", "path"), completion: .file())
    var from: String?

    @Flag(help: .hidden("With -o -, write nothing before the file is verified."))
    var hold = false

    @Flag(help: .hidden("With -o -, keep partial data in the store."))
    var keep = false

    @Flag(name: .flag("J remote-header-name"), help: "Use the name that the server sends.")
    var remoteHeaderName = false

    @Flag(help: "If the file exists, write to name.1.ext.")
    var autoRename = false

    @Flag(help: "Replace files that this program has not written.")
    var overwrite = false

    @Flag(help: "Skip files that exist, without checking them.")
    var skipExisting = false
}

/// What `get` requires of a file.
struct CheckOptions: ParsableArguments {
    @Option(help: .value("hex", "Expected SHA-256 of the file, or --sha512."))
    var sha256: String?

    @Option(help: .hidden("Expected SHA-512 of the file.", "hex"))
    var sha512: String?

    @Option(
        help: .hidden("The same as sha-256=hex or sha-512=hex, as aria2 takes it.", "type=hex"),
        transform: {
            try HTTPDigest(named: $0).orRefuse("use sha-256= and 64 hexadecimal digits, or sha-512= and 128")
        })
    var checksum: HTTPDigest?

    @Option(help: .value("file", "List like sha256sum's to verify files; also a URL."), completion: .file())
    var checksums: String?

    @Option(typed: "Refuse larger files, such as 500M or 1.5GiB.", isHidden: true)
    var maxSize: ByteCount?

    @Flag(help: .hidden("Resume without ETag or date, comparing some bytes."))
    var allowUnvalidated = false

    @Flag(help: "Discard the partial data and start over.")
    var restart = false

    @Option(
        help: .hidden(
            "How to check that the file on the server is unchanged (default: if-range).", "if-range|if-match|head"),
        transform: { try ResumePolicy.Condition(rawValue: $0).orRefuse("use if-range, if-match or head") })
    var condition: ResumePolicy.Condition = .ifRange

    @Option(help: .hidden("URL for the HEAD requests of --condition head (default: the download URL).", "url"))
    var headUrl: String?
}

/// What `get` requests.
struct RequestOptions: ParsableArguments {
    @Option(
        parsing: .unconditional, help: .hidden("Only these bytes: 0-99, 200-, -500, or several.", "ranges"),
        transform: { try RangeSelection($0).orRefuse("use ranges such as bytes=0-99, 200- or -500") })
    var range: RangeSelection?

    @Option(help: .hidden("Key of the download in the store, instead of its URL. Requires a single URL.", "key"))
    var key: String?

    @Option(
        help: .hidden(
            "Accept these content codings, such as gzip, and store the file as sent, without decoding it.", "codings"))
    var acceptEncoding: String?

    @Flag(name: .customLong("http2"), help: .hidden("Use HTTP/2 with servers that support it."))
    var usesHTTP2 = false

    @Flag(name: .customLong("http3"), help: .hidden("Use HTTP/3 with servers that support it."))
    var usesHTTP3 = false
}

/// How `get` makes the requests of a file, and how long it waits.
struct PaceOptions: ParsableArguments {
    @Option(help: .value("n", "Connections for each file."))
    var connections: Int = 1

    @Option(typed: "Time limit for establishing a connection (default: 30s).", isHidden: true, TimeSpan.secondsArgument)
    var connectTimeout: TimeSpan?

    @Option(typed: "Stop each download after this time, such as 10m.", TimeSpan.secondsArgument)
    var maxTime: TimeSpan?

    /// Returns a time limit; 30 seconds if it is not set.
    static func limit(_ limit: TimeSpan?) -> Duration { limit?.duration ?? .seconds(30) }
}

/// What `get` prints.
struct MessageOptions: ParsableArguments {
    @Flag(help: "Print each event as a JSON object.")
    var json = false

    @Flag(name: [.short, .long], help: "Print only errors, and no paths.")
    var quiet = false

    /// What is printed on standard output.
    enum Printed: String, CaseIterable, ExpressibleByArgument {
        case path
    }

    @Option(name: .customLong("print"), help: .hidden("Print the path of each file, even with -q or in a terminal."))
    var printed: Printed?

    @Flag(name: [.short, .long], help: .hidden("Also print when each download starts."))
    var verbose = false

    @Flag(help: .hidden("Do not show the progress."))
    var noProgress = false

    /// How the progress is shown.
    enum Progress: String, CaseIterable, ExpressibleByArgument {
        case bar, lines
    }

    @Option(help: .hidden("Print a line at least every 30 s, as without a terminal, instead of a bar."))
    var progress = Progress.bar
}
