internal import Foundation

/// A forward proxy from the system's packages, on a free loopback port, stopped by its process.
package final class Tinyproxy: Sendable {
    private let port: Int
    private let process: ChildProcess
    private let folder: TemporaryFolder

    /// Starts a proxy, which asks for credentials if they are given.
    ///
    /// - Throws: An error if it does not start.
    package init(user: String? = nil, password: String = "") async throws {
        folder = try TemporaryFolder()
        port = try Loopback.freePort()
        let credentials = user.map { "BasicAuth \($0) \(password)" } ?? ""
        let configuration = """
            Port \(port)
            Listen 127.0.0.1
            Timeout 60
            MaxClients 20
            LogLevel Connect
            LogFile "\(folder["log"])"
            \(credentials)

            """
        try Files.write(Array(configuration.utf8), to: folder["tinyproxy.conf"])
        process = try Shell.start("tinyproxy", ["-d", "-c", folder["tinyproxy.conf"]], output: folder["output"])
        guard try await Loopback.waits(for: process, at: port) else {
            throw Shell.Failure(description: "tinyproxy did not start")
        }
    }

    /// The URL for an environment variable.
    package var url: String { "http://127.0.0.1:\(port)" }

    /// The log of its requests.
    ///
    /// - Throws: An error if the log cannot be read.
    package func log() throws -> String { String(decoding: try Files.bytes(folder["log"]), as: UTF8.self) }

    /// Stops it; stopping it again has no effect.
    package func stop() async {
        process.send(SIGTERM)
        await process.wait()
    }

    deinit {
        process.end()
        folder.remove()
    }
}
