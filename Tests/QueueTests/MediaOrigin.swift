import OriginServer
import Synchronization

/// An origin of small media files, each with a behaviour that a test sets.
final class MediaOrigin: Sendable {
    /// How a path is answered.
    enum Mode: Sendable {
        /// The whole file, or the requested range.
        case whole
        /// The given number of bytes of the answer; then nothing, with the connection open.
        case stalled(after: Int64)
        case missing
    }

    static let length: Int64 = 1_200_000
    static let half = length / 2

    private let modes = Mutex<[String: Mode]>([:])

    subscript(name: String) -> Mode {
        get { modes.withLock { $0["/\(name)"] ?? .whole } }
        set { modes.withLock { $0["/\(name)"] = newValue } }
    }

    /// Sends everything from now on.
    func release() { modes.withLock { $0 = [:] } }

    static func content(_ path: String) -> Content {
        let seed = path.utf8.reduce(UInt64(7)) { $0 &* 31 &+ UInt64($1) }
        return Content(length: length, seed: seed)
    }

    func answer(_ request: OriginRequest) -> Response {
        let resource = Resource(Self.content(request.path), etag: "\"\(request.path)\"")
        switch modes.withLock({ $0[request.path] ?? .whole }) {
        case .whole: return .file(resource, for: request)
        case .stalled(let count): return .file(resource, for: request, cutAfter: count, stall: true)
        case .missing: return .status("404 Not Found")
        }
    }
}
