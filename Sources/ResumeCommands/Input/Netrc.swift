import ResumeDownload
import ResumeFiles
import ResumeHTTP

/// The names and passwords in a file such as `~/.netrc`, as curl reads it.
struct Netrc {
    private struct Entry {
        /// In lower case; nil for every host.
        var host: String?
        /// `login`, `password` and `account`, with the words that follow them.
        var values: [String: String] = [:]
    }

    private var entries: [Entry] = []

    /// Reads a file once; a regular one may be readable only for its owner, unless it is a secret that root has mounted.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be read, if others may read it, or if it is malformed.
    init(path: String) throws {
        if let status = try? Folder.status(at: path, 0), status.kind == .regular, status.permissions & 0o077 != 0,
            status.owner != 0 || geteuid() == 0
        {
            throw CommandFailure(.notFound, sentence("netrc-readable", path, ShellWord.quoted(path)))
        }
        guard let text = String(validating: try InputFile.bytes(of: path), as: UTF8.self), read(text) else {
            throw CommandFailure(.usage, "\(path) is not in the format of a netrc file")
        }
    }

    /// Adds the password for the server of a request that has none, and those for the servers of redirects.
    func authorize(_ request: inout DownloadRequest) {
        if request.headerFields[.authorization] == nil {
            request.headerFields[.authorization] = authorization(for: request.url)
        }
        authorizeRedirects(of: &request)
    }

    /// Adds the passwords for the servers of redirects, which must be named in the file.
    func authorizeRedirects(of request: inout DownloadRequest) {
        request.authorization = { authorization(for: $0, as: $1, isNamed: true) }
    }

    /// Returns the value of `Authorization` for a URL; nil if there is none, or if the URL itself has a password.
    func authorization(for url: DownloadURL) -> String? { authorization(for: url, as: url.credentials) }

    private func authorization(for url: DownloadURL, as user: String?, isNamed: Bool = false) -> String? {
        guard user?.hasSuffix(":") ?? true else { return nil }
        let host = url.host.filter { $0 != "[" && $0 != "]" }
        let entry = entries.first { entry in
            (isNamed ? entry.host : entry.host ?? host) == host
                && user.map { "\(entry.values["login"] ?? ""):" == $0 } ?? true
        }
        return entry.map {
            DownloadURL.basicAuthorization("\($0.values["login"] ?? ""):\($0.values["password"] ?? "")")
        }
    }

    /// Reads a text, without comments, macros and words that it does not know.
    ///
    /// - Returns: False if a quotation mark is missing.
    private mutating func read(_ text: String) -> Bool {
        var isInMacro = false
        var keyword: String?
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            // A macro ends with an empty line.
            isInMacro = isInMacro && !line.isEmpty
            if isInMacro { continue }
            for match in line.matches(of: /"((?:\\.|[^"\\])*)"|(\S+)/) {
                let quoted = match.1.map { $0.replacing(/\\(.)/) { Self.escapes[$0.1] ?? $0.1 } }
                let word = String(quoted ?? match.0)
                if quoted == nil, word.hasPrefix("\"") { return false }
                if let known = keyword {
                    keyword = nil
                    if known == "machine" {
                        entries.append(Entry(host: word.lowercased()))
                    } else if !entries.isEmpty {
                        entries[entries.count - 1].values[known] = word
                    }
                } else if quoted == nil, word.hasPrefix("#") {
                    break
                } else {
                    switch word.lowercased() {
                    case "default": entries.append(Entry())
                    case "macdef": isInMacro = true
                    case let known: keyword = Self.keywords.contains(known) ? known : nil
                    }
                    if isInMacro { break }
                }
            }
        }
        return true
    }

    private static let keywords: Set = ["machine", "login", "password", "account"]
    private static let escapes: [Substring: Substring] = ["n": "\n", "r": "\r", "t": "\t"]
}
