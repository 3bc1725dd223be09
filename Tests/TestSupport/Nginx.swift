internal import Foundation

/// An nginx from the system's packages, on a free port of loopback, stopped by its process.
package final class Nginx {
    /// The port it listens on.
    package let port: Int
    /// The folder that it serves.
    package let root: String
    private let process: ChildProcess
    private let folder: TemporaryFolder

    /// Whether there is one on this machine.
    package static var isInstalled: Bool { Shell.has("nginx") }

    /// Starts a server that serves `root` at `/`, and slowly at `/slow/`.
    ///
    /// - Parameters:
    ///   - root: A folder.
    ///   - rate: How fast `/slow/` is, in nginx's notation for bytes a second.
    /// - Throws: Where it does not start.
    package init(serving root: String, rate: String = "40m") async throws {
        self.root = root
        folder = try TemporaryFolder()
        port = try Self.freePort()
        let configuration = """
            daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log error.log;
            events { worker_connections 256; }
            http {
                log_format bytes '$status $body_bytes_sent "$http_range"';
                access_log access.log bytes;
                client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                sendfile on;
                server {
                    listen 127.0.0.1:\(port);
                    root \(root);
                    location /slow/ { alias \(root)/; limit_rate \(rate); }
                }
            }
            """
        try Files.write(Array(configuration.utf8), to: folder["nginx.conf"])
        process = try Shell.start("nginx", ["-p", folder.path, "-c", folder["nginx.conf"]], output: folder["output"])
        for _ in 0..<500 where process.isRunning {
            if Self.canConnect(to: port) { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw Shell.Failure(description: "nginx did not start")
    }

    /// The address of a file.
    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

    /// A line for each request: status, bytes of body sent, range.
    ///
    /// - Throws: Where the log cannot be read.
    package func log() throws -> [(status: Int, bytes: Int, range: String)] {
        String(decoding: try Files.bytes(folder["access.log"]), as: UTF8.self).split(separator: "\n").map { line in
            let parts = line.split(separator: " ", maxSplits: 2)
            return (Int(parts[0]) ?? 0, Int(parts[1]) ?? 0, String(parts[2]))
        }
    }

    /// Stops it.
    package func stop() async {
        process.send(SIGTERM)
        await process.wait()
        folder.remove()
    }

    private static func socketAddress(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }

    /// A port that is free now.
    ///
    /// - Throws: Where there is none.
    package static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = socketAddress(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
            }
        }
        guard isBound else { throw Shell.Failure(description: "no free port") }
        return Int(in_port_t(bigEndian: address.sin_port))
    }

    private static func canConnect(to port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = socketAddress(port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
