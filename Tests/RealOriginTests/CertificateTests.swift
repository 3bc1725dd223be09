import Foundation
import HTTPTypes
import ResumeCurl
@testable import ResumeDownload
import TestSupport
import Testing

/// A server's certificate must match the host; no request is sent to any other server (RFC 9525).
@Suite(.timeLimit(.minutes(20)))
struct CertificateTests {
    /// A certificate, the host of a URL, and the expected result.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        let certificate: TestCertificate
        let host: String
        /// Part of the message; nil if the request is sent.
        let problem: String?

        init(_ title: String, _ certificate: TestCertificate, host: String = "localhost", _ problem: String? = nil) {
            (testDescription, self.certificate, self.host, self.problem) = (title, certificate, host, problem)
        }
    }

    private static let named: [Case] = [
        Case("the name of the host", TestCertificate("DNS:localhost")),
        Case("the address", TestCertificate("IP:127.0.0.1"), host: "127.0.0.1"),
        Case("one of several names", TestCertificate("DNS:a.example,IP:192.0.2.1,DNS:localhost")),
        Case(
            "the address of the socket for a name", TestCertificate("IP:127.0.0.1"),
            "is for 127.0.0.1, not for localhost"),
        Case(
            "the name for an address", TestCertificate("DNS:localhost"), host: "127.0.0.1",
            "is for localhost, not for 127.0.0.1"),
        Case("another name", TestCertificate("DNS:other.example"), "is for other.example, not for localhost"),
        Case(
            "a common name alone", TestCertificate(nil, commonName: "localhost"),
            "is for no name (a common name alone is not accepted), not for localhost"),
        Case(
            "a common name beside another name", TestCertificate("DNS:a.example", commonName: "localhost"),
            "is for a.example, not for localhost"),
        Case("a wildcard alone", TestCertificate("DNS:*"), "is for *, not for localhost"),
        Case(
            "a wildcard for an address", TestCertificate("DNS:*.0.0.1"), host: "127.0.0.1",
            "is for *.0.0.1, not for 127.0.0.1"),
        Case(
            "an address as a name", TestCertificate("DNS:127.0.0.1"), host: "127.0.0.1",
            "is for 127.0.0.1, not for 127.0.0.1"),
        Case(
            "many other names", TestCertificate((1...8).map { "DNS:\($0).example" }.joined(separator: ",")),
            "is for 1.example, 2.example, 3.example, 4.example, 5.example and 3 more, not for localhost"),
    ]

    private static let untrusted: [Case] = [
        Case("expired", TestCertificate("DNS:localhost", to: "20210101000000Z"), "it has expired"),
        Case(
            "not yet valid", TestCertificate("DNS:localhost", from: "20450101000000Z"),
            "it is not valid yet"),
        Case("self-signed", TestCertificate("DNS:localhost", issuer: .itself), "it is self-signed"),
        Case(
            "an unknown issuer", TestCertificate("DNS:localhost", issuer: .unknown),
            "is not trusted: its issuer is unknown, or the server does not send the certificate of its issuer"),
        Case(
            "for clients only", TestCertificate("DNS:localhost", usage: "clientAuth"),
            "its purpose is not that of a server"),
        Case(
            "a name that its issuer may not sign for",
            TestCertificate("DNS:localhost", issuer: .constrained("permitted;DNS:allowed.example")),
            "is not trusted: its issuer may not sign for this name"),
        Case(
            "an address that its issuer may not sign for",
            TestCertificate("IP:127.0.0.1", issuer: .constrained("permitted;IP:192.0.2.0/255.255.255.0")),
            host: "127.0.0.1", "is not trusted: its issuer may not sign for this name"),
        Case(
            "an address that its issuer may sign for",
            TestCertificate("IP:127.0.0.1", issuer: .constrained("permitted;IP:127.0.0.0/255.0.0.0")),
            host: "127.0.0.1"),
        Case(
            "an expired certificate of its issuer beside the valid one",
            TestCertificate("DNS:localhost", issuer: .renewed)),
    ]

    @Test(
        "A request is sent only to a server whose certificate is valid for it", arguments: named + untrusted,
        [false, true])
    func direct(example: Case, http2: Bool) async throws {
        try await Self.with(example.certificate) { nginx, trusted in
            let configuration = CurlTransport.Configuration(trustedCertificates: trusted, usesHTTP2: http2)
            let message = try await Self.send(to: "\(example.host):\(nginx.securePort)", configuration)
            try await Self.check(example, message, nginx)
        }
    }

    @Test(
        "The file with trusted certificates may hold an authority that is not the last, or the server's certificate",
        arguments: ["renewed.pem", "server.pem"], ["", "# a comment\n", "\u{FEFF}"])
    func anchor(name: String, prefix: String) async throws {
        try await Self.with(TestCertificate("DNS:localhost", issuer: .renewed)) { nginx, trusted in
            let file = trusted.replacing("root.pem", with: name)
            try Files.write(Array(prefix.utf8) + Files.bytes(file), to: trusted)
            let configuration = CurlTransport.Configuration(trustedCertificates: trusted)
            #expect(try await Self.send(to: "localhost:\(nginx.securePort)", configuration) == nil)
        }
    }

    @Test("A file without trusted certificates is named", arguments: [[UInt8]?.none, Array("no certificate".utf8)])
    func noAnchor(content: [UInt8]?) async throws {
        try await Self.with(TestCertificate("DNS:localhost")) { nginx, trusted in
            let file = trusted.replacing("root.pem", with: "nothing.pem")
            if let content { try Files.write(content, to: file) }
            let configuration = CurlTransport.Configuration(trustedCertificates: file)
            let message = try await Self.send(to: "localhost:\(nginx.securePort)", configuration)
            #expect(message == "\(file) holds no trusted certificate")
        }
    }

    private static let tunnelled: [Case] = [
        Case("the name of the host", TestCertificate("DNS:a.example"), host: "a.example"),
        Case("a wildcard", TestCertificate("DNS:*.a.example"), host: "b.a.example"),
        Case("an address that is not the proxy's", TestCertificate("IP:192.0.2.7"), host: "192.0.2.7"),
        Case(
            "the address of the proxy for a name", TestCertificate("IP:127.0.0.1"),
            "is for 127.0.0.1, not for localhost"),
        Case(
            "the address of the proxy for another address", TestCertificate("IP:127.0.0.1"), host: "192.0.2.7",
            "is for 127.0.0.1, not for 192.0.2.7"),
        Case(
            "a wildcard within a label", TestCertificate("DNS:f*.a.example"), host: "foo.a.example",
            "is for f*.a.example, not for foo.a.example"),
        Case(
            "a wildcard for one label", TestCertificate("DNS:*.example"), host: "a.example",
            "is for *.example, not for a.example"),
        Case(
            "expired", TestCertificate("DNS:a.example", to: "20210101000000Z"), host: "a.example",
            "it has expired"),
    ]

    @Test("The same holds for tunnels through a proxy", arguments: tunnelled, [false, true])
    func tunnel(example: Case, http2: Bool) async throws {
        try await Self.with(example.certificate) { nginx, trusted in
            try await Self.withProxy { proxy in
                let proxies = ProxySettings(environment: ["https_proxy": proxy])
                let configuration = CurlTransport.Configuration(
                    trustedCertificates: trusted, proxies: proxies, usesHTTP2: http2)
                let message = try await Self.send(to: "\(example.host):\(nginx.securePort)", configuration)
                try await Self.check(example, message, nginx)
            }
        }
    }

    @Test("A request whose tunnel turns out to be dead is sent through a new one")
    func deadTunnel() async throws {
        try await Self.with(TestCertificate("DNS:localhost")) { nginx, trusted in
            try await TemporaryFolder.with { folder in
                try await Self.withProxy(closingAt: folder["close"]) { proxy in
                    let proxies = ProxySettings(environment: ["https_proxy": proxy])
                    let transport = CurlTransport(.init(trustedCertificates: trusted, threads: 1, proxies: proxies))
                    #expect(try await Self.send(to: "localhost:\(nginx.securePort)", by: transport) == nil)
                    try Files.write([], to: folder["close"])
                    #expect(try await Self.send(to: "localhost:\(nginx.securePort)", by: transport) == nil)
                    await transport.shutdown()
                    #expect(!Files.exists(folder["close"]))
                }
            }
            #expect(try await nginx.log().count == 2)
        }
    }

    @Test("A connection to one host is not used for another one at the same address", arguments: [false, true])
    func reused(http2: Bool) async throws {
        try await Self.with(TestCertificate("IP:127.0.0.1")) { nginx, trusted in
            let transport = CurlTransport(.init(trustedCertificates: trusted, usesHTTP2: http2))
            var messages: [String?] = []
            for host in ["127.0.0.1", "localhost", "127.0.0.1"] {
                messages.append(try await Self.send(to: "\(host):\(nginx.securePort)", by: transport))
            }
            await transport.shutdown()
            #expect(messages[0] == nil && messages[2] == nil)
            #expect(messages[1]?.contains("is for 127.0.0.1, not for localhost") == true)
            #expect(try await nginx.log().count == 2)
        }
    }

    @Test("Each of many connections has its own verdict", arguments: [false, true])
    func closing(http2: Bool) async throws {
        try await Self.with(TestCertificate("IP:127.0.0.1")) { nginx, trusted in
            let transport = CurlTransport(.init(trustedCertificates: trusted, usesHTTP2: http2))
            for _ in 1...10 {
                let fields: HTTPFields = http2 ? [:] : [.connection: "close"]
                #expect(try await Self.send(to: "127.0.0.1:\(nginx.securePort)", by: transport, fields) == nil)
                let message = try await Self.send(to: "localhost:\(nginx.securePort)", by: transport, fields)
                #expect(message?.contains("is for 127.0.0.1, not for localhost") == true)
            }
            await transport.shutdown()
            #expect(try await nginx.log().count == 10)
        }
    }

    @Test("A redirect does not lead to a server with another name", arguments: [false, true])
    func redirected(http2: Bool) async throws {
        try await Self.with(TestCertificate("IP:127.0.0.1")) { nginx, trusted in
            try await TemporaryFolder.with { folder in
                let program = Resumectl(folder: folder)
                let more = http2 ? ["--http2"] : []
                let outcome = try await Shell.outcome(
                    Resumectl.path,
                    ["get", nginx.secureURL("named"), "-o", folder["out"], "--cacert", trusted] + more,
                    environment: program.environment)
                #expect(outcome.status == 1)
                #expect(outcome.errors.contains("is for 127.0.0.1, not for localhost"), "\(outcome.errors)")
                #expect(!Files.exists(folder["out"]))
                #expect(try await nginx.log().map(\.status) == [302])
            }
        }
    }

    @Test(
        "--cacert alone is trusted, although libcurl knows a folder of the system's",
        .enabled(if: Shell.isRoot && Shell.has("unshare"), "needs root and unshare"))
    func systemFolder() async throws {
        try await Self.with(TestCertificate("DNS:localhost")) { nginx, trusted in
            try await TemporaryFolder.with { folder in
                // An authority with another name.
                _ = try await TestCertificate("DNS:localhost", issuer: .unknown).make(in: folder)
                try await Shell.run("mkdir", folder["system"])
                let hash = try await Shell.run("openssl", "x509", "-hash", "-noout", "-in", trusted)
                for name in ["\(hash.trimmingCharacters(in: .whitespacesAndNewlines)).0", "ca-certificates.crt"] {
                    try await Shell.run("cp", trusted, folder["system/\(name)"])
                }
                let mounted = "mount --bind '\(folder["system"])' /etc/ssl/certs && exec \"$@\""
                let get = [Resumectl.path, "get", "https://localhost:\(nginx.securePort)/file", "-o", folder["out"]]
                for (options, isTrusted) in [(["--cacert", folder["other.pem"]], false), ([], true)] {
                    let outcome = try await Shell.outcome(
                        "unshare",
                        ["-m", "sh", "-c", mounted, "sh"] + get + options + ["--restart", "--retries", "0"],
                        environment: Resumectl(folder: folder).environment)
                    #expect(outcome.status == (isTrusted ? 0 : 1), "\(outcome.errors)")
                }
            }
        }
    }

    @Test(
        "Another authority is advised where that may help",
        arguments: [
            (TestCertificate("DNS:localhost", issuer: .unknown), true),
            (TestCertificate("DNS:localhost", to: "20210101000000Z"), false), (TestCertificate("DNS:a.example"), false),
        ])
    func advice(certificate: TestCertificate, isAdvised: Bool) async throws {
        try await Self.with(certificate) { nginx, trusted in
            try await TemporaryFolder.with { folder in
                let outcome = try await Resumectl(folder: folder).run(
                    "get", "https://localhost:\(nginx.securePort)/file", "-o", folder["out"], "--cacert", trusted)
                #expect(outcome.status == 1 && outcome.errors.contains("the certificate"), "\(outcome.errors)")
                #expect(outcome.errors.contains("--cacert FILE trusts") == isAdvised, "\(outcome.errors)")
            }
        }
    }

    @Test("A Host field that differs from the URL's host is refused over TLS")
    func otherHost() async throws {
        try await Self.with(TestCertificate("IP:127.0.0.1,DNS:a.example")) { nginx, trusted in
            let transport = CurlTransport(.init(trustedCertificates: trusted))
            var request = HTTPRequest(
                method: .get, scheme: "https", authority: "127.0.0.1:\(nginx.securePort)", path: "/file")
            request.headerFields[try #require(HTTPField.Name("Host"))] = "a.example"
            let error = await #expect(throws: TransportError.self) { _ = try await transport.send(request) }
            await transport.shutdown()
            #expect(error?.code == .invalidRequest)
            #expect(try await nginx.log().isEmpty)
        }
    }

    /// A server's certificate, and the options of `openssl s_server` that it is offered with.
    private static let outdated: [(TestCertificate, [String], problem: String)] = [
        (TestCertificate("DNS:localhost"), ["-tls1"], "has no version of TLS that this client accepts"),
        (TestCertificate("DNS:localhost"), ["-tls1_1"], "has no version of TLS that this client accepts"),
        (TestCertificate("DNS:localhost", key: "rsa:1024"), [], "a key in its chain is too short"),
        (TestCertificate("DNS:localhost", digest: "sha1"), [], "its chain is signed with an outdated hash"),
    ]

    @Test("Old versions of TLS and weak certificates are for old devices only", arguments: outdated.indices)
    func old(index: Int) async throws {
        let (certificate, options, problem) = Self.outdated[index]
        try await TemporaryFolder.with { folder in
            let files = try await certificate.make(in: folder)
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
            try Files.write(Array(answer.utf8), to: folder["file"])
            let port = try Loopback.freePort()
            let server = try Shell.start(
                "sh",
                [
                    "-c", "cd \"$1\"; shift; exec openssl s_server \"$@\"", "sh", folder.path, "-accept", "\(port)",
                    "-cert",
                    files.server, "-quiet", "-HTTP", "-cipher", "ALL:@SECLEVEL=0",
                ] + options)
            try #require(try await Loopback.waits(for: server, at: port))
            var configuration = CurlTransport.Configuration(trustedCertificates: files.trusted)
            let message = try await Self.send(to: "localhost:\(port)", configuration)
            #expect(message?.contains(problem) == true, "\(message ?? "sent")")
            configuration.permitsOldTLS = true
            #expect(try await Self.send(to: "localhost:\(port)", configuration) == nil)
            server.send(SIGTERM)
            await server.wait()
        }
    }

    // MARK: Servers and requests

    private static func with(
        _ certificate: TestCertificate, _ body: (Nginx, _ trusted: String) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let files = try await certificate.make(in: folder)
            try await Shell.run("mkdir", folder["www"])
            try Files.write(Array("hello".utf8), to: folder["www/file"])
            let nginx = try await Nginx(serving: folder["www"], certificate: files.server)
            do {
                try await body(nginx, files.trusted)
            } catch {
                await nginx.stop()
                throw error
            }
            await nginx.stop()
        }
    }

    /// Sends a request.
    ///
    /// - Returns: Why it was not sent; nil if there was a response.
    private static func send(
        to authority: String, _ configuration: CurlTransport.Configuration
    ) async throws -> String? {
        let transport = CurlTransport(configuration)
        let message = try await send(to: authority, by: transport)
        await transport.shutdown()
        return message
    }

    private static func send(
        to authority: String, by transport: CurlTransport, _ fields: HTTPFields = [:]
    ) async throws -> String? {
        let request = HTTPRequest(
            method: .get, scheme: "https", authority: authority, path: "/file", headerFields: fields)
        do {
            let response = try await transport.send(request)
            #expect(response.head.status == .ok)
            _ = try await response.body.read { _ in true }
            return nil
        } catch let error as TransportError {
            #expect(error.code == .tls)
            #expect(!error.isTransient)
            return error.message
        }
    }

    private static func check(_ example: Case, _ message: String?, _ nginx: Nginx) async throws {
        if let problem = example.problem {
            #expect(message?.contains(problem) == true, "\(message ?? "sent")")
        } else {
            #expect(message == nil)
        }
        #expect(try await nginx.log().count == (example.problem == nil ? 1 : 0))
    }

    /// Runs a body with a proxy that leads every tunnel to a port of this machine, for any host.
    ///
    /// If there is a file at `signal`, the proxy removes it and closes the tunnel that something is sent through next.
    private static func withProxy(
        closingAt signal: String = "/none", _ body: (String) async throws -> Void
    ) async throws {
        let port = try Loopback.freePort()
        let proxy = try Shell.start("python3", ["-c", connect, "\(port)", signal])
        try #require(try await Loopback.waits(for: proxy, at: port))
        do {
            try await body("http://127.0.0.1:\(port)")
        } catch {
            proxy.send(SIGTERM)
            await proxy.wait()
            throw error
        }
        proxy.send(SIGTERM)
        await proxy.wait()
    }

    private static let connect = """
        import os, socket, sys, threading
        def pump(source, sink, signal="/none"):
            try:
                while data := source.recv(65536):
                    if os.path.exists(signal):
                        os.unlink(signal)
                        source.shutdown(socket.SHUT_RDWR)
                        break
                    sink.sendall(data)
            except OSError:
                pass
            finally:
                sink.close()
        listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
        while True:
            client, _ = listener.accept()
            head = b""
            while not head.endswith(b"\\r\\n\\r\\n"):
                data = client.recv(1)
                if not data:
                    break
                head += data
            if not head:
                client.close()
                continue
            port = int(head.split()[1].rsplit(b":", 1)[1])
            origin = socket.create_connection(("127.0.0.1", port))
            # The length means nothing here (RFC 9110, 9.3.6).
            client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: -\\r\\n\\r\\n")
            threading.Thread(target=pump, args=(client, origin, sys.argv[2]), daemon=True).start()
            threading.Thread(target=pump, args=(origin, client), daemon=True).start()
        """

    @Test("A folder of certificates proves something else than another one")
    func folders() throws {
        let folder = try TemporaryFolder()
        try Files.write([1], to: folder["0123abcd.0"])
        let first = CurlTransport.hashOfCertificates(at: folder.path)
        #expect(first == CurlTransport.hashOfCertificates(at: folder["0123abcd.0"]))
        try Files.write([2], to: folder["0123abcd.1"])
        let second = CurlTransport.hashOfCertificates(at: folder.path)
        #expect(second != first)
        try Files.write([3], to: folder["README"])
        #expect(CurlTransport.hashOfCertificates(at: "/none:\(folder.path)") == second)
    }
}
