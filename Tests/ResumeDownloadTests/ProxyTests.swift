import OriginServer
import ResumeCurl
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Proxies that refuse, do not answer, or do not exist.
///
/// `ResumectlTests` uses real ones.
@Suite(.timeLimit(.minutes(5)))
struct ProxyTests {
    /// Requests a file through the proxy with a URL, by `https` by default.
    private static func failure(
        _ proxy: String, url: String = "https://origin.invalid/file", timeout: Duration = Engine.patience
    ) async throws -> DownloadError? {
        try await DownloadStore.with { store, folder in
            let proxies = ProxySettings(environment: ["all_proxy": proxy])
            let error = await #expect(throws: DownloadError.self) {
                try await Engine.get(
                    url, to: folder["out"], store: store,
                    transport: .init(connectTimeout: timeout, threads: 1, proxies: proxies)
                ) { $0.retryPolicy.retries = 0 }
            }
            await store.close()
            return error
        }
    }

    @Test("A host that does not exist is an error at once, and one that nobody can be asked about is not")
    func unknownHost() async throws {
        for isUnknown in [true, false] {
            var configuration = CurlTransport.Configuration(connectTimeout: Engine.patience, threads: 1)
            configuration.isUnknownHost = { name in isUnknown && name == "origin.invalid" }
            try await DownloadStore.with { [configuration] store, folder in
                let error = await #expect(throws: DownloadError.self) {
                    try await Engine.get(
                        "http://origin.invalid/file", to: folder["out"], store: store, transport: configuration
                    ) { $0.retryPolicy.retries = 0 }
                }
                #expect(error?.code == (isUnknown ? .refused : .unreachable))
                let text = error?.reason.text ?? ""
                #expect(text.contains("there is no host origin.invalid") == isUnknown, "\(text)")
                await store.close()
            }
        }
    }

    @Test("A host that has sent bytes and exists no longer is a failure for now")
    func unknownHostOfHeldBytes() async throws {
        let resource = Resource(Content(length: 300_000, seed: 1), etag: "\"a\"")
        try await OriginServer.withServer(handler: { .file(resource, for: $0, cutAfter: 100_000) }) { server in
            var configuration = CurlTransport.Configuration(connectTimeout: Engine.patience, threads: 1)
            configuration.isUnknownHost = { _ in true }
            configuration.addresses.fixed = ["origin.invalid:\(server.port)": ["127.0.0.1"]]
            try await DownloadStore.with { [configuration] store, folder in
                let url = "http://origin.invalid:\(server.port)/file"
                for isReached in [true, false] {
                    var transport = configuration
                    if !isReached { transport.addresses.fixed = [:] }
                    let error = await #expect(throws: DownloadError.self) {
                        try await Engine.get(url, to: folder["out"], store: store, transport: transport) {
                            $0.retryPolicy.retries = 0
                        }
                    }
                    #expect(error?.code == .unreachable, "\(error?.reason.text ?? "")")
                }
                await store.close()
            }
        }
    }

    /// The same with a proxy that answers as a test specifies.
    private static func failure(
        _ answer: Response, timeout: Duration = Engine.patience, _ check: (DownloadError?, OriginServer) throws -> Void
    ) async throws {
        try await OriginServer.withServer(handler: { _ in answer }) { server in
            let proxy = "http://user:secret@127.0.0.1:\(server.port)"
            try check(try await failure(proxy, timeout: timeout), server)
        }
    }

    @Test(
        "A proxy that refuses a tunnel is reported with advice, and not asked again",
        arguments: [
            ("407 Proxy Authentication Required", "the proxy requires credentials (407); add them to its URL"),
            ("403 Forbidden", "the proxy refused the request"), ("502 Bad Gateway", "the proxy refused the request"),
        ])
    func refused(status: String, text: String) async throws {
        try await Self.failure(.status(status)) { error, server in
            #expect(error?.code == .refused)
            #expect(error?.reason.code.rawValue == "proxy-refused")
            #expect(error?.reason.text.contains("could not connect to origin.invalid") == true)
            #expect(error?.reason.text.contains(text) == true, "\(error?.reason.text ?? "")")
            #expect(error?.reason.text.contains("secret") == false)
            #expect(server.requests.map(\.method) == ["CONNECT"])
            #expect(server.requests.map(\.target) == ["origin.invalid:443"])
            #expect(server.requests.first?.field("Proxy-Authorization") == "Basic dXNlcjpzZWNyZXQ=")
        }
    }

    private static let established = Step.raw(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))

    @Test("A proxy, or a host behind it, that does not answer times out", arguments: [false, true])
    func silent(isEstablished: Bool) async throws {
        try await Self.failure(
            Response((isEstablished ? [Self.established] : []) + [.hold]), timeout: .milliseconds(200)
        ) {
            error, _ in
            #expect(error?.code == .unreachable)
            #expect(error?.reason.code.rawValue == "not-connected")
            #expect(error?.reason.text.contains("timed out while connecting to origin.invalid") == true)
        }
    }

    @Test(
        "A proxy whose name cannot be resolved is named, not the server", arguments: ["http", "socks5h"])
    func unresolved(scheme: String) async throws {
        let error = try await Self.failure("\(scheme)://proxy.invalid:1")
        #expect(error?.reason.code.rawValue == "name-not-resolved")
        #expect(error?.reason.text.contains("the host of the proxy proxy.invalid") == true, "\(error as Any)")
    }

    @Test("A missing proxy is named, with the brackets of its address", arguments: ["http", "https"])
    func absent(scheme: String) async throws {
        let error = try await Self.failure("http://[::1]:1", url: "\(scheme)://origin.invalid/file")
        #expect(error?.reason.code.rawValue == "not-connected")
        #expect(error?.reason.text.contains("origin.invalid via the proxy [::1]:1") == true, "\(error as Any)")
    }
}
