import OriginServer
import ResumeCurl
import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// A raw origin, a store and a destination for one test.
struct Origin {
    typealias Handler = @Sendable (OriginRequest) -> Response

    let server: OriginServer
    let store: DownloadStore
    let folder: TemporaryFolder

    /// Runs a test against an origin.
    static func with(
        _ handler: @escaping Handler, clock: StoreClock = .continuous, _ body: (Origin) async throws -> Void
    ) async throws {
        var configuration = DownloadStore.Configuration()
        configuration.clock = clock
        try await OriginServer.withServer(handler: handler) { server in
            try await DownloadStore.with(configuration) { store, folder in
                try await body(Origin(server: server, store: store, folder: folder))
            }
        }
    }

    /// The same, after a first download that was cut and left the first ``Scenario/held`` bytes of a resource.
    static func afterCut(
        of resource: Resource = .old, at length: Int64 = 60_000,
        configure: @escaping (inout DownloadRequest) -> Void = { _ in },
        _ body: (Origin) async throws -> Void
    ) async throws {
        try await with({ .file(resource, for: $0, cutAfter: length) }) { origin in
            _ = await origin.failure { request in
                configure(&request)
                request.retryPolicy.retries = 0
            }
            try #require(try await origin.store.entries().first?.receivedBytes == length)
            try await body(origin)
        }
    }

    var url: String { server.baseURL + "/file" }

    /// The requests since the first ones.
    func requests(after count: Int) -> [OriginRequest] { Array(server.requests.dropFirst(count)) }

    /// Downloads the file.
    func get(
        transport: CurlTransport.Configuration = .init(connectTimeout: Engine.patience, threads: 1),
        _ configure: (inout DownloadRequest) -> Void = { _ in },
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> DownloadResult {
        try await Engine.get(
            url, to: folder["out"], store: store, transport: transport, configure: configure, onEvent: onEvent)
    }

    /// Downloads the file, and expects that it has the bytes of a resource, or of a part of it.
    ///
    /// - Parameters:
    ///   - expected: The resource; nil for any.
    ///   - range: The part; nil for the whole.
    ///   - reused: How many bytes are reused; nil for any number.
    ///   - isProved: Whether the result is proved; nil if that does not matter.
    ///   - transport: The settings of the transport.
    ///   - configure: Changes the request.
    ///   - onEvent: Receives the events.
    ///   - location: Where issues are reported.
    /// - Returns: The result.
    /// - Throws: An error from the download.
    @discardableResult
    func get(
        _ expected: Resource?, part range: Range<Int64>? = nil, reusing reused: Int64? = nil, isProved: Bool? = nil,
        transport: CurlTransport.Configuration = .init(connectTimeout: Engine.patience, threads: 1),
        _ configure: (inout DownloadRequest) -> Void = { _ in },
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in },
        at location: SourceLocation = #_sourceLocation
    ) async throws -> DownloadResult {
        let result = try await get(transport: transport, configure, onEvent: onEvent)
        if let expected { #expect(try hasDelivered(expected, range), sourceLocation: location) }
        if let reused { #expect(result.reusedBytes == reused, sourceLocation: location) }
        if let isProved { #expect(result.isProved == isProved, sourceLocation: location) }
        return result
    }

    /// Downloads the file, which must fail and leave no destination.
    func failure(
        transport: CurlTransport.Configuration = .init(connectTimeout: Engine.patience, threads: 1),
        _ configure: (inout DownloadRequest) -> Void = { _ in }
    ) async -> DownloadError? {
        do {
            _ = try await get(transport: transport, configure)
            Issue.record("It was delivered.")
        } catch let error as DownloadError {
            if Files.exists(folder["out"]) { Issue.record("There is a destination in spite of \(error).") }
            return error
        } catch {
            Issue.record("\(error)")
        }
        return nil
    }

    /// Downloads the file, which must fail with a code, and for a reason unless that is nil.
    @discardableResult
    func fails(
        _ code: DownloadError.Code, because reason: String? = nil,
        _ configure: (inout DownloadRequest) -> Void = { _ in }, at location: SourceLocation = #_sourceLocation
    ) async -> DownloadError? {
        let error = await failure(configure)
        #expect(error?.code == code, "\(String(describing: error))", sourceLocation: location)
        if let reason { #expect(error?.reason.code.rawValue == reason, sourceLocation: location) }
        return error
    }

    /// Whether the destination has the bytes of a resource, or of a part of it.
    func hasDelivered(_ resource: Resource, _ range: Range<Int64>? = nil) throws -> Bool {
        try Files.bytes(folder["out"]) == resource.content.bytes(in: range ?? 0..<resource.content.length)
    }

    /// The codes of all decisions, oldest first.
    func reasons() async throws -> [String] {
        try await store.events().map(\.reason.code.rawValue)
    }
}
