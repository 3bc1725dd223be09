import HTTPTypes
import OriginServer
import ResumeHTTP
import ResumeStore
import Synchronization
import TestSupport

/// Where partials are kept.
///
/// Both stores must behave the same.
enum Place: CaseIterable, Sendable {
    case disk
    case memory
}

/// An origin, a store of one kind, and a custom client between them.
struct Visit {
    let server: OriginServer
    let store: any PartialStore

    static func with(
        _ place: Place, _ handler: @escaping @Sendable (OriginRequest) -> Response,
        _ body: (Visit) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try await OriginServer.withServer(handler: handler) { server in
                switch place {
                case .memory:
                    try await body(Visit(server: server, store: MemoryStore()))
                case .disk:
                    let store = try await DownloadStore.open(at: folder["store"])
                    try await body(Visit(server: server, store: store))
                    await store.close()
                }
            }
        }
    }

    var url: DownloadURL { get throws { try DownloadURL(server.baseURL + "/file") } }

    var request: OriginRequest? { server.requests.last }

    /// Fetches the file, without retries by default.
    func fetch(
        limit: Int = 32 << 20, retries: Int = 0, policy: ResumePolicy = ResumePolicy(),
        onPart: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> [UInt8] {
        let port = server.port
        return try await store.fetch(
            try url, headerFields: [:], policy: policy, limit: limit,
            retries: .init(
                retries: retries, time: .seconds(20), firstDelay: .milliseconds(10), longestDelay: .milliseconds(20))
        ) { fields in try await SmallClient.response(port: port, fields, onPart: onPart) }.bytes
    }

    /// Fetches the file, which is cut.
    func fetchCut() async -> Bool {
        do {
            _ = try await fetch()
            return false
        } catch {
            return error as? SmallClient.Failure == .cut
        }
    }

    /// The stored partial.
    func held() async throws -> HeldPartial {
        let transfer = try await store.open(try url, headerFields: [:])
        let partial = await transfer.partial
        try await transfer.close()
        return partial
    }
}

/// A counter for any thread.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    /// Adds, and returns the sum.
    @discardableResult
    func add(_ number: Int) -> Int { count.add(number, ordering: .relaxed).newValue }
}
