import HTTPTypes
import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// The programs of --auth-command and --on-complete.
///
/// What they need is in their environment, not among their arguments, so that nothing that a server sends can become part
/// of a command.
final class Programs: Sendable {
    static let completionOption = "--on-complete"
    /// The reason of a job whose file is done, but whose program failed.
    static let completionFailed: Reason.Code = "on-complete-failed"

    private let auth: [String]?
    private let options: ProgramOptions
    /// The header fields for each origin; the program runs once for each.
    private let known = Mutex<[String: Task<HTTPFields, any Error>]>([:])

    init(_ options: ProgramOptions) {
        auth = options.words(options.authCommand)
        self.options = options
    }

    /// Adds what --auth-command prints for the server, unless the request has credentials; it is asked again if the
    /// server refuses them.
    ///
    /// - Throws: ``CommandFailure`` if the program fails, `CancellationError`.
    func authorize(_ request: inout DownloadRequest) async throws {
        guard let auth, request.headerFields[.authorization] == nil, request.url.credentials == nil else { return }
        let url = request.url
        let fields = try await fields(auth, for: url)
        let own = request.headerFields
        let renew = request.refresh
        request.headerFields = own.replaced(by: fields)
        request.secretHeaderFields.formUnion(fields.map(\.name))
        request.refresh = { [self] refusal in
            guard [401, 407].contains(refusal.status), refusal.url.origin == url.origin else {
                return try await renew?(refusal)
            }
            let fields = try await Self.fields(auth, for: refusal.url, status: refusal.status)
            known.withLock { $0[url.origin] = Task { fields } }
            guard !fields.isEmpty else { return try await renew?(refusal) }
            return RefreshedRequest(
                headerFields: own.replaced(by: fields), secretHeaderFields: Set(fields.map(\.name)))
        }
    }

    /// Returns what the program has printed for an origin, or runs it.
    private func fields(_ auth: [String], for url: DownloadURL) async throws -> HTTPFields {
        while true {
            let task = known.withLock { known in
                let task = known[url.origin] ?? Task { try await Self.fields(auth, for: url) }
                known[url.origin] = task
                return task
            }
            do {
                return try await withCancellation {
                    try await task.value
                } onCancel: {
                    task.cancel()
                }
            } catch {
                // It is run again for the next download; also if another download that waited for it was cancelled.
                known.withLock { if $0[url.origin] == task { $0[url.origin] = nil } }
                guard error is CancellationError, !Task.isCancelled else { throw error }
            }
        }
    }

    /// What is left of a job whose file is delivered; nil if there is no --on-complete.
    var rest: Reason? {
        options.onComplete.map { _ in
            Reason(code: Self.completionFailed, text: "the program of --on-complete has not finished")
        }
    }

    /// Runs --on-complete for a file.
    ///
    /// - Returns: False if there is none.
    /// - Throws: ``CommandFailure`` if it fails, `CancellationError`.
    func complete(_ path: String, of request: DownloadRequest) async throws -> Bool {
        guard let completion = options.completion(of: path) else { return false }
        let program = ChildProgram(
            words: completion, option: Self.completionOption,
            environment: [
                "RESUMECTL_PATH": path, "RESUMECTL_URL": request.url.redacted, "RESUMECTL_KEY": request.storeKey,
            ])
        do {
            _ = try await program.output(toErrors: true)
            return true
        } catch var failure as CommandFailure {
            failure.message = sentence("hook-fails", Printable.escaped(path), failure.message)
            failure.reason = Self.completionFailed
            throw failure
        }
    }

    private static func fields(_ words: [String], for url: DownloadURL, status: Int? = nil) async throws -> HTTPFields {
        // The protocol of git's credential helpers.
        let path = url.requestTarget.prefix { $0 != "?" }.dropFirst()
        let input = "protocol=\(url.scheme)\nhost=\(url.authority)\npath=\(path)\n\n"
        let program = ChildProgram(
            words: words, option: "--auth-command",
            environment: ["RESUMECTL_URL": url.redacted, "RESUMECTL_STATUS": status.map { "\($0)" } ?? ""],
            input: input)
        return try fields(in: try await program.output())
    }

    /// Parses header fields, or `username=` and `password=`.
    ///
    /// - Throws: ``CommandFailure`` for another line; the line is not shown, since it may contain a secret.
    private static func fields(in output: String) throws -> HTTPFields {
        var login: [Substring: Substring] = [:]
        let others = "'username=', 'password='"
        var fields = try HeaderLine.fields(in: output, of: "--auth-command", or: others) { line in
            guard let sign = line.firstIndex(of: "="),
                line[..<sign].allSatisfy({ $0.isLetter || "_[]".contains($0) })
            else { return false }
            login[line[..<sign]] = line[line.index(after: sign)...]
            return true
        }
        if let user = login["username"], let password = login["password"] {
            fields[.authorization] = DownloadURL.basicAuthorization("\(user):\(password)")
        }
        return fields
    }
}

extension Job {
    /// Why an earlier run has left the program of --on-complete to run, after it delivered the file; nil if it has not.
    var leftCompletion: Reason? { failure?.code == Programs.completionFailed ? failure : nil }
}
