@testable import ResumeCurl
import ResumeDownload
import ResumeHTTP
import Testing

/// The variables that name proxies, and addresses that are not public.
@Suite(.timeLimit(.minutes(5)))
struct ProxySettingsTests {
    private static func proxy(_ environment: [String: String], _ url: String) throws -> String {
        let settings = ProxySettings(environment: environment)
        guard let proxy = try settings.proxy(for: try DownloadURL(url)) else { return "none" }
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
            (["all_proxy": "socks5h://p:9050"], "http://a/", "socks5h p:9050"),
            (["all_proxy": "socks5://p"], "https://a/", "socks5 p:1080"),
            (["http_proxy": "http://p"], "http://a/", "http p:1080"),
            (["https_proxy": "https://p"], "https://a/", "https p:443"),
            (["all_proxy": "SOCKS5://u:w@p:1"], "https://a/", "socks5 u:w@p:1"),
            (["all_proxy": "socks4://p", "https_proxy": "socks4a://q"], "https://a/", "socks4a q:1080"),
            // What does not apply is not judged.
            (["https_proxy": "nonsense://", "http_proxy": "p:1"], "http://a/", "http p:1"),
            (["https_proxy": "nonsense://", "no_proxy": "a"], "https://a/", "none"),
            (["all_proxy": "nonsense://", "http_proxy": "p:1"], "http://a/", "http p:1"),
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
            ("[::1]", "http://[::1]:8080/", true), ("a:80", "http://a/", false), ("", "http://a/", false),
            ("x *", "http://a/", false), ("*.a", "http://b.a/", false), ("a.", "http://b.a/", true),
            ("a", "http://a./", true), (".a.", "http://B.a./", true), (".", "http://a/", false),
            ("10.0.0.0/8", "http://10.9.8.7/", true), ("10.0.0.0/8", "http://11.0.0.1/", false),
            ("192.168.4.128/25", "http://192.168.4.127/", false), ("192.168.4.128/25", "http://192.168.4.200/", true),
            ("10.0.0.0/33", "http://10.0.0.0/", false), ("10.0.0.0/x", "http://10.0.0.0/", false),
            ("10.0.0.1/32", "http://10.0.0.1/", true), ("0.0.1", "http://127.0.0.1/", false),
            ("10.0.0.0/8", "http://10.example/", false), ("2001:db8::/32", "http://[2001:db8:1::2]/", true),
            ("2001:db8::/33", "http://[2001:db8:8000::]/", false), ("::1/128", "http://[::1]/", true),
            ("127.0.0.1", "http://127.1/", true), ("10.0.0.0/8", "http://[::1]/", false),
        ])
    func exceptions(list: String, url: String, isExcepted: Bool) throws {
        for name in ["no_proxy", "NO_PROXY"] {
            let text = try Self.proxy(["http_proxy": "http://p:1", name: list], url)
            #expect((text == "none") == isExcepted)
        }
    }

    @Test(
        "An invalid proxy is an error that names the variable",
        arguments: ["ftp://p", "http://", ":", "p q"])
    func unusable(value: String) throws {
        let settings = ProxySettings(environment: ["http_proxy": value])
        let url = try DownloadURL("http://a/")
        let problem = #expect(throws: TransportError.self) { _ = try settings.proxy(for: url) }
        #expect(problem?.code == .invalidRequest)
        #expect(problem?.message == ProxySettings.problem(of: "http_proxy").description)
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
