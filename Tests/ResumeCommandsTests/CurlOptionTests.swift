import Foundation
import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// Further options that curl has, and the variables that it reads.
@Suite(.timeLimit(.minutes(20)))
struct CurlOptionTests {
    private let home = Home()

    @Test(
        "Digest: the password is not sent in clear, and the method is part of the identity",
        arguments: ["--digest", "--anyauth"])
    func digest(option: String) async throws {
        let server = try await home.serve { request in
            if request.field("authorization")?.hasPrefix("Digest ") == true {
                return .file(Sample.resource, for: request, cutAfter: request.number == 2 ? Sample.cut : nil)
            }
            let challenge = "Digest realm=\"r\", nonce=\"n\(request.number)\", qop=\"auth\", algorithm=MD5"
            return .status(
                "401 Unauthorized",
                fields: [("WWW-Authenticate", challenge), ("WWW-Authenticate", "Basic realm=\"r\"")])
        }
        let get = ["get", server.url(), "-o", home["out"], "--retries", "0", "-u", "me:p:w", option]
        await home.run(get).expect(.tryAgain)
        let fields = server.requests.map { $0.field("authorization") ?? "" }
        #expect(fields.first == "" && fields.last?.contains("username=\"me\"") == true, "\(fields)")
        #expect(
            try await home.run("jobs", "--json").json.first?["needs"]?.array?.compactMap(\.string)
                == [option, "Authorization"])
        await home.run("resume", "-u", "me:p:w").expect(.refused, says: "needs \(option)")
        await home.run("resume", "-u", "me:p:w", option).expect(.success, says: "resumed at")
        #expect(server.requests.allSatisfy { $0.field("authorization")?.hasPrefix("Basic") != true })
    }

    /// Starts a server that wants a certificate of the client; returns it, the authority that it has, and such a certificate.
    private func serving(
        _ folder: TemporaryFolder, _ other: TemporaryFolder
    ) async throws -> (nginx: Nginx, trusted: String, own: String) {
        let (server, trusted) = try await TestCertificate("IP:127.0.0.1").make(in: folder)
        let (own, ownTrusted) = try await TestCertificate(nil, usage: "clientAuth").make(in: other)
        return (try await Nginx(serving: home.path, certificate: server, clients: ownTrusted), trusted, own)
    }

    @Test("A server that wants a certificate of the client gets it, with a password or a key in another file")
    func clientCertificate() async throws {
        guard Nginx.isInstalled else { return }
        let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
        try home.write(Array(Sample.content.bytes(in: 0..<1000)), to: "file.bin")
        let (nginx, trusted, own) = try await serving(folder, other)
        try await Shell.run(
            "openssl", "ec", "-aes128", "-passout", "pass:p:w", "-in", other["server.key"], "-out", home["locked.key"])
        try await Shell.run("sh", "-c", "cat '\(other["server.pem"])' '\(home["locked.key"])' > '\(home["a:b.pem"])'")
        let get = ["get", nginx.secureURL("file.bin"), "-o", home["out"], "--retries", "0", "--cacert", trusted]
        let without = await home.run(get)
        #expect(without.status != .success, "\(without.errors)")
        let options = [
            ["-E", own], ["--cert", other["server.pem"], "--private-key", other["server.key"]],
            ["-E", "\(home.path)/a\\:b.pem:p:w"],
        ]
        for option in options {
            await home.run(get + ["--restart"] + option).expect(.success)
        }
        for option in [["-E", "\(home.path)/a\\:b.pem:wrong"], ["-E", home["a:b.pem"]]] {
            let outcome = await home.run(get + ["--restart"] + option)
            #expect(outcome.status != .success && !outcome.errors.contains("p:w"), "\(option): \(outcome.errors)")
        }
        await home.run(get + ["-E", home["none.pem"]]).expect(.notFound, says: "none.pem cannot be read")
        await nginx.stop()
    }

    @Test(
        "Options of curl that would weaken TLS, or be taken for another one, are refused with what to type",
        arguments: [
            (["--tlsv1.1"], "TLS 1.2 is the minimum"), (["--tlsv1.3"], "TLS 1.3 is used"),
            (["-E", "/etc/passwd", "--key", "client.key"], "--private-key"),
            (["--socks5-hostname", "http://127.0.0.1:1"], "set it to http://host:port or socks5h://host:port"),
            (["-U", "me:pw"], "into the URL of --proxy"),
        ])
    func refused(options: [String], advice: String) async throws {
        await home.run(["get", "http://127.0.0.1:1/file", "-o", home["out"]] + options)
            .expect(.usage, says: advice, hides: "--tlsv1.0")
    }

    @Test("--max-redirs limits the redirects in a row")
    func redirects() async throws {
        let server = try await home.serve { request in
            guard request.number < 3 else { return .file(Sample.resource, for: request) }
            return .status("302 Found", fields: [("Location", "/\(request.number)")])
        }
        let get = ["get", server.url(), "-o", home["out"], "--max-redirs"]
        await home.run(get + ["1"]).expect(.refused, says: "more redirects in a row than --max-redirs permits")
        #expect(server.requests.count == 2)
        await home.run(get + ["1"]).expect(.success)
        await home.run(get + ["-1"]).expect(.usage)
    }

    @Test("--connect-to leads to another server, whose bytes over http have a key of their own")
    func connectTo() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", "http://files.test:81/f", "-o", home["out"], "--retries", "0"]
        let route = ["--connect-to", "files.test:81:127.0.0.1:\(server.port)"]
        await home.run(get + route).expect(.tryAgain)
        await home.run("jobs").expect(prints: "[needs --connect-to]")
        await home.run("resume").expect(.refused, says: "was started with --connect-to")
        await home.run(["resume"] + route).expect(.success, says: "resumed at")
        #expect(server.requests.allSatisfy { $0.field("host") == "files.test:81" })
        for wrong in ["a:1", "a:1:b", "a:1:b:2:c", "a#:1:b:2"] {
            await home.run(get + ["--connect-to", wrong]).expect(.usage, says: "--connect-to requires hosts and ports")
        }
    }

    @Test("--pinnedpubkey refuses another key, also with -k, and its bytes are kept apart")
    func pinnedKey() async throws {
        guard Nginx.isInstalled else { return }
        let folder = try TemporaryFolder()
        let (server, trusted) = try await TestCertificate("IP:127.0.0.1").make(in: folder)
        try home.write(Array(Sample.content.bytes(in: 0..<1000)), to: "file.bin")
        let nginx = try await Nginx(serving: home.path, certificate: server)
        try await Shell.run("sh", "-c", "openssl x509 -in '\(server)' -pubkey -noout > '\(home["key.pem"])'")
        let get = ["get", nginx.secureURL("file.bin"), "-o", home["out"], "--retries", "0", "--restart"]
        let other = "sha256//\(String(repeating: "A", count: 43))="
        for trust in [["--cacert", trusted], ["-k"]] {
            await home.run(get + trust + ["--pinnedpubkey", other])
                .expect(trust == ["-k"] ? .tryAgain : .refused, says: "is not the pinned one")
            await home.run(get + trust + ["--pinnedpubkey", home["key.pem"]]).expect(.success)
        }
        await home.run(get + ["--pinnedpubkey", home["none"]]).expect(.notFound, says: "cannot be read")
        await nginx.stop()
    }

    @Test("An address of the other version is refused at once", arguments: [("-6", "127.0.0.1"), ("-4", "[::1]")])
    func otherVersion(option: String, host: String) async throws {
        let outcome = await home.run(["get", "http://\(host):1/file", "-o", home["out"], option])
        #expect(outcome.status == .refused && outcome.errors.contains("its address is not of the version"))
    }

    @Test("The certificate of the client is part of the identity, and a job asks for it again")
    func certificateIdentity() async throws {
        try home.write("-----BEGIN CERTIFICATE-----\n".utf8, to: "own.pem")
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "-o", home["out"], "--retries", "0"]
        await home.run(get + ["-E", "\(home["own.pem"]):hunter2"]).expect(.tryAgain)
        await home.run("jobs").expect(prints: "[needs --cert]")
        await home.run("resume").expect(says: "needs --cert")
        #expect(!String(decoding: try home.storedBytes(), as: UTF8.self).contains("hunter2"))
        await home.run("resume", "-E", home["own.pem"]).expect(.success, says: "resumed at")
    }

    @Test("The variables with certificates are read without --cacert, and only for https")
    func variables() async throws {
        guard Nginx.isInstalled else { return }
        let folder = try TemporaryFolder()
        let (server, trusted) = try await TestCertificate("IP:127.0.0.1").make(in: folder)
        try home.write(Array(Sample.content.bytes(in: 0..<1000)), to: "file.bin")
        let nginx = try await Nginx(serving: home.path, certificate: server)
        try home.makeFolder("certificates")
        let hash = try await Shell.run("openssl", "x509", "-hash", "-noout", "-in", trusted)
        try home.link("certificates/\(hash.trimmingCharacters(in: .whitespacesAndNewlines)).0", to: trusted)
        let cases: [([String: String], Bool)] = [
            ([:], false), (["SSL_CERT_FILE": ""], false), (["SSL_CERT_FILE": trusted], true),
            (["SSL_CERT_DIR": home["certificates"]], true),
        ]
        for (variables, isTrusted) in cases {
            let outcome = await home.run(
                ["get", nginx.secureURL("file.bin"), "-o", home["out"], "--retries", "0", "--restart"],
                environment: variables.merging(["RESUMECTL_STORE": home.store]) { $1 })
            #expect((outcome.status == .success) == isTrusted, "\(variables): \(outcome.errors)")
        }
        await home.run(
            ["get", nginx.url("file.bin"), "-o", home["plain"]],
            environment: ["SSL_CERT_FILE": "/none", "RESUMECTL_STORE": home.store]
        ).expect(.success)
        await nginx.stop()
    }

    @Test("A proxy that cannot be used fails only the downloads that it applies to")
    func proxies() async throws {
        let server = try await home.serve(Sample.whole)
        let get = ["get", server.url(), "-o", home["out"], "--retries", "0"]
        func run(_ variables: [String: String], _ options: String...) async -> Outcome {
            await home.run(
                get + ["--restart"] + options,
                environment: variables.merging(["RESUMECTL_STORE": home.store]) { $1 })
        }
        await run(["https_proxy": "nonsense://"]).expect(.success)
        await run(["http_proxy": "nonsense://"]).expect(.refused, says: "http_proxy does not name a supported proxy")
        await run(["http_proxy": "nonsense://", "no_proxy": "127.0.0.0/8"]).expect(.success)
        await run(["http_proxy": "http://127.0.0.1:9"], "-x", "").expect(.success)
        await run(["all_proxy": "http://127.0.0.1:9"], "-x", "").expect(.success)
        await run([:], "--socks5-hostname", "127.0.0.1:9").expect(.tryAgain, says: "via the proxy 127.0.0.1:9")
        await run([:], "-x", "nonsense://h").expect(.usage)
    }

    @Test("A server gets one Host field, the last one that is given")
    func host() async throws {
        let server = try await home.serve(Sample.whole)
        let get = ["get", server.url(), "-o", home["out"], "-H", "Host: a.example", "-H", "host: b.example"]
        for proxy in [[], ["-x", "http://127.0.0.1:\(server.port)"]] {
            await home.run(get + ["--restart"] + proxy).expect(.success)
        }
        #expect(server.requests.map { $0.fields("host") } == [["b.example"], ["b.example"]])
    }

    @Test("A client's certificate is presented to the origin of the URL only")
    func certificateElsewhere() async throws {
        guard Nginx.isInstalled else { return }
        let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
        try home.write([1, 2, 3], to: "file.bin")
        let (nginx, trusted, own) = try await serving(folder, other)
        let place = nginx.secureURL("file.bin")
        let away: @Sendable (OriginRequest) -> Response = { _ in .status("302 Found", fields: [("Location", place)]) }
        let origin = try await home.serve(away)
        let options = ["-o", home["out"], "--retries", "0", "--cacert", trusted, "-E", own]
        let outcome = await home.run(["get", origin.url()] + options)
        #expect(outcome.status != .success, "\(outcome.errors)")
        await home.run(["get", place] + options).expect(.success)
        await nginx.stop()
    }

    @Test("Versions of TLS that old devices need have keys of their own; HTTP/3 needs a libcurl with it")
    func versions() async throws {
        let get = ["get", "https://127.0.0.1:9/f", "-o", home["out"], "--retries", "0"]
        await home.run(get + ["--tls-old", "--tls-max", "1.2"]).expect(.tryAgain)
        await home.run("jobs").expect(prints: "[needs --tls-old]")
        let outcome = await home.run(get + ["--http3"])
        #expect(outcome.status == .tryAgain || outcome.errors.contains("does not support HTTP/3"), "\(outcome.errors)")
    }
}
