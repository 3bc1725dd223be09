internal import ResumeHTTP

/// Text that a user typed and that could not be parsed, made fit to be shown: it may hold a password all the same.
enum Redaction {
    /// A URL, or what should have been one, without user info and query.
    static func url(_ text: String) -> String {
        if let url = try? DownloadURL(text) { return Printable.escaped(url.redacted) }
        return Printable.escaped(cut(text))
    }

    /// A message of the argument parser, which repeats what it was given; its lines stay lines.
    static func usage(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Printable.escaped(words(String($0))) }.joined(separator: "\n")
    }

    private static func words(_ text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).map { cut(String($0)) }.joined(separator: " ")
    }

    /// Cuts from what looks like a URL what may be secret: up to the last `@`, since a password may hold any
    /// character, and the query.
    private static func cut(_ text: String) -> String {
        guard let scheme = text.firstRange(of: "://") else { return text }
        var rest = text[scheme.upperBound...]
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        let kept = rest.prefix { $0 != "?" }
        return text[..<scheme.upperBound] + kept + (kept.endIndex < rest.endIndex ? "?…" : "")
    }
}
