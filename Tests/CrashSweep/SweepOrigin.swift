internal import OriginServer
internal import Synchronization

/// The origin of a worker.
///
/// Its files are replaced between points, and it counts the bytes requested of each.
final class SweepOrigin: Sendable {
    private struct State {
        var files: [String: Resource] = [:]
        /// The number of bytes after which each body is cut.
        var cut: Int64?
        /// The number of bytes requested of each file.
        var asked: [String: Int64] = [:]
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    private let shared: Shared
    private let server: OriginServer

    init() async throws {
        let shared = Shared()
        self.shared = shared
        server = try await OriginServer.start { request in
            let (resource, cut) = shared.state.withLock { state in
                let resource = state.files[request.path]
                if let resource { state.asked[request.path, default: 0] += Self.length(of: request, resource) }
                return (resource, state.cut)
            }
            guard let resource else { return .status("404 Not Found") }
            return .file(resource, for: request, cutAfter: cut)
        }
    }

    func stop() async { try? await server.stop() }

    func url(_ file: ServedFile) -> String { server.baseURL + file.path }

    /// Serves these files from now on.
    func serve(_ files: [ServedFile], cutAfter cut: Int64? = nil) {
        let resources = files.map { file in
            var resource = Resource(file.content, etag: file.etag)
            resource.extraFields = [("Content-Disposition", "attachment; filename=\"\(file.name)\"")]
            return (file.path, resource)
        }
        shared.state.withLock { state in
            state.files = Dictionary(uniqueKeysWithValues: resources)
            state.cut = cut
            state.asked = [:]
        }
    }

    /// The number of bytes requested since the last call, by path.
    ///
    /// Files that were not requested are absent.
    func takeAsked() -> [String: Int64] {
        shared.state.withLock { state in
            defer { state.asked = [:] }
            return state.asked
        }
    }

    /// The length of the body of an honest answer.
    private static func length(of request: OriginRequest, _ resource: Resource) -> Int64 {
        let whole = resource.content.length
        guard request.method == "GET" else { return 0 }
        guard let ranges = request.field("Range"), ranges.hasPrefix("bytes=") else { return whole }
        if let condition = request.field("If-Range"), condition != resource.etag { return whole }
        return ranges.dropFirst("bytes=".count).split(separator: ",").reduce(0) { sum, range in
            let bounds = range.drop { $0 == " " }.split(separator: "-", omittingEmptySubsequences: false)
            guard bounds.count == 2, let first = Int64(bounds[0]) else { return whole }
            let last = min(Int64(bounds[1]) ?? whole - 1, whole - 1)
            return sum + max(last - first + 1, 0)
        }
    }
}
