import Dispatch
import Foundation
import OriginServer

/// Serves one honest file at every path until it is terminated.
@main
enum Command {
    /// The size of the pieces in which a file is written.
    private static let pieceSize: Int64 = 1 << 20

    static func main() async {
        do {
            let arguments = try Arguments(CommandLine.arguments.dropFirst())
            if arguments.wantsHelp {
                try write(Arguments.usage, to: .standardOutput)
            } else if let path = arguments.outputPath {
                try save(Content(length: arguments.size, seed: arguments.seed), to: path)
            } else {
                try await serve(arguments)
            }
        } catch let failure as Arguments.Failure {
            try? write("origin-server: \(failure.message)\n\(Arguments.usage)", to: .standardError)
            exit(64)
        } catch {
            try? write("origin-server: \(error)", to: .standardError)
            exit(1)
        }
    }

    /// Serves until SIGTERM or SIGINT, then reports what was sent.
    ///
    /// - Parameter arguments: The command line.
    /// - Throws: Any error from the server, or from writing to standard output.
    private static func serve(_ arguments: Arguments) async throws {
        let signals = Signals([SIGTERM, SIGINT])
        let resource = Resource(
            Content(length: arguments.size, seed: arguments.seed),
            etag: arguments.etag,
            lastModified: Resource.defaultLastModified
        )
        let rate = arguments.rate > 0 ? arguments.rate : nil
        let server = try await OriginServer.start(port: arguments.port) { request in
            .file(resource, for: request, bytesPerSecond: rate)
        }
        try write("listening on \(server.baseURL)/", to: .standardOutput)
        await signals.wait()
        try await server.stop()
        let line = "sent \(server.bodyBytesSent) body bytes in \(server.requests.count) requests"
        try write(line, to: .standardOutput)
    }

    /// Writes content to a file, which is replaced.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - path: The path of the file.
    /// - Throws: Any error from the file system.
    private static func save(_ content: Content, to path: String) throws {
        try Data().write(to: URL(filePath: path))
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        var next: Int64 = 0
        while next < content.length {
            let end = min(content.length, next + pieceSize)
            try file.write(contentsOf: content.bytes(in: next..<end))
            next = end
        }
        try file.close()
    }

    /// Writes a line immediately; `print` buffers it if the output is not a terminal.
    ///
    /// - Parameters:
    ///   - line: The line without its end.
    ///   - file: The output file.
    /// - Throws: Any error from the file.
    private static func write(_ line: String, to file: FileHandle) throws {
        try file.write(contentsOf: Data("\(line)\n".utf8))
    }
}
