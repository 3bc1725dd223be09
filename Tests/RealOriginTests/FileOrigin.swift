import Foundation
import Synchronization
import TestSupport

/// A program that serves the files of a folder, and its configuration.
struct FileServer: Sendable {
    /// The location and the task of a server.
    struct Task {
        /// For the configuration and the logs.
        var folder: TemporaryFolder
        /// The folder that it serves.
        var root: String { folder["www"] }
        var port: Int
        var settings: OriginSettings
    }

    var program: String
    /// The arguments that make it read a configuration and stay in the foreground.
    var arguments: @Sendable (_ folder: String, _ configuration: String) -> [String]
    var configuration: @Sendable (Task) -> String
    /// The text before the status in a line of its log.
    var statusMark = "status="
    /// The signal that ends it after it has finished and logged its current answers.
    var gracefulEnd = SIGTERM
    /// A path that reports the server's activity, and its text when idle; nil if ``gracefulEnd`` waits.
    var rest: (path: String, mark: String)?
}

/// A file server on a free loopback port that serves one file.
final class FileOrigin: RealOrigin {
    private let server: FileServer
    private let folder: TemporaryFolder
    private let port: Int
    private let process: Mutex<ChildProcess>

    /// The file's path, for more than its bytes.
    var path: String { folder["www/data.json"] }

    init(_ server: FileServer, _ settings: OriginSettings) async throws {
        self.server = server
        folder = try TemporaryFolder()
        port = try Loopback.freePort()
        do {
            try await Shell.run("mkdir", folder["www"])
            process = Mutex(try await Self.start(server, in: folder, at: port, settings))
        } catch {
            folder.remove()
            throw error
        }
    }

    private static func start(
        _ server: FileServer, in folder: TemporaryFolder, at port: Int, _ settings: OriginSettings
    ) async throws -> ChildProcess {
        let configuration = server.configuration(FileServer.Task(folder: folder, port: port, settings: settings))
        try Files.write(Array(configuration.utf8), to: folder["configuration"])
        guard Shell.has(server.program) else {
            throw Shell.Failure(description: "There is no \(server.program); 'make setup-test' installs it.")
        }
        // Caddy stores data in the user's folders.
        let home = ["HOME": folder.path, "XDG_CONFIG_HOME": folder.path, "XDG_DATA_HOME": folder.path]
        let process = try Shell.start(
            server.program, server.arguments(folder.path, folder["configuration"]), environment: home,
            output: folder["output"])
        guard try await Loopback.waits(for: process, at: port) else {
            process.send(SIGKILL)
            let said = ["output", "error.log"].compactMap { try? Files.bytes(folder[$0]) }.joined()
            throw Shell.Failure(
                description: "\(server.program) did not start: \(String(decoding: said.suffix(2000), as: UTF8.self))")
        }
        return process
    }

    func publish(_ file: PublishedFile) async throws {
        // Into the same file: a new one would have another inode, and so another tag with lighttpd.
        guard let handle = fopen(path, "w") else { throw CocoaError(.fileWriteUnknown) }
        let written = file.bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, handle) }
        guard fclose(handle) == 0, written == file.bytes.count else { throw CocoaError(.fileWriteUnknown) }
        try await Shell.run("touch", "-d", file.modified, path)
    }

    func configure(_ settings: OriginSettings) async throws {
        try await end()
        let started = try await Self.start(server, in: folder, at: port, settings)
        process.withLock { $0 = started }
    }

    func url() -> String { "http://127.0.0.1:\(port)/data.json" }

    func stop() async throws -> [Int] {
        try await end()
        let log = String(decoding: try Files.bytes(folder["access.log"]), as: UTF8.self)
        return log.split(separator: "\n").filter { $0.contains("GET") }.compactMap { line in
            guard let mark = line.range(of: server.statusMark) else { return nil }
            return Int(line[mark.upperBound...].prefix(3))
        }
    }

    /// The log is complete only after the end: lighttpd writes it from time to time.
    private func end() async throws {
        let process = process.withLock { $0 }
        if let rest = server.rest {
            try await wait(for: "\(server.program) to have given all answers", while: process) {
                try await Shell.run("curl", "-s", "--noproxy", "*", "http://127.0.0.1:\(port)/\(rest.path)")
                    .contains(rest.mark)
            }
        }
        process.send(server.gracefulEnd)
        await process.wait()
    }

    deinit {
        process.withLock { $0 }.end()
        folder.remove()
    }
}
