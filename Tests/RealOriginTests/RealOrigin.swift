import TestSupport
import Testing

/// A third-party server, as a separate process of the test.
protocol RealOrigin: AnyObject, Sendable {
    /// Replaces the file.
    func publish(_ file: PublishedFile) async throws
    /// Changes the server's settings. It remains the same server at the same address.
    func configure(_ settings: OriginSettings) async throws
    /// A URL of the file. Signed URLs differ each time.
    func url() throws -> String
    /// Ends the server and removes its files.
    ///
    /// - Returns: The status of each answer to a GET, in order.
    func stop() async throws -> [Int]
}

/// A file as an origin serves it.
struct PublishedFile {
    var bytes: [UInt8]
    /// The time of its last change, as `touch` understands it.
    ///
    /// Long past by default: Apache's tag of a file that was just written is weak for some seconds.
    var modified = "2024-01-01 00:00:00.123456789"
}

/// The settings of a server that a test changes.
struct OriginSettings {
    enum Compression {
        case off
        /// For clients that accept it; this one asks for identity.
        case ifAccepted
        /// Whatever the client asks for, like a careless proxy.
        case always
    }

    var compression = Compression.off
    var sendsEntityTags = true
    /// The offset from which an answer is sent slowly; only nginx supports it.
    var slowAfter: Int64?
}

/// The servers that each case runs with.
enum OriginKind: String, CaseIterable, CustomTestStringConvertible {
    case nginx, apache, lighttpd, caddy, s3

    /// Servers of a folder's files.
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
