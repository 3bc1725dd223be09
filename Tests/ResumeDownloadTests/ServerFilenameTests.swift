import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Files named by the server.
@Suite(.timeLimit(.minutes(5)), .eachTransport)
struct ServerFilenameTests {
    static let length: Int64 = 1_500_000

    static func resource(named name: String?, etag: String = "\"n\"") -> Resource {
        var resource = Resource(Content(length: length, seed: 3), etag: etag)
        if let name { resource.extraFields = [("Content-Disposition", "attachment; filename=\"\(name)\"")] }
        return resource
    }

    private func expectExists(_ body: () async throws -> Void) async {
        await #expect(throws: StoreError(.destinationExists, "")) { try await body() }
    }

    @Test("The server's name is used, in the destination's folder; without one, the destination's name is")
    func named() async throws {
        try await Origin.with({ request in
            .file(Self.resource(named: request.number == 1 ? "../an image.iso" : nil), for: request)
        }) { origin in
            let first = try await origin.get { $0.usesServerFilename = true }
            #expect(first.path == origin.folder["an image.iso"])
            #expect(try Files.bytes(first.path) == Self.resource(named: nil).bytes)
            #expect(!Files.exists(origin.folder["out"]))
            let second = try await origin.get { $0.usesServerFilename = true }
            #expect(second.path == origin.folder["out"])
            // By default the server names nothing, and a file is replaced.
            #expect(try await origin.get().path == origin.folder["out"])
            // With the option set, the destination's own name replaces nothing either.
            await expectExists { _ = try await origin.get { $0.usesServerFilename = true } }
        }
    }

    @Test("An existing file is not replaced, and no download is begun for it")
    func isThere() async throws {
        try await Origin.with({ .file(Self.resource(named: "mine.txt"), for: $0) }) { origin in
            try Files.write(Array("mine".utf8), to: origin.folder["mine.txt"])
            await expectExists { _ = try await origin.get { $0.usesServerFilename = true } }
            #expect(try Files.bytes(origin.folder["mine.txt"]) == Array("mine".utf8))
            #expect(!Files.exists(origin.folder["out"]))
            #expect(try await origin.store.totals().receivedBytes == 0)
            #expect(try Files.names(in: origin.folder["store/blobs"]).isEmpty)
        }
    }

    @Test("After a redirect, the last URL names the file if the server does not", arguments: [nil, "named"])
    func redirected(name: String?) async throws {
        try await Origin.with({ request in
            if request.path == "/other%20name.iso" { return .file(Self.resource(named: name), for: request) }
            return .status("302 Found", fields: [("Location", "/other%20name.iso")])
        }) { origin in
            let result = try await origin.get { $0.usesServerFilename = true }
            #expect(result.path == origin.folder[name ?? "other name.iso"])
        }
    }

    @Test("A name sent once stays, in any folder, if later answers send none")
    func interrupted() async throws {
        try await Origin.with({ request in
            let isFirst = request.number == 1
            return .file(
                Self.resource(named: isFirst ? "image.iso" : nil), for: request, cutAfter: isFirst ? 700_000 : nil)
        }) { origin in
            _ = await origin.failure { request in
                request.usesServerFilename = true
                request.retryPolicy.retries = 0
            }
            #expect(try await origin.store.entries().first?.destination == origin.folder["image.iso"])
            try Files.write([1], to: origin.folder["image.iso"])
            await expectExists { _ = try await origin.get { $0.usesServerFilename = true } }
            #expect(origin.server.requests.count == 1, "known without asking")
            try await Shell.run("mkdir", origin.folder["other"])
            let result = try await origin.get { request in
                request.usesServerFilename = true
                request.destination = origin.folder["other/out"]
            }
            #expect(result.path == origin.folder["other/image.iso"] && result.reusedBytes == 700_000)
            #expect(try Files.names(in: origin.folder["other"]) == ["image.iso"])
        }
    }

    @Test("Stored bytes are not dropped for a new representation whose name is taken")
    func takenByTheNext() async throws {
        try await Origin.with({ request in
            let isFirst = request.number == 1
            return .file(
                Self.resource(named: isFirst ? "one" : "two", etag: isFirst ? "\"n\"" : "\"m\""), for: request,
                cutAfter: isFirst ? 700_000 : nil)
        }) { origin in
            _ = await origin.failure { request in
                request.usesServerFilename = true
                request.retryPolicy.retries = 0
            }
            try Files.write([1], to: origin.folder["two"])
            await expectExists { _ = try await origin.get { $0.usesServerFilename = true } }
            #expect(try await origin.store.entries().first?.receivedBytes == 700_000)
            #expect(try await origin.store.entries().first?.representation?.suggestedFilename == "one")
        }
    }
}
