import ArgumentParser
import HTTPTypes
import ResumeDownload
import ResumeFiles
import ResumeHTTP

struct CookieOptions: ParsableArguments {
    /// Cookies as `name=value`; after the validation, also the lines of cookie files, which contain tabs.
    @Option("b cookie") var cookies: [String] = []
    @Option("cookie-jar", completion: .file()) var cookieJar: String?

    mutating func validate() throws {
        cookies = try cookies.flatMap { text in
            // As curl tells them apart; lines were read before.
            text.contains("=") || text.contains("\t") || text.isEmpty ? [text] : try cookies(in: text)
        }
        if let cookieJar, Folder.isThere(cookieJar) { cookies += try cookies(in: cookieJar) }
        try require(HTTPField.isValidValue(field ?? ""), "--cookie must not contain control characters")
    }

    /// Returns the cookies in a file: lines in Netscape's format, or of `Set-Cookie` fields, as `name=value`.
    private func cookies(in path: String) throws -> [String] {
        let text = String(decoding: try bytes(of: path, for: "--cookie"), as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).compactMap { line in
            // A cookie without a domain must not be sent to any host.
            if let pair = line.firstMatch(of: /^(?i:set-cookie):\s*([^;\t]*=[^;\t]*)/) {
                return String(pair.1)
            }
            let isComment = line.hasPrefix("#") && !line.hasPrefix("#HttpOnly_")
            return line.count { $0 == "\t" } >= 5 && !isComment ? String(line) : nil
        }
    }

    var lines: [String] { cookies.filter { $0.contains("\t") } }

    /// The header field of the cookies for the URL's origin; nil if there are none.
    var field: String? {
        let pairs = cookies.filter { !$0.isEmpty && !$0.contains("\t") }
        return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
    }

    /// Returns the cookies that all downloads share; nil if each has its own.
    func jar() -> CookieJar? { cookieJar == nil && lines.isEmpty ? nil : CookieJar(lines) }

    /// Writes cookies to the file of --cookie-jar, which only its owner may read.
    ///
    /// - Returns: The number of the error; 0 if there is none.
    func save(_ jar: CookieJar) -> Int32 {
        guard let cookieJar else { return 0 }
        // A device is written to, and a file replaced when the new one is complete.
        let isFile = (try? Folder.status(at: cookieJar, 0))?.kind ?? .regular == .regular
        let path = (isFile ? "\(cookieJar).\(getpid())" : cookieJar).systemPath
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | (isFile ? O_CREAT | O_EXCL : 0), 0o600)
        guard descriptor >= 0 else { return errno }
        let lines = ["# Netscape HTTP Cookie File"] + jar.lines
        var number = CommandContext.put(lines.map { "\($0)\n" }.joined().utf8, to: descriptor)
        close(descriptor)
        guard isFile else { return number }
        if number == 0, unsafe rename(path, cookieJar.systemPath) != 0 { number = errno }
        if number != 0 { _ = unsafe unlink(path) }
        return number
    }
}
