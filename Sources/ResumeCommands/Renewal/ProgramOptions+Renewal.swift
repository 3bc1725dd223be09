import HTTPTypes
import ResumeDownload
import ResumeHTTP

/// The program of --renew-command, which prints a fresh URL or header fields when a server refuses a request.
///
/// It runs without a shell unless --shell is given. The key and the URL without its signature are in its
/// environment, not among its arguments, so that nothing that a server sends can become part of a command.
extension ProgramOptions {
    /// Completes a request with what the programs need of it; header fields that the program of --renew-command prints
    /// replace or complete its own.
    func apply(to request: inout DownloadRequest) {
        request.needs = needs
        guard let words = words(renewCommand) else { return }
        request.refresh = { [fields = request.headerFields] refusal in
            let program = ChildProgram(
                words: words, option: "--renew-command",
                environment: [
                    "RESUMECTL_KEY": refusal.key, "RESUMECTL_URL": refusal.url.redacted,
                    "RESUMECTL_STATUS": "\(refusal.status)",
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
