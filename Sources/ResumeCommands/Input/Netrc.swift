#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP

/// The names and passwords in a file such as `~/.netrc`, as curl reads it.
struct Netrc {
    /// The words after each keyword, by host in lower case; nil is the default.
    private let logins: [String?: [String: String]]

    /// Reads a file that only its owner may read.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be read, if others may read it, or if it is malformed.
    init(path: String) throws {
        let shown = Printable.escaped(path)
        guard unsafe access(path, R_OK) == 0 else { throw InputFile.failure(shown, errno) }
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 {
            throw CommandFailure(
                .notFound,
                "\(shown) contains passwords, and other users may read it. Run 'chmod 600 \(ShellWord.quoted(path))'.")
        }
        guard let data = FileManager.default.contents(atPath: path), let text = String(bytes: data, encoding: .utf8)
        else { throw CommandFailure(.notFound, "cannot read \(shown)") }
        guard let logins = Self.logins(in: text) else {
            throw CommandFailure(.usage, "\(shown) is not in the format of a netrc file")
        }
        self.logins = logins
    }

    /// Adds the password for the server of a request that has none.
    func authorize(_ request: inout DownloadRequest) {
        if request.headerFields[.authorization] == nil {
            request.headerFields[.authorization] = authorization(for: request.url)
        }
    }

    /// Returns the value of `Authorization` for a URL; nil if there is none, or if the URL itself has a user.
    func authorization(for url: DownloadURL) -> String? {
        guard url.credentials == nil, let login = logins[url.host] ?? logins[nil] else { return nil }
        return DownloadURL.basicAuthorization("\(login["login"] ?? ""):\(login["password"] ?? "")")
    }

    private static func logins(in text: String) -> [String?: [String: String]]? {
        var entries: [(String?, [String: String])] = []
        var words = words(in: text)[...]
        while let word = words.popFirst() {
            switch word {
            case "default": entries.append((nil, [:]))
            case "machine":
                guard let name = words.popFirst() else { return nil }
                entries.append((name.lowercased(), [:]))
            case "login", "password", "account":
                guard let value = words.popFirst(), !entries.isEmpty else { return nil }
                entries[entries.count - 1].1[word] = value
            default: return nil
            }
        }
        // The first one of a host counts.
        return Dictionary(entries) { first, _ in first }
    }

    /// Splits a text at white space outside of quotation marks, and leaves out comments and macros.
    private static func words(in text: String) -> [String] {
        var words: [String] = []
        var isInMacro = false
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            if isInMacro {
                isInMacro = !line.isEmpty
                continue
            }
            guard line.first(where: { !$0.isWhitespace }) != "#" else { continue }
            for match in line.matches(of: /"((?:\\.|[^"\\])*)"|(\S+)/) {
                if match.0 == "macdef" {
                    isInMacro = true
                    break
                }
                let quoted = match.1.map { String($0).replacing(/\\(.)/) { String($0.1) } }
                words.append(quoted ?? String(match.0))
            }
        }
        return words
    }
}
