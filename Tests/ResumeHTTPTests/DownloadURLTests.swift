@testable import ResumeHTTP
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DownloadURLTests {
    @Test(
        "A plain URL is read as any other: with a fragment, it takes the longer way", arguments: 0..<64 as Range<UInt64>
    )
    func plain(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let pieces = [
            "a", "Z", "0", "1", "255", "256", "127", "0x7f", "08", ".", "..", "/", "/.", "-", "_", "~", "@", "[", "]",
            "\\",
            "^", "\r", "\n", "\u{0}", "\u{10}", " ", ":", ":80", ":443", ":8080", ":+1", ":-1", ":099", ":65536", "?",
            "%",
            "%41", ";", "=", "é", "xn--", "localhost", "example.org",
        ]
        for _ in 0..<2000 {
            let parts = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }
            let text = (Bool.random(using: &random) ? "http://" : "https://") + parts.joined()
            for text in [text, "\(text)/\(parts[0])"] {
                let (short, long) = (try? DownloadURL(text), try? DownloadURL("\(text)#f"))
                #expect(short == long, "\(text.debugDescription)")
            }
        }
    }

    @Test(
        "A18: URLs in their normal form, without fragment and default port",
        arguments: [
            ("http://example.org", "http://example.org/"), ("HTTP://EXAMPLE.org:80/A", "http://example.org/A"),
            ("https://example.org:443/a#frag?x", "https://example.org/a"),
            ("https://example.org:8443", "https://example.org:8443/"),
            ("http://example.org:443/", "http://example.org:443/"), ("http://example.org:/x", "http://example.org/x"),
            ("http://h?q", "http://h/?q"), ("http://h/?", "http://h/?"), ("http://h/a?b#c", "http://h/a?b"),
            ("http://[2001:DB8::1]:8080/a", "http://[2001:db8::1]:8080/a"), ("http://h:65535/", "http://h:65535/"),
            ("http://h/a%2Fb;c,d?x=a+b&y", "http://h/a%2Fb;c,d?x=a+b&y"), ("http://h/\u{E9}", "http://h/%C3%A9"),
            ("http://u:p@h/x", "http://h/x"), ("http://h/?a?b", "http://h/?a?b"),
            ("http:/h/x", "http://h/x"), ("HTTPS:/u@h:8/x", "https://h:8/x"), ("http://h./x", "http://h./x"),
            ("http://x.localhost/", "http://x.localhost/"), ("http://*:81/", "http://*:81/"),
        ])
    func normal(text: String, expected: String) throws {
        let url = try DownloadURL(text)
        #expect(url.absoluteString == expected)
        #expect(url.origin + url.requestTarget == expected)
        #expect(try DownloadURL(url.absoluteString) == DownloadURL(expected))
    }

    @Test(
        "An IPv4 address has one form, the one that a connection goes to",
        arguments: [
            ("0127.0.0.1", "87.0.0.1"), ("127.1", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("2130706433", "127.0.0.1"),
            ("0X7F000001", "127.0.0.1"), ("10.1.258", "10.1.1.2"), ("0300.0250.1.1", "192.168.1.1"), ("0", "0.0.0.0"),
            ("4294967295", "255.255.255.255"), ("1.2.3.4", "1.2.3.4"),
        ])
    func address(host: String, expected: String) throws {
        let url = try DownloadURL("http://\(host):81/x")
        #expect(url.host == expected && url.authority == "\(expected):81")
        #expect(url.absoluteString == "http://\(expected):81/x")
    }

    @Test(
        "What is not an address stays a name",
        arguments: [
            "4294967296", "256.1.1.1", "1.2.3.4.5", "08.1.1.1", "0x", "0xg", "1.2.3.4.", "1.example.org", "1..2",
            "1.2.65536", "99999999999999999999", "1.-2", "1.+2",
        ])
    func noAddress(host: String) throws {
        #expect(try DownloadURL("http://\(host)/").host == host)
    }

    @Test(
        "Dot segments are removed, so that the server gets the path that is compared",
        arguments: [
            ("/a/b/c/./../../g", "/a/g"), ("/.", "/"), ("/..", "/"), ("/a/..", "/"), ("/a/.", "/a/"),
            ("/../../a", "/a"), ("/a/../b?x=/../y", "/b?x=/../y"), ("/a//../b", "/a/b"), ("/a/...", "/a/..."),
            ("/.a/..b/c.", "/.a/..b/c."), ("/a/%2e%2e/b", "/a/%2e%2e/b"), ("/a//b/", "/a//b/"), ("/..?q", "/?q"),
        ])
    func dots(path: String, expected: String) throws {
        #expect(try DownloadURL("http://h\(path)").requestTarget == expected)
        #expect(try DownloadURL("http://h/x/y").resolving("http://i\(path)").requestTarget == expected)
    }

    @Test("A host has at most 253 bytes, and a label 63, also in a redirect")
    func longHost() throws {
        let label = String(repeating: "a", count: 63)
        let host = "\(label).\(label).\(label).\(label.dropLast(2))"
        #expect(try DownloadURL("http://\(host)/").host.utf8.count == 253)
        let base = try DownloadURL("http://h/")
        for long in ["\(host)a", "a\(label).b", String(repeating: "a.", count: 200) + "a"] {
            #expect(throws: InvalidInput.badHost) { try DownloadURL("http://\(long)/") }
            #expect(throws: InvalidInput.badHost) { try base.resolving("//\(long)/x") }
        }
    }

    @Test("An international name is refused with the form to use, but may be a user or a path")
    func international() throws {
        for text in ["http://b\u{FC}cher.example/", "http://u@\u{4E2D}.example:80"] {
            #expect(throws: InvalidInput.internationalHost) { try DownloadURL(text) }
        }
        #expect(InvalidInput.internationalHost.description.contains("xn--"))
        #expect(try DownloadURL("http://xn--bcher-kva.example/\u{FC}").host == "xn--bcher-kva.example")
    }

    @Test("Parts")
    func parts() throws {
        let url = try DownloadURL("https://u@Example.org:8443/a/b?c=d")
        #expect(url.scheme == "https")
        #expect(url.host == "example.org")
        #expect(url.port == 8443)
        #expect(url.authority == "example.org:8443")
        #expect(url.requestTarget == "/a/b?c=d")
        #expect(try DownloadURL("http://h").port == 80)
        #expect(try DownloadURL("https://h").port == 443)
    }

    @Test(
        "A text that is not an absolute URL is refused",
        arguments: [
            "", " ", ":", "h", "h/x", "//h/x", "/x", "http", "http:", "http:h", "1a:b", "http://h/ x",
            "http://h/\t",
            "http://h/\r\nX: 1", "http://h/\0", "http://h/\u{7F}", "http://h\n", " http://h", "http://[::1",
            "http://h:-1/", "-:x",
        ])
    func noURL(text: String) {
        #expect(throws: InvalidInput.notAURL) { try DownloadURL(text) }
    }

    @Test(
        "H11: other schemes",
        arguments: [
            "file:///etc/passwd", "ftp://h/", "data:,x", "javascript:x", "ws://h/", "httpx://h/", "blob:http://h/",
        ])
    func scheme(text: String) throws {
        let scheme = String(text.prefix { $0 != ":" })
        #expect(throws: InvalidInput.unsupportedScheme(scheme)) { try DownloadURL(text) }
    }

    @Test(
        "H13: invalid hosts",
        arguments: [
            "http://", "http:///x", "http://:80/", "http://u@/", "http://h%2fx/", "http://h%00/", "http://a<b>/",
            "http://h:0/",
            "http://h:65536/", "http://b\u{FC}cher.example/", "http://ex\u{2044}ample.org/", "http://[fe80::1%25eth0]/",
            "http://a\"b/", "http://a\\b/", "http://a@b@h/", "http://u:p@a@h:80/x", "http:/", "http:/:80/",
        ])
    func host(text: String) {
        // Which problem it is depends on the linked Foundation: with ICU, URLComponents refuses some of them.
        #expect(throws: InvalidInput.self) { try DownloadURL(text) }
    }

    @Test(
        "Characters that a URL must not contain are encoded, and encoded ones stay as they are",
        arguments: [
            ("http://h/ü%20b", "/%C3%BC%20b"), ("http://h/[1]%2F", "/%5B1%5D%2F"), ("http://h/a%b", "/a%25b"),
            ("http://h/%", "/%25"), ("http://h/%4", "/%254"), ("http://h/?q=%20|é", "/?q=%20%7C%C3%A9"),
            ("http://[::1]/a", "/a"), ("http://h?ü", "/?%C3%BC"), ("http://u:p@h/\u{7F}", nil),
            ("http://h/%E4%B8%AD", "/%E4%B8%AD"), ("http://h/a:b@c;d=e,f!g$h&i'j(k)l*m+n~o_p", nil),
        ] as [(String, String?)])
    func encoding(text: String, target: String?) throws {
        if text.contains("\u{7F}") {
            #expect(throws: InvalidInput.notAURL) { try DownloadURL(text) }
        } else {
            let url = try DownloadURL(text)
            #expect(url.requestTarget == target ?? String(text.dropFirst("http://h".count)))
            #expect(try DownloadURL(url.absoluteString) == url, "encoding it again changes nothing")
        }
    }

    @Test("A reference with such characters is encoded, too")
    func encodedReference() throws {
        let base = try DownloadURL("http://h/a/b")
        for (reference, target) in [
            ("ü%20c", "/a/%C3%BC%20c"), ("/é%2Fx|", "/%C3%A9%2Fx%7C"), ("//i/ü%20", "/%C3%BC%20"),
            ("?q=ü%20", "/a/b?q=%C3%BC%20"), ("http://i/[%20", "/%5B%20"),
        ] {
            #expect(try base.resolving(reference).requestTarget == target, "\(reference)")
        }
    }

    @Test("A port beyond every number is invalid", arguments: [20, 40, 1000])
    func longPort(digits: Int) {
        let text = "http://h:" + String(repeating: "9", count: digits) + "/"
        #expect(throws: InvalidInput.badHost) { try DownloadURL(text) }
    }

    @Test("The request line contains only visible ASCII without white space")
    func requestTarget() throws {
        for text in [
            "http://h/\u{E9}\u{202E}\u{85}|\\\"<>{}^`", "http://h/a?\u{1F600}=\"'", "http://h/%zz%", "http://h/a?b%",
        ] {
            let url = try DownloadURL(text)
            #expect(url.requestTarget.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            #expect(url.requestTarget.hasPrefix("/"))
        }
    }

    @Test(
        "H09: user info is for basic authentication only",
        arguments: [
            ("http://u:p@h/", "u:p"), ("http://u:@h/", "u:"), ("http://:p@h/", ":p"),
            ("http://u:a%40b%3A%C3%A9@h/", "u:a@b:\u{E9}"),
            ("http://h/", nil), ("http://@h/", nil), ("http://h/@u:p", nil), ("http://u:%zz@h/", "u:%zz"),
            ("http://u:%FF@h/", "u:%FF"),
        ] as [(String, String?)])
    func credentials(text: String, expected: String?) throws {
        let url = try DownloadURL(text)
        #expect(url.credentials == expected)
        #expect(!url.absoluteString.contains("u:") || expected == nil)
        #expect(!"\(url.origin)\(url.authority)".contains("@"))
    }

    @Test("H09: a user without a password still has the colon of RFC 7617")
    func userOnly() throws {
        let url = try DownloadURL("http://user@h/")
        #expect(url.credentials == "user:")
    }

    @Test(
        "L01, L02: the file's name in a URL, or none",
        arguments: [
            ("http://h/a/b.iso", "b.iso"), ("http://h/b.iso?x=/c", "b.iso"), ("http://h/a%20b", "a b"),
            ("http://h/%C3%A9", "\u{E9}"),
            ("http://h/", nil), ("http://h/a/", nil), ("http://h/a/..", nil), ("http://h/.", nil),
            ("http://h/%2e%2e", nil),
            // What cannot be in a name stays encoded.
            ("http://h/..%2Fx", "..%2Fx"), ("http://h/%00", "%00"), ("http://h/a%0D%0Ab", "a%0D%0Ab"),
            ("http://h/%1B%5D0", "%1B]0"), ("http://h/%7F", "%7F"), ("http://h/a%2fb%2Fc", "a%2Fb%2Fc"),
            ("http://h/%FF", "%FF"), ("http://h/%E9t%E9.pdf", "%E9t%E9.pdf"), ("http://h/%C3%A9%E9", "%C3%A9%E9"),
            ("http://h/%E2%80%8Fx.zip", "%E2%80%8Fx.zip"), ("http://h/%E2%82.txt", "%E2%82.txt"), ("http://h/a%", "a%"),
            ("http://h/.bashrc", ".bashrc"), ("http://h/%252e%252e", "%2e%2e"),
        ] as [(String, String?)])
    func name(text: String, expected: String?) throws {
        #expect(try DownloadURL(text).lastPathComponent == expected)
    }

    @Test("L02: a name is no longer than a file system permits")
    func longName() throws {
        func name(_ text: String) throws -> String? { try DownloadURL("http://h/\(text)").lastPathComponent }
        for count in [201, 255] {
            #expect(try name(String(repeating: "a", count: count))?.count == count)
        }
        #expect(try name(String(repeating: "a", count: 256)) == String(repeating: "a", count: 255))
        #expect(try name("\(String(repeating: "a", count: 300)).zip") == "\(String(repeating: "a", count: 251)).zip")
        // Cut between two characters: 125 of 2 bytes.
        let cut = String(repeating: "\u{E9}", count: 125)
        #expect(try name("\(String(repeating: "%C3%A9", count: 126)).pdf") == "\(cut).pdf")
        // What follows a dot is no extension if it is long, or if nothing precedes the dot.
        #expect(try name("a.\(String(repeating: "b", count: 300))")?.utf8.count == 255)
        #expect(try name(".\(String(repeating: "b", count: 300))")?.utf8.count == 255)
        // A combining mark that joins the slash into one character.
        #expect(try name("..%2F%CC%81x") == "..%2F\u{301}x")
    }

    @Test(
        "H13: references are resolved as in RFC 3986, 5.4",
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
            ("g#s", "http://a/b/c/g"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
            ("..", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./g/.", "http://a/b/c/g/"), ("g/../h", "http://a/b/c/h"), ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("https://x/y", "https://x/y"), ("\u{E9}", "http://a/b/c/%C3%A9"),
            ("\\\\evil/x", "http://a/b/c/%5C%5Cevil/x"),
        ])
    func resolved(location: String, expected: String) throws {
        let base = try DownloadURL("http://a/b/c/d;p?q")
        #expect(try base.resolving(location).absoluteString == expected)
    }

    @Test("L03: a problem's description contains no control character")
    func descriptions() throws {
        for problem in [InvalidInput.notAURL, .badHost, .unsupportedScheme("a\u{1B}")] {
            #expect(!"\(problem)".unicodeScalars.contains("\u{1B}"))
        }
    }
}
