internal import HTTPTypes
internal import ResumeDownload
internal import ResumeHTTP

/// The program of --renew-command, which prints a fresh URL or header fields when a server refuses a request.
///
/// It runs without a shell unless --shell is given. The key and the URL without its signature are in its
/// environment, not among its arguments, so that nothing that a server sends can become part of a command.
struct RenewCommand: Sendable {
    private let words: [String]

    /// Creates a command; nil if there is none.
    init?(_ options: ProgramOptions) {
        guard let words = options.words(options.renewCommand) else { return nil }
        self.words = words
    }

    /// Returns the hook for a download.
    ///
    /// - Parameter fields: The header fields of the download; those that the program prints replace or complete them.
    /// - Returns: The hook.
    func renewal(completing fields: HTTPFields) -> @Sendable (AuthorizationChallenge) async throws -> RefreshedRequest?
    {
        { refusal in
            let program = ChildProgram(
                words, option: "--renew-command",
                environment: [
                    .key: refusal.key, .url: refusal.url.redacted, .status: "\(refusal.status)",
                ])
            return try Self.renewal(in: try await program.output(), completing: fields)
        }
    }

    /// Parses the output of the program: a URL, or header fields, each on a line.
    ///
    /// - Returns: nil if there is none.
    /// - Throws: ``CommandFailure`` for another line; the line is not shown, since it may contain a secret.
    private static func renewal(in output: String, completing fields: HTTPFields) throws -> RefreshedRequest? {
        var renewal = RefreshedRequest()
        let printed = try HeaderLine.fields(in: output, of: "--renew-command", or: "a URL") { line in
            guard let url = try? DownloadURL(String(line)) else { return false }
            renewal.url = url
            return true
        }
        renewal.secretHeaderFields.formUnion(printed.map(\.name))
        if !printed.isEmpty { renewal.headerFields = fields.replaced(by: printed) }
        return renewal.url == nil && renewal.headerFields == nil ? nil : renewal
    }
}
