import Foundation
import OriginServer
import ResumeHTTP
import TestSupport
import Testing

/// The model fetcher against an origin, killed in the middle.
@Suite(
    .timeLimit(.minutes(20)), .serialized, .enabled(if: Example.areBuilt, "make examples builds the programs"))
struct ModelFetcherTests {
    private static let models = ["small": 100_000, "medium": 3_000_000, "large": 8_000_000]

    private static func content(_ name: String) -> Content? {
        models[name].map { Content(length: Int64($0), seed: UInt64($0)) }
    }

    /// A manifest of all models; `wrong` gets a digest that matches no model.
    private static func manifest(_ server: OriginServer, wrong: String? = nil) throws -> String {
        try models.keys.sorted().map { name in
            let model = try #require(name == wrong ? Content("no model") : content(name))
            let digest = try #require(HTTPDigest(.sha256, of: model.bytes(in: model.all)))
            return "\(digest.hexadecimal)  \(server.baseURL)/\(name)"
        }.joined(separator: "\n")
    }

    @Test(
        "Killed midway: finished files are not requested again, partial ones resume, all digests are right")
    func killed() async throws {
        let handler: @Sendable (OriginRequest) -> Response = { request in
            guard let content = Self.content(String(request.path.dropFirst())) else { return .status("404 Not Found") }
            let resource = Resource(content, etag: "\"\(content.length)\"")
            // The large one does not end in time.
            let isFirst = content.length == 8_000_000 && request.byteRange == nil
            return isFirst ? .slow(resource, for: request, after: 5_000_000) : .file(resource, for: request)
        }
        try await TemporaryFolder.with { folder in
            try await OriginServer.withServer(sendBufferSize: 65_536, handler: handler) { server in
                let manifest = try Self.manifest(server)
                try Files.write(Array("# models\n\n\(manifest)\n".utf8), to: folder["manifest"])
                let arguments = [folder["manifest"], folder["cache"]]
                let process = try Example.modelFetcher.start(arguments, output: folder["told"])
                try await wait(for: "most of the large model", while: process) {
                    try text(folder["told"]).contains("large: 60 %") && Self.hasSmallOnes(folder)
                }
                process.send(SIGKILL)
                #expect(await process.wait() == .killed(SIGKILL))
                #expect(!Files.exists(folder["cache/large"]), "nothing appears before it is whole")

                let second = try await Example.modelFetcher.run(arguments)
                #expect(second.status == 0, "\(second.errors)")
                #expect(second.errors.contains("large: resumed at byte "))
                #expect(
                    second.output.contains("small: already present\n")
                        && second.output.contains("medium: already present\n"))
                for name in Self.models.keys {
                    #expect(Self.content(name)?.matches(try Files.bytes(folder["cache/\(name)"])) == true, "\(name)")
                }
                let asked = server.requests.map { "\($0.path) \($0.byteRange == nil ? "whole" : "rest")" }
                #expect(asked.sorted() == ["/large rest", "/large whole", "/medium whole", "/small whole"])

                let third = try await Example.modelFetcher.run(arguments)
                #expect(third.status == 0 && third.output.contains("large: already present\n"), "\(third.output)")
                #expect(server.requests.count == asked.count, "the origin is not asked again")
            }
        }
    }

    /// Whether both files that the origin sends completely exist.
    private static func hasSmallOnes(_ folder: TemporaryFolder) -> Bool {
        ["small", "medium"].allSatisfy { Files.exists(folder["cache/\($0)"]) }
    }

    @Test("A file whose digest differs from the manifest's is not kept, and the others are unaffected")
    func wrongDigest() async throws {
        let handler: @Sendable (OriginRequest) -> Response = { request in
            guard let content = Self.content(String(request.path.dropFirst())) else { return .status("404 Not Found") }
            return .file(Resource(content, etag: "\"v1\""), for: request)
        }
        try await TemporaryFolder.with { folder in
            try await OriginServer.withServer(handler: handler) { server in
                let manifest = try Self.manifest(server, wrong: "medium")
                try Files.write(Array(manifest.utf8), to: folder["manifest"])
                let outcome = try await Example.modelFetcher.run([folder["manifest"], folder["cache"]])
                #expect(outcome.status == 1)
                #expect(outcome.errors.contains("medium: "), "\(outcome.errors)")
                let names = try Files.names(in: folder["cache"]).filter { !$0.hasPrefix(".") }
                #expect(names == ["blobs", "large", "small"])
                #expect(try Files.names(in: folder["cache/blobs"]).count == 2)
                for name in ["large", "small"] {
                    #expect(Self.content(name)?.matches(try Files.bytes(folder["cache/\(name)"])) == true, "\(name)")
                }
            }
        }
    }

    @Test("A manifest that leads out of the cache folder, or has no digest, is refused before any request")
    func manifests() async throws {
        let digest = String(repeating: "0", count: 64)
        let lines = [
            "\(digest)  https://example.org/a/%2e%2e", "\(digest) https://example.org/.partial",
            "https://example.org/a", "12 https://example.org/a",
            "\(digest) https://example.org/a\n\(digest) https://example.org/b/a",
        ]
        for line in lines {
            try await TemporaryFolder.with { folder in
                try Files.write(Array(line.utf8), to: folder["manifest"])
                let outcome = try await Example.modelFetcher.run([folder["manifest"], folder["cache"]])
                #expect(outcome.status == 64, "\(line): \(outcome.errors)")
                #expect(!Files.exists(folder["cache"]))
            }
        }
    }
}
