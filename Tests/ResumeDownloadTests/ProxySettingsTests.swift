import ResumeAsyncHTTP
import ResumeHTTP
import Testing

/// The variables that name proxies, and addresses that are not public.
@Suite(.timeLimit(.minutes(5)))
struct ProxySettingsTests {
    private static func proxy(_ environment: [String: String], _ url: String) throws -> String {
        let settings = try ProxySettings(environment: environment)
        guard let proxy = settings.proxy(for: try DownloadURL(url)) else { return "none" }
        let user = proxy.credentials.map { "\($0)@" } ?? ""
        return "\(proxy.kind) \(user)\(proxy.host):\(proxy.port)"
    }

    @Test(
        "Which proxy a URL goes through",
        arguments: [
            ([:], "http://a/", "none"), (["http_proxy": ""], "http://a/", "none"),
            (["http_proxy": "http://p:3128"], "http://a/", "http p:3128"),
            (["http_proxy": "http://p:3128"], "https://a/", "none"),
            // A web server sets this one from a request header.
            (["HTTP_PROXY": "http://p:3128"], "http://a/", "none"),
            (["HTTPS_PROXY": "p:3128"], "https://a/", "http p:3128"),
            (["https_proxy": "http://u:p%40ss@p:3128/"], "https://a/", "http u:p@ss@p:3128"),
            (["all_proxy": "socks5h://p:9050"], "http://a/", "socks5 p:9050"),
            (["all_proxy": "socks5://p"], "https://a/", "socks5 p:1080"),
            (["http_proxy": "http://p"], "http://a/", "http p:1080"),
            (["http_proxy": "http://p:80"], "http://a/", "http p:80"),
            (["http_proxy": "http://[::1]:3128"], "http://a/", "http ::1:3128"),
        ] as [([String: String], String, String)])
    func choice(environment: [String: String], url: String, expected: String) throws {
        #expect(try Self.proxy(environment, url) == expected)
    }

    @Test(
        "What is reached without a proxy",
        arguments: [
            ("*", "http://a/", true), ("a", "http://a/", true), ("a", "http://b.a/", true), (".a", "http://b.a/", true),
            ("a", "http://ba/", false), ("b.a", "http://a/", false), ("x, a", "http://a/", true),
            ("A.example", "http://a.EXAMPLE/", true), ("127.0.0.1", "http://127.0.0.1:8080/", true),
            ("[::1]", "http://[::1]:8080/", true), ("a:80", "http://a/", true), ("a:81", "http://a/", false),
            ("", "http://a/", false),
        ])
    func exceptions(list: String, url: String, isExcepted: Bool) throws {
        for name in ["no_proxy", "NO_PROXY"] {
            let text = try Self.proxy(["http_proxy": "http://p:1", name: list], url)
            #expect((text == "none") == isExcepted)
        }
    }

    @Test(
        "An invalid proxy is an error that names the variable",
        arguments: ["https://p:1", "ftp://p", "http://", ":", "p q"])
    func unusable(value: String) {
        let problem = #expect(throws: InvalidInput.self) {
            _ = try ProxySettings(environment: ["http_proxy": value])
        }
        #expect(problem == ProxySettings.problem(of: "http_proxy"))
    }

    @Test(
        "L08: addresses of the public Internet, and others",
        arguments: [
            ("8.8.8.8", true), ("93.184.216.34", true), ("2606:4700:4700::1111", true), ("100.63.255.255", true),
            ("172.15.0.1", true), ("172.32.0.1", true), ("127.0.0.1", false), ("127.255.0.1", false),
            ("10.1.2.3", false), ("169.254.169.254", false), ("172.16.0.1", false), ("172.31.255.255", false),
            ("192.168.1.1", false), ("100.64.0.1", false), ("0.0.0.0", false), ("224.0.0.1", false),
            ("255.255.255.255", false), ("198.19.0.1", false), ("::1", false), ("::", false), ("fe80::1", false),
            ("fd00::1", false), ("ff02::1", false), ("2001:db8::1", false), ("::ffff:10.0.0.1", false),
            ("::ffff:8.8.8.8", true), ("64:ff9b::7f00:1", false), ("2002:7f00:1::", false), ("", false),
            ("localhost", false), ("1", false),
        ])
    func publicAddresses(address: String, isPublic: Bool) {
        #expect(PublicAddress.isPublic(address) == isPublic)
    }
}
