import ResumeHTTP

/// A URL as people type it: without a scheme, or with spaces.
enum TypedURL {
    /// Parses a URL, encodes its spaces, and adds the scheme if only a host and a path are given.
    ///
    /// - Throws: The problem of the text as it was typed, which does not repeat it.
    static func parse(_ text: String) throws(InvalidInput) -> DownloadURL {
        let encoded = text.utf8.contains(.space) ? text.replacing(" ", with: "%20") : text
        do {
            return try DownloadURL(encoded)
        } catch {
            if let url = withoutScheme(encoded) { return url }
            // A space does not change what is wrong with the rest.
            throw error
        }
    }

    /// Parses `host/path`, `host:port/path` or `host.name:port`; nil for anything else, which may be a typing error or a
    /// secret.
    private static func withoutScheme(_ text: String) -> DownloadURL? {
        let authority = text.prefix { !"/?#".contains($0) }
        guard authority.wholeMatch(of: /[A-Za-z0-9\-_.:\[\]]*/) != nil,
            authority.last != ":",
            // "http//host" is a scheme without its colon.
            !"http https ftp file".pieces(at: " ").contains(authority.prefix { $0 != ":" }.lowercased()),
            let url = try? DownloadURL("https://\(text)"), isHost(url.host)
        else { return nil }
        let hasDot = authority.contains(".")
        let isLoopback = isLoopback(url.host)
        if authority.endIndex == text.endIndex {
            // A name without a dot may be a user, and one without a port a file.
            guard authority.contains(":"), authority.last != "]", hasDot || isLoopback else { return nil }
        } else {
            let path = text[authority.endIndex...].prefix { $0 != "?" && $0 != "#" }
            // In user/password@host, the first word is not a host; but package servers have an at sign in their paths.
            guard path.hasPrefix("/"), !path.hasPrefix("//"), hasDot || !path.contains("@") else {
                return nil
            }
        }
        return isLoopback ? try? DownloadURL("http://\(text)") : url
    }

    /// Whether a host is a plain name or an address.
    private static func isHost(_ host: String) -> Bool {
        if host.hasPrefix("[") { return host.contains(":") }
        return host.parts(at: ".").allSatisfy { !$0.isEmpty && $0.first != "-" }
    }

    /// Whether a host is this machine, for which http is used.
    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
        let numbers = host.parts(at: ".").map { UInt8($0) }
        return numbers.count == 4 && numbers.first == 127 && !numbers.contains(nil)
    }
}
