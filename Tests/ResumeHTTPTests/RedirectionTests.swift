import HTTPTypes
@testable import ResumeHTTP
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RedirectionTests {
    private static let mine = headerFields([
        "Authorization: Bearer s", "Cookie: a=b", "Cookie: c=d", "Proxy-Authorization: Basic x", "X-Api-Key: k",
        "Range: bytes=5-", "If-Range: \"a\"", "User-Agent: me",
    ])
    private static let apiKey = Set([HTTPField.Name("x-api-key")].compactMap { $0 })

    private func redirection(_ url: String) throws -> Redirection {
        Redirection(from: try DownloadURL(url))
    }

    private func names(_ redirection: Redirection, secret: Set<HTTPField.Name> = apiKey) -> [String] {
        redirection.permitted(Self.mine, secret: secret).map(\.name.canonicalName)
    }

    @Test(
        "E11: a Referer with a secret stays at its origin",
        arguments: [
            ("https://h/page", false), ("https://h/page?id=1#a", false), ("/page", false), ("", false),
            ("https://h/page?token=abc", true), ("https://me:pass@h/", true), ("/page?access_token=abc", true),
            ("https://h/f?X-Amz-Signature=abc", true),
        ])
    func referer(value: String, isSecret: Bool) throws {
        let fields = headerFields(["Referer: \(value)"])
        #expect(Redirection.withoutSecrets(fields, secret: []).isEmpty == isSecret)
        #expect(Redirection.withoutSecrets(fields, secret: [.referer]).isEmpty)
    }

    @Test("Redirects are counted in a row: those of a later request at the same place begin anew")
    func begunAgain() throws {
        var redirection = try redirection("https://a.example/")
        let away = response(302, ["Location: https://b.example/"])
        for _ in 0..<Redirection.limit { #expect(try redirection.follow(away)) }
        var again = redirection
        again.beginAgain()
        #expect(throws: Redirection.Problem.tooMany) { try redirection.follow(away) }
        #expect(try again.follow(away) && !again.isAtFirstOrigin)
    }

    @Test("A field Host stays at the first origin")
    func host() throws {
        let fields = headerFields(["Host: a.example", "Accept: */*"])
        #expect(Redirection.withoutSecrets(fields, secret: []).map(\.name.canonicalName) == ["accept"])
    }

    @Test("H01: the five redirects are followed", arguments: [301, 302, 303, 307, 308])
    func followed(status: Int) throws {
        var redirection = try redirection("https://a.example/x/y?z")
        #expect(try redirection.follow(response(status, ["Location: ../q?r#s"])))
        #expect(redirection.url.absoluteString == "https://a.example/q?r")
        #expect(redirection.isAtFirstOrigin)
        #expect(redirection.permitted(Self.mine, secret: Self.apiKey) == Self.mine)
    }

    @Test(
        "H13: bytes outside ASCII and blanks are percent-encoded as they came",
        arguments: [
            ("/Fran\u{E7}ais/\u{E8}.zip", "/Fran%E7ais/%E8.zip"), ("/Fran%E7ais/%E8.zip", "/Fran%E7ais/%E8.zip"),
            ("/two words.zip", "/two%20words.zip"), ("../a%20b%25/\u{C3}\u{A9}", "/a%20b%25/%C3%A9"),
        ])
    func raw(location: String, target: String) throws {
        var redirection = try redirection("https://one.test/x%E9/y")
        let isRedirect = try redirection.follow(response(302, ["Location: \(location)"]))
        #expect(isRedirect)
        #expect(redirection.url.absoluteString == "https://one.test" + target)
    }

    @Test("Other statuses are not redirects", arguments: [200, 206, 300, 304, 305, 306, 309, 404, 416, 503])
    func notFollowed(status: Int) throws {
        var redirection = try redirection("https://a.example/")
        #expect(try !redirection.follow(response(status, ["Location: https://b.example/"])))
        #expect(redirection.url.host == "a.example")
    }

    @Test(
        "H06, H07, T36: credentials are limited to the origin: scheme, host and port",
        arguments: [
            ("http://a.example/", "http://b.example/"), ("http://a.example/", "http://a.example:8080/"),
            ("http://a.example/", "https://a.example/"), ("http://a.example/", "https://a.example:80/"),
            ("https://a.example/", "https://a.example:8443/"), ("https://a.example/", "https://sub.a.example/"),
            ("https://a.example/", "https://a.example./"), ("https://a.example/", "//b.example/"),
            ("https://a.example/", "https://a.example@b.example/"),
        ])
    func stripped(from: String, location: String) throws {
        var redirection = try redirection(from)
        #expect(try redirection.follow(response(302, ["Location: \(location)"])))
        #expect(!redirection.isAtFirstOrigin)
        #expect(names(redirection) == ["range", "if-range", "user-agent"])
        #expect(names(redirection, secret: []) == ["x-api-key", "range", "if-range", "user-agent"])
    }

    @Test(
        "H06: an origin in other letter case is the same origin",
        arguments: [
            ("https://a.example/", "HTTPS://A.EXAMPLE:443/x"), ("http://a.example:80/", "http://a.example/"),
            ("https://a.example:8443/", "/x"), ("https://a.example/", "https://u:p@a.example/"),
            ("http://[::1]/", "//[::1]:80/x"),
        ])
    func sameOrigin(from: String, location: String) throws {
        var redirection = try redirection(from)
        #expect(try redirection.follow(response(307, ["Location: \(location)"])))
        #expect(redirection.isAtFirstOrigin)
        #expect(names(redirection).count == Self.mine.count)
    }

    @Test("H08, T36: credentials are not sent again on the way back")
    func thereAndBack() throws {
        var redirection = try redirection("https://a.example/")
        #expect(try redirection.follow(response(302, ["Location: https://b.example/"])))
        #expect(try redirection.follow(response(302, ["Location: https://a.example/"])))
        #expect(redirection.url.origin == "https://a.example")
        #expect(!redirection.isAtFirstOrigin)
        #expect(names(redirection) == ["range", "if-range", "user-agent"])
        #expect(try redirection.follow(response(302, ["Location: /again"])))
        #expect(!redirection.isAtFirstOrigin)
        #expect(names(redirection) == ["range", "if-range", "user-agent"])
    }

    @Test("H08: a second hop at another origin does not restore them either")
    func onAtAnotherOrigin() throws {
        var redirection = try redirection("https://a.example/")
        for location in ["https://b.example/", "/x", "https://b.example/y"] {
            #expect(try redirection.follow(response(302, ["Location: \(location)"])))
            #expect(names(redirection) == ["range", "if-range", "user-agent"])
        }
    }

    @Test("H05: https does not redirect to http, on any hop")
    func downgrade() throws {
        for location in ["http://a.example/", "http://a.example:443/", "HTTP://b.example/"] {
            var redirection = try redirection("https://a.example/")
            #expect(throws: Redirection.Problem.downgrade) {
                try redirection.follow(response(301, ["Location: \(location)"]))
            }
            #expect(redirection.url.absoluteString == "https://a.example/")
        }
        var upgraded = try redirection("http://a.example/")
        #expect(try upgraded.follow(response(301, ["Location: https://a.example/"])))
        #expect(throws: Redirection.Problem.downgrade) {
            try upgraded.follow(response(301, ["Location: http://a.example/"]))
        }
    }

    @Test("Where a digest permits it, https redirects to http, and without secrets")
    func permittedDowngrade() throws {
        var redirection = try redirection("https://a.example/")
        redirection.permitsDowngrade = true
        #expect(try redirection.follow(response(302, ["Location: http://a.example/x"])))
        #expect(redirection.url.absoluteString == "http://a.example/x" && !redirection.isAtFirstOrigin)
    }

    @Test("H10: twenty redirects, and not one more")
    func loop() throws {
        var redirection = try redirection("https://a.example/")
        for _ in 0..<Redirection.limit {
            #expect(try redirection.follow(response(302, ["Location: /"])))
        }
        #expect(throws: Redirection.Problem.tooMany) { try redirection.follow(response(302, ["Location: /"])) }
        #expect(throws: Redirection.Problem.tooMany) { try redirection.follow(response(302)) }
        // The answer itself may still arrive.
        #expect(try !redirection.follow(response(200)))
    }

    @Test(
        "H11, H12, H13: URLs that cannot be fetched are not followed",
        arguments: [
            "", " ", "file:///etc/passwd", "file:/etc/passwd", "ftp://a/", "data:text/plain,x", "javascript:alert(1)",
            "unix:/run/docker.sock", "mailto:a@b", "about:blank", "http://", "http:///x", "https:b", "//", "///x",
            "https://b.example\r\nX: 1", "/x\ty", "/x\u{1}y", "/x\u{7F}y", "//b%2fevil/", "//b%00/",
            "https://b.example:0/",
            "https://b.example:65536/", "https://[::1/", "https://b<c>/", "view-source:https://b/",
        ])
    func badLocation(text: String) throws {
        for status in [301, 302, 303, 307, 308] {
            var redirection = try redirection("https://a.example/x")
            #expect(throws: Redirection.Problem.badLocation) {
                try redirection.follow(response(status, ["Location: \(text)"]))
            }
            #expect(redirection.url.absoluteString == "https://a.example/x")
        }
    }

    @Test("H11: what a field cannot have is a blank in it, and is sent as one", arguments: ["\n", "\0", "\r\n", " "])
    func blank(text: String) throws {
        var redirection = try redirection("https://a.example/x")
        let isRedirect = try redirection.follow(response(302, ["Location: /x\(text)y"]))
        let blanks = String(repeating: "%20", count: text.unicodeScalars.count)
        #expect(isRedirect && redirection.url.absoluteString == "https://a.example/x\(blanks)y")
    }

    @Test("H12: no Location, two, or an empty one")
    func noLocation() throws {
        for lines in [
            [], ["Location: /a", "Location: /b"], ["Location: /\u{E9}", "Location: /\u{E8}"], ["Location:"],
        ] {
            var redirection = try redirection("https://a.example/x")
            #expect(throws: Redirection.Problem.badLocation) { try redirection.follow(response(302, lines)) }
        }
        var twice = try redirection("https://a.example/x")
        #expect(try twice.follow(response(302, ["Location: /a", "Location: /a"])))
    }

    @Test("H09: user info in a Location is not sent, shown or stored")
    func userInfo() throws {
        var redirection = try redirection("https://a.example/")
        #expect(try redirection.follow(response(302, ["Location: https://u:secret@b.example/f?x=1"])))
        #expect(redirection.url.absoluteString == "https://b.example/f?x=1")
        #expect(redirection.url.redacted == "https://b.example/f?x=1")
        #expect(redirection.url.authority == "b.example")
    }

    @Test("C11: a port of forty digits is not the default port")
    func longPort() throws {
        var redirection = try redirection("https://a.example/x")
        let location = "Location: https://a.example:" + String(repeating: "9", count: 40) + "/"
        #expect(throws: Redirection.Problem.badLocation) { try redirection.follow(response(302, [location])) }
    }

    @Test("Each problem is described")
    func descriptions() {
        let texts = [Redirection.Problem.tooMany, .downgrade, .badLocation].map { "\($0)" }
        let tooMany = "there are more redirects in a row than --max-redirs permits (default: 20)"
        let downgrade =
            "it leads from https to http, which a file needs a SHA-256 or SHA-512 for (--sha256, "
            + "--checksums)"
        #expect(texts == [tooMany, downgrade, "it has no valid Location"])
    }
}
