import OriginServer
import TestSupport
import Testing

/// The image loader with its own client, against an origin whose first answers never end.
@Suite(.timeLimit(.minutes(20)), .serialized, .enabled(if: Example.areBuilt, "make examples builds the programs"))
struct ImageLoaderTests {
    @Temporary private var folder
    private let servers = Servers()
    private static let content = Content(length: 2_000_000, seed: 1)
    private static let large = Content(length: 6_000_000, seed: 2)

    /// The first answer to a request without a range stops in the middle.
    private static func stalling(_ request: OriginRequest) -> Response {
        let content = request.path == "/large" ? large : content
        let isFirst = request.byteRange == nil && request.path == "/image"
        return .file(
            Resource(content, etag: "\"v1\""), for: request, cutAfter: isFirst ? 1_000_000 : nil, stall: isFirst)
    }

    @Test("Left too early, then shown by two views: one request for the rest, from memory")
    func memory() async throws {
        let server = try await servers.serve(Self.stalling)
        let url = "\(server.baseURL)/image"
        let outcome = try await Example.imageLoader.run(
            [folder["store"], "glance", url, "600000", "show", url, folder["image"]])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(Self.content.matches(try Files.bytes(folder["image"])))
        let offsets = server.requests.map { $0.byteRange?.first }
        #expect(offsets.count == 2 && offsets[0] == nil, "\(offsets)")
        #expect(offsets.last.flatMap { $0 } ?? 0 >= 500_000, "\(offsets)")
    }

    @Test("Moved to disk in the background: the next run resumes it")
    func promotion() async throws {
        let server = try await servers.serve(Self.stalling)
        let url = "\(server.baseURL)/image"
        let first = try await Example.imageLoader.run([folder["store"], "glance", url, "600000", "background"])
        #expect(first.status == 0 && !first.output.contains("moved to disk: 0 bytes"), "\(first.output)\(first.errors)")
        let second = try await Example.imageLoader.run([folder["store"], "show", url, folder["image"]])
        #expect(second.status == 0, "\(second.errors)")
        #expect(Self.content.matches(try Files.bytes(folder["image"])))
        #expect(server.requests.map { $0.byteRange != nil } == [false, true])
    }

    @Test("Dropped on a memory warning: the image is requested again, and is right")
    func warning() async throws {
        let server = try await servers.serve { request in
            let isFirst = request.number == 1
            return .file(
                Resource(Self.content, etag: "\"v1\""), for: request, cutAfter: isFirst ? 1_000_000 : nil,
                stall: isFirst)
        }
        let url = "\(server.baseURL)/image"
        let outcome = try await Example.imageLoader.run(
            [folder["store"], "glance", url, "600000", "warning", "show", url, folder["image"]])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(Self.content.matches(try Files.bytes(folder["image"])))
        #expect(server.requests.map { $0.byteRange != nil } == [false, false])
    }

    @Test("Too large for memory: it is downloaded through the disk, and nothing is left there")
    func large() async throws {
        let server = try await servers.serve(Self.stalling)
        let outcome = try await Example.imageLoader.run(
            [folder["store"], "show", "\(server.baseURL)/large", folder["image"]])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(Self.large.matches(try Files.bytes(folder["image"])))
        #expect(try Files.names(in: folder["store/blobs"]).isEmpty)
        #expect(server.requests.allSatisfy { $0.path == "/large" })
    }
}
