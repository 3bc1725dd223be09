import Foundation
import OriginServer
import TestSupport
import Testing

/// Proxies, TLS and HTTP/2 with real peers: tinyproxy, nginx, and OpenSSL through Python.
@Suite(.timeLimit(.minutes(20)))
struct TransportTests {
    @Temporary private var folder
    private static let content = sampleBytes(3_000_000)

    /// A proxy, and nginx with TLS behind it.
    private struct Peers {
        let folder: TemporaryFolder
        let nginx: Nginx
        let proxy: Tinyproxy
        let program: Resumectl

        /// Downloads the file over TLS, trusting the test's own certificate.
        func get(_ more: [String] = [], environment: [String: String] = [:]) async throws -> Shell.Outcome {
            let get = ["get", nginx.secureURL("file.bin"), "-o", folder["out"], "--cacert", nginx.certificate]
            return try await Shell.outcome(
                Resumectl.path, get + more,
                environment: program.environment.merging(["no_proxy": ""]) { $1 }.merging(environment) { $1 })
        }

        func hasDelivered() throws -> Bool { try Files.bytes(folder["out"]) == TransportTests.content }
    }

    private static func with(_ body: (Peers) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", folder["www"])
            try Files.write(content, to: folder["www/file.bin"])
            let nginx = try await Nginx(serving: folder["www"], secure: true)
            let proxy = try await Tinyproxy()
            do {
                try await body(Peers(folder: folder, nginx: nginx, proxy: proxy, program: Resumectl(folder: folder)))
            } catch {
                await nginx.stop()
                await proxy.stop()
                throw error
            }
            await nginx.stop()
            await proxy.stop()
        }
    }

    @Test("TLS works with a trusted certificate, and not without", arguments: [false, true])
    func tls(http2: Bool) async throws {
        try await Self.with { peers in
            let outcome = try await peers.get(http2 ? ["--http2"] : [])
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try peers.hasDelivered())
            #expect(try await peers.nginx.protocols() == [http2 ? "HTTP/2.0" : "HTTP/1.1"])
            // The server has sent a file with a trusted certificate, so this is a failure for now.
            let get = ["get", peers.nginx.secureURL("file.bin"), "-o", peers.folder["no"], "--retries", "0"]
            let untrusted = try await Shell.outcome(Resumectl.path, get, environment: peers.program.environment)
            #expect(untrusted.status == 75)
            #expect(untrusted.errors.contains("not trusted") && !untrusted.errors.contains("-k"), "\(untrusted.errors)")
            let stranger = try await Shell.outcome(
                Resumectl.path, get + ["--store", peers.folder["other"]], environment: peers.program.environment)
            #expect(stranger.status == 1)
            #expect(stranger.errors.contains("not trusted") && stranger.errors.contains("-k"), "\(stranger.errors)")
            let plain = try await peers.program.run(
                "get", peers.nginx.url("file.bin").replacing("http:", with: "https:"), "-o", peers.folder["no"])
            #expect(plain.status == 1)
            #expect(plain.errors.contains("does not use TLS"), "\(plain.errors)")
        }
    }

    @Test(
        "-k accepts any certificate, with HTTP/2 and tunnels too, and its bytes reach no request that verifies it",
        arguments: [false, true], [false, true])
    func insecure(http2: Bool, tunnel: Bool) async throws {
        try await Self.with { peers in
            let url = peers.nginx.secureURL("file.bin").replacing("127.0.0.1", with: tunnel ? "localhost" : "127.0.0.1")
            let get = ["get", url, "-o", peers.folder["out"], "-k"] + (http2 ? ["--http2"] : [])
            let environment = peers.program.environment.merging(
                tunnel ? ["https_proxy": peers.proxy.url, "no_proxy": ""] : [:]
            ) { $1 }
            let first = try Shell.start(
                Resumectl.path, get + ["--limit-rate", "20KiB"], environment: environment,
                output: peers.folder["first"])
            try await wait(for: "50,000 bytes", while: first) { try await peers.program.received() >= 50_000 }
            first.send(SIGINT)
            await first.wait()
            let verified = try await peers.get(["--json"])
            #expect(verified.status == 0 && !verified.output.contains("\"event\":\"resumed\""), "\(verified.errors)")
            let resumed = try await Shell.outcome(Resumectl.path, get + ["--json"], environment: environment)
            #expect(resumed.status == 0 && resumed.output.contains("\"event\":\"resumed\""), "\(resumed.errors)")
            #expect(try peers.hasDelivered())
        }
    }

    @Test("H05: https does not redirect to http")
    func downgrade() async throws {
        try await Self.with { peers in
            let outcome = try await peers.program.run(
                "get", peers.nginx.secureURL("insecure"), "-o", peers.folder["out"], "--cacert", peers.nginx.certificate
            )
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("from https to http"))
            #expect(outcome.errors.contains("--sha256"))
            #expect(try await peers.nginx.protocols().count == 1)
            // A digest proves the file, but a pipe gets its bytes before that.
            let digest = String(try await Shell.run("sha256sum", peers.folder["www/file.bin"]).prefix(64))
            let get = [
                "get", peers.nginx.secureURL("insecure"), "--cacert", peers.nginx.certificate, "--sha256", digest,
            ]
            let piped = try await Shell.outcome(Resumectl.path, get + ["-o", "-"])
            #expect(piped.status == 1 && piped.output.isEmpty, "\(piped.errors)")
            let proved = try await Shell.outcome(
                Resumectl.path, get + ["-o", peers.folder["out"]], environment: peers.program.environment)
            #expect(try proved.status == 0 && peers.hasDelivered(), "\(proved.errors)")
        }
    }

    @Test("HTTP/2: killed and resumed")
    func http2Resumed() async throws {
        try await Self.with { peers in
            let slow = ["--http2", "--limit-rate", "20KiB"]
            let get = ["get", peers.nginx.secureURL("file.bin"), "-o", peers.folder["out"], "--cacert"]
            let first = try Shell.start(
                Resumectl.path, get + [peers.nginx.certificate] + slow, environment: peers.program.environment,
                output: peers.folder["first"])
            try await wait(for: "50,000 bytes", while: first) {
                try await peers.program.received() >= 50_000
            }
            first.send(SIGKILL)
            await first.wait()
            #expect(try await peers.get(["--http2", "--json"]).output.contains("\"event\":\"resumed\""))
            #expect(try peers.hasDelivered())
        }
    }

    @Test("https uses the proxy through a tunnel, and bypasses it according to no_proxy")
    func tunnel() async throws {
        try await Self.with { peers in
            let outcome = try await peers.get(environment: ["https_proxy": peers.proxy.url])
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try peers.hasDelivered())
            #expect(try peers.proxy.log().contains("CONNECT 127.0.0.1:"))
            await peers.proxy.stop()
            let past = try await peers.get(environment: ["https_proxy": peers.proxy.url, "no_proxy": "127.0.0.1"])
            #expect(past.status == 0, "\(past.errors)")
            #expect(
                try await peers.get(["--retries", "0"], environment: ["https_proxy": peers.proxy.url]).status == 75)
        }
    }

    @Test("http is sent to the proxy in full; missing credentials are reported, and never go to the origin")
    func plain() async throws {
        let resource = Resource(Content(length: 200_000, seed: 1), etag: "\"a\"")
        try await OriginServer.withServer(handler: { .file(resource, for: $0) }) { server in
            let proxy = try await Tinyproxy(user: "user", password: "secret")
            let program = Resumectl(folder: folder)
            let get = { (proxy: String) in
                try await Shell.outcome(
                    Resumectl.path, ["get", server.baseURL + "/f", "-o", folder["out"], "--retries", "0"],
                    environment: program.environment.merging(["http_proxy": proxy, "no_proxy": ""]) { $1 })
            }
            let refused = try await get(proxy.url)
            let done = try await get(proxy.url.replacing("://", with: "://user:secret@"))
            let log = try proxy.log()
            await proxy.stop()
            #expect(refused.status == 1)
            #expect(refused.errors.contains("407"))
            #expect(done.status == 0, "\(done.errors)")
            #expect(server.requests.count == 1)
            // A tunnel would have been logged as one.
            #expect(!log.contains("CONNECT 127.0.0.1:"))
            #expect(log.contains("GET http://127.0.0.1:\(server.port)/f"))
            #expect(server.requests.first?.field("Proxy-Authorization") == nil)
            #expect(try resource.content.matches(Files.bytes(folder["out"])))
        }
    }

    @Test("A proxy that cannot be used is reported before anything is sent")
    func unusable() async throws {
        let program = Resumectl(folder: folder)
        let outcome = try await Shell.outcome(
            Resumectl.path, ["get", "http://127.0.0.1:9/f", "-o", folder["out"]],
            environment: program.environment.merging(["http_proxy": "ftp://proxy:1", "no_proxy": ""]) { $1 })
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("http_proxy"))
    }

    @Test("HTTP/2: an invalid status does not crash the program", arguments: ["42", "-5", "1000", "101", "2x0"])
    func statusOfHTTP2(status: String) async throws {
        try await Self.with { peers in
            let outcome = try await Self.http2(status, 1, peers)
            #expect(outcome.status == 75)
            #expect(outcome.errors.contains("invalid HTTP"), "\(outcome.errors)")
        }
    }

    @Test("HTTP/2: interim responses are ignored, except those without an end", arguments: [100, 101])
    func interimOfHTTP2(count: Int) async throws {
        try await Self.with { peers in
            let outcome = try await Self.http2("103", count, peers)
            #expect(outcome.status == (count == 100 ? 0 : 75), "\(outcome.errors)")
            #expect(outcome.errors.contains("more than 100 interim responses") == (count > 100))
            #expect(Files.exists(peers.folder["out"]) == (count == 100))
        }
    }

    /// Downloads a file over HTTP/2 whose answer begins with a status, sent the given number of times.
    private static func http2(_ status: String, _ count: Int, _ peers: Peers) async throws -> Shell.Outcome {
        let port = try Loopback.freePort()
        let server = try Shell.start(
            "python3", ["-c", secondVersion, peers.nginx.certificate, "\(port)", status, "\(count)"],
            output: peers.folder["python"])
        try #require(try await Loopback.waits(for: server, at: port))
        let outcome = try await peers.program.run(
            "get", "https://127.0.0.1:\(port)/f", "-o", peers.folder["out"], "--cacert", peers.nginx.certificate,
            "--retries", "0", "--http2")
        server.send(SIGTERM)
        await server.wait()
        return outcome
    }

    /// Answers the first request of each connection over HTTP/2 with the test's status, 200, and a body.
    private static let secondVersion = """
        import socket, ssl, sys
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        context.set_alpn_protocols(["h2"])
        def frame(kind, flags, stream, payload=b""):
            return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
        def status(text):
            return bytes([8, len(text)]) + text.encode()
        listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
        while True:
            connection, _ = listener.accept()
            try:
                stream = context.wrap_socket(connection, server_side=True).makefile("rwb")
                stream.write(frame(4, 0, 0))
                stream.read(24)
                while True:
                    stream.flush()
                    head = stream.read(9)
                    stream.read(int.from_bytes(head[:3], "big"))
                    if head[3] == 4 and not head[4] & 1:
                        stream.write(frame(4, 1, 0))
                    if head[3] == 1:
                        number = int.from_bytes(head[5:], "big")
                        for _ in range(int(sys.argv[4])):
                            stream.write(frame(1, 4, number, status(sys.argv[3])))
                        stream.write(frame(1, 4, number, status("200")))
                        stream.write(frame(0, 1, number, b"hello"))
            except (OSError, IndexError):
                pass
        """

    @Test("F06: a body that ends with its TLS connection, without close_notify, is cut", arguments: [false, true])
    func closeNotify(isPolite: Bool) async throws {
        try await Self.with { peers in
            let port = try Loopback.freePort()
            let server = try Shell.start(
                "python3", ["-c", Self.server, peers.nginx.certificate, "\(port)", isPolite ? "unwrap" : "close"],
                output: peers.folder["python"])
            try #require(try await Loopback.waits(for: server, at: port))
            let outcome = try await peers.program.run(
                "get", "https://127.0.0.1:\(port)/f", "-o", peers.folder["out"], "--cacert", peers.nginx.certificate,
                "--retries", "0")
            server.send(SIGTERM)
            await server.wait()
            #expect((outcome.status == 0) == isPolite, "\(outcome.errors)")
            #expect(Files.exists(peers.folder["out"]) == isPolite)
        }
    }

    /// Answers each connection with a body that has neither length nor chunks.
    ///
    /// `close` alone sends no close_notify.
    private static let server = """
        import socket, ssl, sys
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
        while True:
            connection, _ = listener.accept()
            try:
                connection = context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True)
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n" + b"x" * 50000)
                if sys.argv[3] == "unwrap":
                    connection.unwrap()
            except OSError:
                pass
            connection.close()
        """

    // A TLS library that waits for the end of the connection waits 5 seconds in each run. Otherwise only a busy machine
    // makes a run that long, and not every run.
    @Test(
        "The program exits although the server neither answers close_notify nor closes the connection",
        arguments: [false, true])
    func lingering(http2: Bool) async throws {
        try await Self.with { peers in
            let port = try Loopback.freePort()
            let server = try Shell.start(
                "python3", ["-c", Self.lingering, peers.nginx.certificate, "\(port)", http2 ? "h2" : "http/1.1"],
                output: peers.folder["python"])
            try #require(try await Loopback.waits(for: server, at: port))
            var shortest = Duration.seconds(60)
            for number in 1...60 where shortest >= .seconds(5) {
                let start = ContinuousClock.now
                let outcome = try await Shell.outcome(
                    Resumectl.path,
                    [
                        "get", "https://127.0.0.1:\(port)/\(number)", "-o", peers.folder["\(number)"], "--cacert",
                        peers.nginx.certificate, "--retries", "0",
                    ] + (http2 ? ["--http2"] : []),
                    environment: peers.program.environment)
                shortest = min(shortest, ContinuousClock.now - start)
                try #require(outcome.status == 0, "\(outcome.errors)")
            }
            #expect(shortest < .seconds(5))
            server.send(SIGTERM)
            await server.wait()
        }
    }

    /// Answers one request on each connection, and leaves the connection open without reading from it.
    private static let lingering = """
        import socket, ssl, sys
        protocol = sys.argv[3]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        context.set_alpn_protocols([protocol])
        def frame(kind, flags, stream, payload=b""):
            return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
        listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
        connections = []
        while True:
            connection, _ = listener.accept()
            try:
                connection = context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True)
                connections.append(connection)
                if protocol != "h2":
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
                    continue
                stream = connection.makefile("rb")
                connection.sendall(frame(4, 0, 0))
                stream.read(24)
                while True:
                    head = stream.read(9)
                    stream.read(int.from_bytes(head[:3], "big"))
                    if head[3] == 4 and not head[4] & 1:
                        connection.sendall(frame(4, 1, 0))
                    if head[3] == 1:
                        number = int.from_bytes(head[5:], "big")
                        connection.sendall(frame(1, 4, number, b"\\x88") + frame(0, 1, number, b"hello"))
                        break
            except (OSError, IndexError):
                pass
        """

    @Test("SOCKS 5: the proxy resolves the name; one that refuses is reported, with the host", arguments: [0, 5])
    func socks(reply: Int) async throws {
        let resource = Resource(Content(length: 200_000, seed: 1), etag: "\"a\"")
        try await OriginServer.withServer(handler: { .file(resource, for: $0) }) { server in
            let port = try Loopback.freePort()
            let proxy = try Shell.start(
                "python3", ["-c", Self.socks, "\(port)", "\(server.port)", "\(reply)"], output: folder["python"])
            try #require(try await Loopback.waits(for: proxy, at: port))
            let program = Resumectl(folder: folder)
            let outcome = try await Shell.outcome(
                Resumectl.path, ["get", "http://origin.invalid/f", "-o", folder["out"], "--retries", "0"],
                environment: program.environment.merging([
                    "all_proxy": "socks5h://127.0.0.1:\(port)", "no_proxy": "",
                ]) { $1 })
            proxy.send(SIGTERM)
            await proxy.wait()
            #expect(outcome.status == (reply == 0 ? 0 : 75), "\(outcome.errors)")
            #expect(outcome.errors.contains("origin.invalid via the proxy 127.0.0.1:\(port)") == (reply > 0))
            let log = String(decoding: try Files.bytes(folder["python"]), as: UTF8.self)
            #expect(log.contains("origin.invalid"))
            #expect(server.requests.map { $0.field("Host") } == (reply == 0 ? ["origin.invalid"] : []))
        }
    }

    /// A SOCKS proxy that prints the requested name, and connects to a port of this machine.
    private static let socks = """
        import socket, sys, threading
        def pump(source, sink):
            try:
                while data := source.recv(65536):
                    sink.sendall(data)
            except OSError:
                pass
            finally:
                sink.close()
        listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
        while True:
            client, _ = listener.accept()
            stream = client.makefile("rwb", buffering=0)
            head = stream.read(2)
            if not head:
                continue
            stream.read(head[1])
            stream.write(bytes([5, 0]))
            request = stream.read(4)
            if request[3] == 3:
                print(stream.read(stream.read(1)[0]).decode(), flush=True)
            else:
                print(stream.read(4 if request[3] == 1 else 16).hex(), flush=True)
            stream.read(2)
            reply = int(sys.argv[3])
            stream.write(bytes([5, reply, 0, 1, 127, 0, 0, 1, 0, 0]))
            if reply:
                client.close()
                continue
            origin = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
            threading.Thread(target=pump, args=(client, origin), daemon=True).start()
            threading.Thread(target=pump, args=(origin, client), daemon=True).start()
        """
}
