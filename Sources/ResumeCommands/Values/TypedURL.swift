internal import ResumeHTTP

/// A URL as people type it: without a scheme, or with spaces.
enum TypedURL {
    /// Parses a URL, encodes its spaces, and adds the scheme if only a host and a path are given.
    ///
    /// - Throws: The problem of the text as it was typed, which does not repeat it.
    static func parse(_ text: String) throws(InvalidInput) -> DownloadURL {
        let encoded = text.contains(" ") ? text.replacing(" ", with: "%20") : text
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
        guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) else {
            // A name without a dot may be a user, and one without a port a file.
            guard let host = host(of: text[...]), hasPort(text), let url = withScheme("\(text)/") else { return nil }
            return host.contains(".") || isLoopback(url.host) ? url : nil
        }
        let authority = text[..<slash]
        guard let host = host(of: authority) else { return nil }
        let path = text[slash...].prefix { $0 != "?" && $0 != "#" }
        // In user/password@host, the first word is not a host; but package servers have an at sign in their paths.
        guard !path.hasPrefix("//"), !path.contains("@") || host.contains(".") else { return nil }
        return withScheme(text)
    }

    /// Adds http for this machine and https for any other, by the host as it is requested.
    private static func withScheme(_ text: String) -> DownloadURL? {
        guard let url = try? DownloadURL("https://\(text)"), isLoopback(url.host) else {
            return try? DownloadURL("https://\(text)")
        }
        return try? DownloadURL("http://\(text)")
    }

    /// Returns the host in lower case; nil if it is not a plain name or address, or if what follows is not a port.
    private static func host(of authority: Substring) -> String? {
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]"), isPort(authority[end...].dropFirst()) else { return nil }
            let address = authority[...end].dropFirst().dropLast()
            guard address.contains(":"), address.allSatisfy({ $0.isHexDigit && $0.isASCII || ":.".contains($0) }) else {
                return nil
            }
            return address.lowercased()
        }
        let name = authority.prefix { $0 != ":" }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        let areValid = labels.allSatisfy { label in
            !label.isEmpty && label.first != "-"
                && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "-" || $0 == "_" }
        }
        // "http//host" is a scheme without its colon.
        guard areValid, isPort(authority[name.endIndex...]),
            !["http", "https", "ftp", "file"].contains(name.lowercased())
        else { return nil }
        return name.lowercased()
    }

    /// Whether a text is empty, or a colon and a port.
    private static func isPort(_ text: Substring) -> Bool {
        guard !text.isEmpty else { return true }
        let digits = text.dropFirst()
        return text.first == ":" && digits.allSatisfy { $0.isASCII && $0.isNumber }
            && (Int(digits).map { (1...65_535).contains($0) } ?? false)
    }

    private static func hasPort(_ text: String) -> Bool {
        text.split(separator: "]").last?.contains(":") == true && text.last?.isNumber == true
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return numbers.count == 4 && numbers.first == 127 && !numbers.contains(nil)
    }
}
