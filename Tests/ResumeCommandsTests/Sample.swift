import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// What the test origins serve.
enum Sample {
    /// The bytes.
    static let content = Content(length: 300_000, seed: 7)
    /// Other bytes of the same length.
    static let changed = Content(length: 300_000, seed: 8)
    /// How many bytes come before the connection is cut.
    static let cut: Int64 = 200_000
    /// The bytes under a strong entity tag.
    static let resource = Resource(content, etag: "\"v1\"")
    /// The other bytes under theirs.
    static let changedResource = Resource(changed, etag: "\"v2\"")

    /// Answers the first request with a cut body and the next ones in full.
    static let cutOnce: @Sendable (OriginRequest) -> Response = { request in
        .file(resource, for: request, cutAfter: request.number == 1 ? cut : nil)
    }

    /// Answers each request in full.
    static let whole: @Sendable (OriginRequest) -> Response = { .file(resource, for: $0) }
}

extension OriginServer {
    /// The URL of a path of this server.
    func url(_ path: String = "/file.bin") -> String { baseURL + path }

    /// The same, with a user and a password.
    func url(_ path: String, user: String) -> String { "http://\(user)@127.0.0.1:\(port)\(path)" }
}

extension Home {
    /// Leaves a partial in the store, from an origin that is gone afterwards.
    ///
    /// - Parameters:
    ///   - name: The file's name, on the origin and in the folder.
    ///   - held: How many bytes are held.
    ///   - resource: What the origin has.
    ///   - options: Further arguments of `get`.
    ///   - location: Where issues are reported.
    /// - Returns: The URL.
    /// - Throws: What the server throws.
    @discardableResult
    func leavePartial(
        _ name: String = "file.bin", held: Int64 = Sample.cut, of resource: Resource = Sample.resource,
        options: [String] = [], at location: SourceLocation = #_sourceLocation
    ) async throws -> String {
        try await OriginServer.withServer(handler: { .file(resource, for: $0, cutAfter: held) }) { server in
            let url = server.url("/\(name)")
            let outcome = await run(["get", url, "--output", self[name], "--retries", "0"] + options, at: location)
            #expect(outcome.status == .tryAgain, "\(outcome.errors)", sourceLocation: location)
            return url
        }
    }

    /// Runs something while a download hangs in the middle, and interrupts it at the end.
    func whileDownloading(
        _ name: String = "busy.bin", of resource: Resource = Sample.resource, options: [String] = [],
        _ body: (_ url: String) async throws -> Void
    ) async throws -> Outcome {
        let handler: @Sendable (OriginRequest) -> Response = {
            .file(resource, for: $0, cutAfter: Sample.cut, stall: true)
        }
        return try await OriginServer.withServer(handler: handler) { server in
            let url = server.url("/\(name)")
            let download = Task { await run(["get", url, "--output", self[name], "--stall-timeout", "600"] + options) }
            defer { download.cancel() }
            try await wait { try await held(url) == Sample.cut }
            try await body(url)
            download.cancel()
            return await download.value
        }
    }

    /// How many bytes are held of a key; nil where there is no entry.
    func held(_ key: String) async throws -> Int64? { try await entry(key)?["receivedBytes"]?.integer }

    /// The entry of a key as `list --json` has it; nil where there is none.
    func entry(_ key: String) async throws -> JSONText? {
        guard has("store/store.sqlite") else { return nil }
        return try await run("list", "--json").json.first { $0["key"]?.string == key }
    }
}
