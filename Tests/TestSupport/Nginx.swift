internal import Foundation

/// An nginx from the system's packages, on a free loopback port, stopped by its process.
package final class Nginx {
    /// The port it listens on.
    package let port: Int
    /// The folder that it serves.
    package let root: String
    /// The port for TLS, HTTP/2 included.
    package let securePort: Int
    private let process: ChildProcess
    private let folder: TemporaryFolder
    /// Its certificate and key in PEM form.
    package let certificate: String

    /// Whether it is installed on this machine.
    package static var isInstalled: Bool { Shell.has("nginx") }

    /// Starts a server that serves `root` at `/`, and slowly after ``setSlow(_:)``.
    ///
    /// - Parameters:
    ///   - root: A folder.
    ///   - rate: The speed of slow responses, in nginx's notation for bytes per second.
    ///   - secure: Whether it also serves TLS, with its own ``certificate``.
    ///   - certificate: The file with the certificate chain and key for TLS; nil for none.
    ///   - clients: The authority whose certificates clients must have over TLS; nil if they need none.
    /// - Throws: An error if it does not start.
    package init(
        serving root: String, rate: String = "40m", secure: Bool = false, certificate: String? = nil,
        clients: String? = nil
    ) async throws {
        self.root = root
        folder = try TemporaryFolder()
        port = try Loopback.freePort()
        securePort = try Loopback.freePort()
        let pem = certificate ?? folder["certificate.pem"]
        self.certificate = pem
        if secure {
            try await Shell.run(
                "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder["key.pem"], "-out", pem)
            try await Shell.run("sh", "-c", "cat '\(folder["key.pem"])' >> '\(pem)'")
        }
        let servesTLS = secure || certificate != nil
        let tls =
            servesTLS
            ? "listen 127.0.0.1:\(securePort) ssl http2; ssl_certificate \(pem); ssl_certificate_key \(pem);" : ""
        let clients = clients.map { "ssl_client_certificate \($0); ssl_verify_client on;" } ?? ""
        let configuration = """
            daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log error.log;
            events { worker_connections 256; }
            http {
                log_format bytes '$status $body_bytes_sent "$http_range"';
                log_format protocol '$server_protocol';
                access_log access.log bytes;
                access_log protocol.log protocol;
                client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                sendfile on;
                server {
                    listen 127.0.0.1:\(port);
                    \(tls) \(clients)
                    root \(root);
                    location = /-/status { stub_status; access_log off; }
                    location = /insecure { return 302 http://127.0.0.1:\(port)/file.bin; }
                    location = /named { return 302 https://localhost:\(securePort)/file; }
                    if (-f \(folder["slow"])) { set $limit_rate \(rate); }
                }
            }
            """
        try Files.write(Array(configuration.utf8), to: folder["nginx.conf"])
        process = try Shell.start("nginx", ["-p", folder.path, "-c", folder["nginx.conf"]], output: folder["output"])
        // It begins to listen on one port after the other; that for TLS is the last.
        guard try await Loopback.waits(for: process, at: servesTLS ? securePort : port) else {
            throw Shell.Failure(description: "nginx did not start")
        }
    }

    /// The URL of a file.
    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

    /// The TLS URL of a file.
    package func secureURL(_ path: String) -> String { "https://127.0.0.1:\(securePort)/\(path)" }

    /// Waits until each request is answered or aborted: then it is in the logs.
    private func settle() async throws {
        try await wait(for: "nginx to have answered all requests") {
            // The request that asks is being answered.
            try await Shell.run("curl", "--silent", "--noproxy", "*", url("-/status")).contains(
                "Reading: 0 Writing: 1 ")
        }
    }

    /// The protocol of each request.
    ///
    /// - Throws: An error if the log cannot be read.
    package func protocols() async throws -> [String] {
        try await settle()
        return String(decoding: try Files.bytes(folder["protocol.log"]), as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    /// A line for each request: status, bytes of body sent, range.
    ///
    /// - Throws: An error if the log cannot be read.
    package func log() async throws -> [(status: Int, bytes: Int, range: String)] {
        try await settle()
        return String(decoding: try Files.bytes(folder["access.log"]), as: UTF8.self).split(separator: "\n").map {
            line in
            let parts = line.split(separator: " ", maxSplits: 2)
            return (Int(parts[0]) ?? 0, Int(parts[1]) ?? 0, String(parts[2]))
        }
    }

    /// Makes responses slow from now on, or fast.
    ///
    /// - Throws: An error if the file that tells it cannot be written.
    package func setSlow(_ isSlow: Bool) throws {
        if isSlow {
            try Files.write([], to: folder["slow"])
        } else {
            try FileManager.default.removeItem(atPath: folder["slow"])
        }
    }

    package func stop() async {
        process.send(SIGTERM)
        await process.wait()
    }

    deinit {
        process.end()
        folder.remove()
    }
}
