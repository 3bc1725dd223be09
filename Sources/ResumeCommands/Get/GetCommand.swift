internal import ArgumentParser
internal import HTTPTypes
internal import ResumeDownload
internal import ResumeHTTP

/// The command `resumectl get`.
struct GetCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Download one or more URLs, resuming where an earlier run stopped.",
        discussion: """
            A download that was interrupted, killed or stopped by a power loss resumes if the file on the server is \
            unchanged. Otherwise it restarts, and resumectl prints the reason. The destination file appears only when \
            it is complete. If standard output is not a terminal, the path of each complete file is printed there, unless \
            --json or --quiet is given.

            EXAMPLE:
              resumectl get https://example.org/image.iso
              resumectl get -o - https://example.org/data.tar.gz | tar xz
              resumectl get --sha256 9f86d0… https://example.org/model.bin
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(
        help: """
            The http or https URLs to download. Without a scheme (host/path), http is used for this machine \
            (localhost), https for any other host.
            """)
    var urls: [String] = []

    @Option(
        name: [.customShort("o", allowingJoined: true), .long],
        help: ArgumentHelp(
            "File to write, in --directory if that is given; - for standard output. Requires a single URL.",
            valueName: "path"))
    var output: String?

    @Option(
        name: [.customShort("P", allowingJoined: true), .long],
        help: ArgumentHelp(
            "Folder to write to, which is created. The last path component of each URL becomes the file name.",
            valueName: "dir"))
    var directory: String?

    @Flag(
        name: .long,
        help: """
            Number files whose names would be the same (name.1.ext). Otherwise, only the first of them is downloaded. \
            Files from earlier runs do not count.
            """)
    var autoRename = false

    @Flag(
        name: [.customShort("J"), .long],
        help:
            "Use the file name from the server, if it sends one (Content-Disposition). Never replaces an existing file."
    )
    var remoteHeaderName = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Key of the download in the store, instead of its URL. Requires a single URL.", valueName: "key"))
    var key: String?

    @Option(name: .long, help: ArgumentHelp("Expected SHA-256 of the file. Requires a single URL.", valueName: "hex"))
    var sha256: String?

    @Option(name: .long, help: ArgumentHelp("Expected SHA-512 of the file. Requires a single URL.", valueName: "hex"))
    var sha512: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The same as sha-256=hex or sha-512=hex, as aria2 takes it.", valueName: "type=hex", visibility: .hidden),
        transform: Self.checksum)
    var checksum: HTTPDigest?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Verify each file with its SHA-256 or SHA-512 in this file, as sha256sum prints it. Use - for standard input.",
            valueName: "file"))
    var checksums: String?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "Download only these bytes: bytes=0-99, 200- or -500. Ranges separated by commas are concatenated.",
            valueName: "ranges"), transform: Self.selection)
    var range: RangeSelection?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How to check that the file on the server is unchanged (default: if-range).",
            valueName: "if-range|if-match|head"),
        transform: Self.condition)
    var condition: ResumePolicy.Condition = .ifRange

    @Option(
        name: .long,
        help: ArgumentHelp(
            "URL for the HEAD requests of --condition head (default: the download URL). Requires a single URL.",
            valueName: "url"
        ))
    var headUrl: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Accept these content codings, such as gzip, and store the file as sent, without decoding it.",
            valueName: "codings")
    )
    var acceptEncoding: String?

    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")],
        help: ArgumentHelp(
            "Send this header field with each request, but not to other origins after a redirect.",
            valueName: "name: value"))
    var headers: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("Number of connections for each file, if the server supports ranges.", valueName: "n"))
    var connections: Int = 1

    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("Number of downloads to run at a time.", valueName: "n"))
    var maxConcurrent: Int = 4

    @Option(
        name: [.customShort("i", allowingJoined: true), .long],
        help: ArgumentHelp("Read URLs from a file, one per line. Use - for standard input.", valueName: "file"))
    var inputFile: String?

    @Option(
        name: .long, help: ArgumentHelp("Number of retries without progress before a download fails.", valueName: "n"))
    var retries: Int = 5

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "Close a connection that receives less than 1 KiB in this time, and retry (default: 30s).",
            valueName: "time"), transform: TimeSpan.secondsArgument)
    var stallTimeout: TimeSpan?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Time limit for establishing a connection (default: 30s).", valueName: "time"),
        transform: TimeSpan.secondsArgument)
    var connectTimeout: TimeSpan?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Maximum bytes per second for each download, such as 500k or 1.5MiB.", valueName: "size"),
        transform: ByteCount.rate)
    var limitRate: ByteCount?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Refuse files larger than this, such as 500M or 1.5GiB.", valueName: "size"),
        transform: ByteCount.argument)
    var maxSize: ByteCount?

    @Option(
        name: .long,
        help: ArgumentHelp("Trust the certificates in this PEM file instead of those of the system.", valueName: "file")
    )
    var cacert: String?

    @Flag(
        name: .long,
        help: """
            Resume even without an ETag or Last-Modified date. Some bytes are then compared, which does not prove that \
            the file is unchanged; --sha256 or --sha512 does.
            """)
    var allowUnvalidated = false

    @Flag(name: .customLong("http2"), help: "Use HTTP/2 with servers that support it.")
    var usesHTTP2 = false

    @Flag(
        name: .long,
        help: """
            Skip downloads whose file already exists, without checking whether it is up to date. With \
            --remote-header-name, the server is asked for the file name first.
            """)
    var skipExisting = false

    @Flag(name: .long, help: "Discard the partial data and start from the beginning.")
    var restart = false

    @Flag(name: .long, help: "Do not show a progress bar.")
    var noProgress = false

    @Flag(name: .long, help: "Print each event to standard output as a JSON object.")
    var json = false

    @Flag(name: [.short, .long], help: "Print only errors, and no paths.")
    var quiet = false

    @Flag(name: [.short, .long], help: "Also print when each download starts.")
    var verbose = false

    @OptionGroup var familiar: FamiliarOptions

    /// Whether only errors are printed.
    var isQuiet: Bool { quiet || familiar.isSilent }

    /// The expected digest of a single file; nil if there is none or it is malformed.
    var digest: HTTPDigest? {
        if let checksum { return checksum }
        if let sha256 { return HTTPDigest(.sha256, hexadecimal: sha256) }
        return sha512.flatMap { HTTPDigest(.sha512, hexadecimal: $0) }
    }

    private static func selection(_ text: String) throws -> RangeSelection {
        guard let selection = RangeSelection(text) else {
            throw ValidationError("use ranges such as bytes=0-99, 200- or -500")
        }
        return selection
    }

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

    /// Returns a time limit; 30 seconds if it is not set.
    static func duration(_ limit: TimeSpan?) -> Duration { limit?.duration ?? .seconds(30) }

    /// Makes the request for a download.
    func request(for item: DownloadList.Item) -> DownloadRequest {
        var request = DownloadRequest(item.url, to: item.path)
        request.key = key
        request.usesServerFilename = remoteHeaderName
        request.digest = item.digest ?? digest
        request.selection = range
        request.condition = condition
        request.headURL = headUrl.flatMap { try? TypedURL.parse($0) }
        request.allowsUnvalidated = allowUnvalidated
        request.acceptEncoding = acceptEncoding ?? "identity"
        request.fields = familiar.fields
        for field in headers.compactMap(Self.field) {
            request.fields.append(field)
            // Fields added by the user may be secrets, except those that every client sends.
            if ![.accept, .acceptLanguage, .userAgent, .referer].contains(field.name) {
                request.secretFields.insert(field.name)
            }
        }
        request.connections = connections
        request.limits.retries = retries
        request.stallTimeout = Self.duration(stallTimeout)
        request.rateLimit = limitRate?.bytes
        request.maximumLength = maxSize?.bytes
        request.restarts = restart
        // The command is cancelled only by signals.
        request.interruption = Interruption(.interrupted)
        return request
    }
}
