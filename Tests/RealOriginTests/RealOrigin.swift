import TestSupport
import Testing

/// A server of other people's making, as a process of the test's own.
protocol RealOrigin: AnyObject, Sendable {
    /// Puts the file there in place of what was there.
    func publish(_ file: PublishedFile) async throws
    /// Changes the server's settings; it is the same one at the same address afterwards.
    func configure(_ settings: OriginSettings) async throws
    /// An address of the file. With a signed one, each is another one.
    func url() throws -> String
    /// Ends the server and removes what it had.
    ///
    /// - Returns: The status of each answer to a GET, in order.
    func stop() async throws -> [Int]
}

/// A file as an origin serves it.
struct PublishedFile {
    var bytes: [UInt8]
    /// The time of its last change, as `touch` understands it.
    ///
    /// Long past unless said otherwise: Apache's tag of a file that was just written is weak for some seconds.
    var modified = "2024-01-01 00:00:00.123456789"
}

/// What a test changes about a server.
struct OriginSettings {
    enum Compression {
        case off
        /// For clients that accept it; this one asks for identity.
        case ifAccepted
        /// Whatever the client asks for, as a careless proxy does.
        case always
    }

    var compression = Compression.off
    var sendsEntityTags = true
    /// From how many bytes on an answer is sent slowly; only nginx can be told that.
    var slowAfter: Int64?
}

/// The servers that each case is tried with.
enum OriginKind: String, CaseIterable, CustomTestStringConvertible {
    case nginx, apache, lighttpd, caddy, s3

    /// Those that serve a folder's files.
    static let fileServers: [OriginKind] = [.nginx, .apache, .lighttpd, .caddy]

    var testDescription: String {
        switch self {
        case .nginx: "nginx"
        case .apache: "Apache"
        case .lighttpd: "lighttpd"
        case .caddy: "Caddy"
        case .s3: "S3 with presigned URLs"
        }
    }

    /// Starts one that serves a file.
    func start(_ file: PublishedFile?, _ settings: OriginSettings = OriginSettings()) async throws -> any RealOrigin {
        let origin: any RealOrigin =
            switch self {
            case .nginx: try await FileOrigin(.nginx, settings)
            case .apache: try await FileOrigin(.apache, settings)
            case .lighttpd: try await FileOrigin(.lighttpd, settings)
            case .caddy: try await FileOrigin(.caddy, settings)
            case .s3: try await S3Origin()
            }
        if let file { try await origin.publish(file) }
        return origin
    }
}
