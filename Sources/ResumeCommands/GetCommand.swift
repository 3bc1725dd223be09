internal import ArgumentParser
internal import HTTPTypes
internal import ResumeDownload
internal import ResumeHTTP

/// The command `resumectl get`.
struct GetCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Download one URL or several, going on where an earlier run stopped.",
        discussion: """
            A download that was interrupted, killed or cut by a power loss continues where it was, if the server \
            still has the same file; if not, it starts over and says why. The file appears whole under its name, or \
            not at all.

            EXAMPLE:
              resumectl get https://example.org/image.iso
              resumectl get --directory models --sha256 9f86d0… https://example.org/model.bin
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "What to download: absolute http or https URLs.")
    var urls: [String] = []

    @Option(name: [.short, .long], help: ArgumentHelp("The file to write. With one URL only.", valueName: "path"))
    var output: String?

    @Option(
        name: [.customShort("P"), .long],
        help: ArgumentHelp("The folder to write to, under the last component of each URL.", valueName: "dir"))
    var directory: String?

    @Flag(
        name: [.customShort("J"), .long],
        help: "Let the server name the file, if it does (Content-Disposition). Replaces no file that is there.")
    var remoteHeaderName = false

    @Option(name: .long, help: ArgumentHelp("Name the download in the store. With one URL only.", valueName: "key"))
    var key: String?

    @Option(name: .long, help: ArgumentHelp("The SHA-256 the file must have. With one URL only.", valueName: "hex"))
    var sha256: String?

    @Option(name: .long, help: ArgumentHelp("The SHA-512 the file must have. With one URL only.", valueName: "hex"))
    var sha512: String?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "Get these bytes only: bytes=0-99, 200- or -500, or several with commas, one after the other.",
            valueName: "ranges"), transform: Self.selection)
    var range: RangeSelection?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How the server is asked whether the file is the same; if-range by default.",
            valueName: "if-range|if-match|head"),
        transform: Self.condition)
    var condition: ResumePolicy.Condition = .ifRange

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where the HEAD of --condition head goes, if it needs a URL of its own. With one URL only.",
            valueName: "url"
        ))
    var headUrl: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Ask for a coded form, such as gzip, and store it as it is sent. Nothing is decoded.", valueName: "codings")
    )
    var acceptEncoding: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp(
            "Send a field with each request. It stays with the URL's own origin when the server redirects elsewhere.",
            valueName: "name: value"))
    var headers: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("Over how many connections each file is fetched, if its server likes that.", valueName: "n"))
    var connections: Int = 1

    @Option(name: [.customShort("j"), .long], help: ArgumentHelp("How many downloads run at a time.", valueName: "n"))
    var maxConcurrent: Int = 4

    @Option(
        name: [.customShort("i"), .long],
        help: ArgumentHelp("Read URLs from a file, one a line; - for standard input.", valueName: "file"))
    var inputFile: String?

    @Option(name: .long, help: ArgumentHelp("How often to try again without a byte of progress.", valueName: "n"))
    var retries: Int = 5

    @Option(name: .long, help: ArgumentHelp("Give up a connection on which too little comes.", valueName: "seconds"))
    var stallTimeout: Double = 30

    @Option(name: .long, help: ArgumentHelp("How long to try to connect.", valueName: "seconds"))
    var connectTimeout: Double = 30

    @Option(
        name: .long,
        help: ArgumentHelp("The highest rate of each download, a second, such as 500KB or 10MiB.", valueName: "size"))
    var limitRate: ByteCount?

    @Option(name: .long, help: ArgumentHelp("Refuse a file that is longer, such as 500KB or 10MiB.", valueName: "size"))
    var maxSize: ByteCount?

    @Option(
        name: .long,
        help: ArgumentHelp("Trust the certificates in a PEM file instead of the system's.", valueName: "file"))
    var cacert: String?

    @Flag(
        name: .long,
        help: "Go on without a validator, where --sha256, --sha512 or 64 KiB fetched again can prove the bytes.")
    var allowUnvalidated = false

    @Flag(name: .customLong("http2"), help: "Speak HTTP/2 with servers that offer it.")
    var usesHTTP2 = false

    @Flag(
        name: .long,
        help: """
            Skip what has its file already, without asking whether that is still the same; with --remote-header-name the \
            server is asked for the name.
            """)
    var skipExisting = false

    @Flag(name: .long, help: "Drop what is held, and begin anew.")
    var restart = false

    @Flag(name: .long, help: "No progress bar, even on a terminal.")
    var noProgress = false

    @Flag(name: .long, help: "Write one JSON object an event to standard output.")
    var json = false

    @Flag(name: [.short, .long], help: "Say nothing but errors.")
    var quiet = false

    @Flag(name: [.short, .long], help: "Say each decision.")
    var verbose = false

    func validate() throws {
        if urls.isEmpty && inputFile == nil { throw ValidationError("Give at least one URL, or --input-file.") }
        if output?.isEmpty == true { throw ValidationError("--output must not be empty.") }
        if directory?.isEmpty == true { throw ValidationError("--directory must not be empty.") }
        if skipExisting, restart || sha256 != nil || sha512 != nil {
            throw ValidationError("--skip-existing does not look into the file, so not with --sha256 or --restart.")
        }
        if output == "-" { throw ValidationError("--output writes a file: a download that may continue needs one.") }
        if output != nil && directory != nil { throw ValidationError("Give --output or --directory, not both.") }
        if remoteHeaderName, output != nil { throw ValidationError("Give --output or --remote-header-name, not both.") }
        let isSingle = urls.count == 1 && inputFile == nil
        if !isSingle, [output, key, sha256, sha512, headUrl].contains(where: { $0 != nil }) {
            throw ValidationError("--output, --key, --sha256, --sha512 and --head-url go with exactly one URL.")
        }
        if let headUrl {
            guard condition == .head else { throw ValidationError("--head-url goes with --condition head.") }
            do {
                _ = try DownloadURL(headUrl)
            } catch {
                throw ValidationError("--head-url: \(error).")
            }
        }
        if sha256 != nil && sha512 != nil { throw ValidationError("Give --sha256 or --sha512, not both.") }
        if key?.isEmpty == true { throw ValidationError("--key must not be empty.") }
        if sha256 != nil, digest == nil { throw ValidationError("--sha256 needs 64 hexadecimal digits.") }
        if sha512 != nil, digest == nil { throw ValidationError("--sha512 needs 128 hexadecimal digits.") }
        if let acceptEncoding, acceptEncoding.isEmpty || !HTTPField.isValidValue(acceptEncoding) {
            throw ValidationError("--accept-encoding needs codings such as gzip.")
        }
        for header in headers where Self.field(header) == nil {
            throw ValidationError("--header needs 'Name: value', without control characters.")
        }
        for header in headers {
            if let name = Self.field(header)?.name, Plan.ownedFieldNames.contains(name) {
                let instead =
                    name == .acceptEncoding ? " Use --accept-encoding." : name == .range ? " Use --range." : ""
                throw ValidationError("--header cannot set \(name): the store decides on it.\(instead)")
            }
        }
        guard (1...DownloadRequest.mostConnections).contains(connections) else {
            throw ValidationError("--connections goes from 1 to \(DownloadRequest.mostConnections).")
        }
        guard (1...64).contains(maxConcurrent) else { throw ValidationError("--max-concurrent goes from 1 to 64.") }
        guard (0...1000).contains(retries) else { throw ValidationError("--retries goes from 0 to 1000.") }
        guard stallTimeout >= 0.1, stallTimeout <= 86_400, connectTimeout >= 0.1, connectTimeout <= 86_400 else {
            throw ValidationError("A timeout goes from 0.1 to 86400 seconds.")
        }
        if limitRate?.bytes == 0 { throw ValidationError("--limit-rate must be more than 0.") }
    }

    /// The expected digest; nil where there is none or it is malformed.
    var digest: HTTPDigest? {
        if let sha256 { return HTTPDigest(.sha256, hexadecimal: sha256) }
        return sha512.flatMap { HTTPDigest(.sha512, hexadecimal: $0) }
    }

    private static func selection(_ text: String) throws -> RangeSelection {
        guard let selection = RangeSelection(text) else {
            throw ValidationError("--range needs ranges such as bytes=0-99, 200- or -500.")
        }
        return selection
    }

    private static func condition(_ text: String) throws -> ResumePolicy.Condition {
        guard let condition = ResumePolicy.Condition(rawValue: text) else {
            throw ValidationError("--condition is if-range, if-match or head.")
        }
        return condition
    }

    /// Reads `Name: value`.
    static func field(_ header: String) -> HTTPField? {
        guard let colon = header.firstIndex(of: ":"), let name = HTTPField.Name(String(header[..<colon])) else {
            return nil
        }
        var value = header[header.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        while value.last == " " || value.last == "\t" { value.removeLast() }
        guard HTTPField.isValidValue(String(value)) else { return nil }
        return HTTPField(name: name, value: String(value))
    }

    /// One download as it was asked for.
    func request(for url: DownloadURL, to path: String) -> DownloadRequest {
        var request = DownloadRequest(url, to: path)
        request.key = key
        request.usesServerFilename = remoteHeaderName
        request.digest = digest
        request.selection = range
        request.condition = condition
        request.headURL = headUrl.flatMap { try? DownloadURL($0) }
        request.allowsUnvalidated = allowUnvalidated
        request.acceptEncoding = acceptEncoding ?? "identity"
        for field in headers.compactMap(Self.field) {
            request.fields.append(field)
            // What a user adds by hand may be a secret; only what every client sends is not.
            if ![.accept, .acceptLanguage, .userAgent, .referer].contains(field.name) {
                request.secretFields.insert(field.name)
            }
        }
        request.connections = connections
        request.limits.retries = retries
        request.stallTimeout = stallTimeout
        request.rateLimit = limitRate?.bytes
        request.maximumLength = maxSize?.bytes
        request.restarts = restart
        return request
    }
}
