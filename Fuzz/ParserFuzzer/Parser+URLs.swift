import HTTPTypes
import ResumeHTTP

extension Parser {
    /// URLs: accepted ones can be sent, and their redacted form contains no secret.
    static let url = Parser(
        "URL",
        [
            "https://h<urlPart><urlPart><urlPart>", "http://<urlPart><urlPart>/<urlPart>?<urlPart>&<urlPart>",
            "<urlPart><urlPart><urlPart><urlPart>", "https://u:p@a.example:443/b?token=SECRET&<urlPart>=<noise>#c",
        ]
    ) { bytes in
        guard let url = try? DownloadURL(String(decoding: bytes, as: UTF8.self)) else { return .rejected }
        return outcome(of: url)
    }

    /// `Location`: the target of a redirect can be fetched, and credentials stay safe.
    static let location = Parser(
        "Location",
        ["<urlPart><urlPart><urlPart>", "/<urlPart>/<urlPart>?<urlPart>", "//a.example<urlPart>", "http://h/<urlPart>"]
    ) { bytes in
        guard let base = try? DownloadURL("https://base.example/a/b?c") else { return .broken("the base") }
        var redirection = Redirection(from: base)
        var head = HTTPResponse(status: .found)
        head.headerFields.append(HTTPField(name: .location, lenientValue: bytes))
        guard (try? redirection.follow(head)) == true else {
            return redirection.url == base ? .rejected : .broken("not followed, yet moved")
        }
        guard case .broken(let problem) = outcome(of: redirection.url) else {
            let secret: HTTPFields = [.authorization: "x", .cookie: "x", .accept: "x"]
            let isHome = redirection.url.origin == base.origin
            return .expecting([
                "no way from https to http": redirection.url.scheme == "https",
                "credentials stay at home": redirection.permitted(secret).count == (isHome ? 3 : 1),
                "knows where it is": redirection.isAtFirstOrigin == isHome,
            ])
        }
        return .broken(problem)
    }

    private static func outcome(of url: DownloadURL) -> Outcome {
        guard let again = try? DownloadURL(url.absoluteString) else { return .broken("cannot be read again") }
        guard let shown = try? DownloadURL(url.redacted) else { return .broken("cannot be read again when redacted") }
        let isVisible = { (text: String) in text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
        let name = url.lastPathComponent
        return .expecting([
            "a scheme that is spoken": url.scheme == "http" || url.scheme == "https",
            "a port": (1...65_535).contains(url.port),
            "a host": !url.host.isEmpty && isVisible(url.host)
                && !url.host.utf8.contains { "/@?#\\".utf8.contains($0) },
            "a target for a request line": url.requestTarget.hasPrefix("/") && isVisible(url.requestTarget)
                && !url.requestTarget.contains("#"),
            "the same again": again.absoluteString == url.absoluteString && again.origin == url.origin,
            "redacted once is enough": shown.redacted == url.redacted && shown.origin == url.origin,
            "no secret is shown": !showsSecret(shown),
            "a name for a file": name.map { !$0.contains("/") && $0 != ".." && Printable.escaped($0) == $0 } ?? true,
            "credentials have a colon": url.credentials?.contains(":") ?? true,
        ])
    }

    /// Whether a query has a parameter with the name of a secret, compared without decoding percent-encoding.
    private static func showsSecret(_ url: DownloadURL) -> Bool {
        let query = url.requestTarget.drop { $0 != "?" }.dropFirst()
        return query.split(separator: "&").contains { parameter in
            let name = parameter.prefix { $0 != "=" }.lowercased()
            return ["token", "%74oken", "sig", "x-amz-signature"].contains(name)
        }
    }
}
