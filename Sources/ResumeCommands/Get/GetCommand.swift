import ArgumentParser
import HTTPTypes
import ResumeDownload
import ResumeHTTP

/// The command `resumectl get`.
struct GetCommand: ContextCommand {
    static let configuration = CommandConfiguration("get")

    @Argument(help: .of("get/url")) var urls: [String] = []
    @OptionGroup(title: "Files") var files: Files
    @OptionGroup(title: "Checks") var checks: Checks
    @OptionGroup(title: "Requests") var headers: HeaderOptions
    @OptionGroup(title: "Requests") var requests: Requests
    @OptionGroup(title: "Requests") var connection: ConnectionOptions
    @OptionGroup(title: "Requests") var familiar: FamiliarOptions
    @OptionGroup(title: "Requests") var load: LoadOptions
    @OptionGroup(title: "Requests") var pace: Pace
    @OptionGroup(title: "Requests") var programs: ProgramOptions
    @OptionGroup var messages: Messages
    @OptionGroup var storeOptions: StoreOptions

    /// Whether only errors are printed.
    var isQuiet: Bool { messages.quiet || familiar.isSilent }

    /// The expected digest of a single file; nil if there is none.
    var digest: HTTPDigest? { checks.checksum ?? checks.digests.digest }

    /// Makes a request with the options of the command, for any URL; reading the options takes long.
    func terms(_ url: DownloadURL) -> DownloadRequest {
        var request = DownloadRequest(url, to: "")
        request.key = requests.key
        request.usesServerFilename = files.remoteHeaderName
        request.numbersServerFilename = files.remoteHeaderName && files.autoRename
        request.digest = digest
        request.selection = requests.range
        request.condition = checks.condition
        request.headURL = checks.headUrl.flatMap { try? TypedURL.parse($0) }
        request.allowsUnvalidated = checks.allowUnvalidated
        request.acceptEncoding = requests.acceptEncoding ?? "identity"
        request.headerFields = familiar.fields + headers.fields
        // Fields added by the user may be secrets, except those that every client sends.
        let harmless: Set<HTTPField.Name> = [.accept, .acceptLanguage, .userAgent, .referer]
        request.secretHeaderFields = Set(headers.fields.map(\.name)).subtracting(harmless)
        request.connections = pace.connections
        request.mostRedirects = requests.mostRedirects
        load.apply(to: &request)
        request.maximumLength = checks.maxSize?.bytes
        request.adopts = files.from
        programs.apply(to: &request)
        GivenIdentity(connection, familiar.cookies).apply(to: &request)
        request.restarts = checks.restart
        // The command is cancelled only by signals.
        request.interruption = Interruption(.interrupted)
        return request
    }
}
