import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Files that the server names.
@Suite(.timeLimit(.minutes(5)), .eachTransport)
struct ServerFilenameTests {
    static let length: Int64 = 300_000

    static func resource(named name: String?) -> Resource {
        var resource = Resource(Content(length: length, seed: 3), etag: "\"n\"")
        if let name { resource.extraFields = [("Content-Disposition", "attachment; filename=\"\(name)\"")] }
        return resource
    }

    @Test("The server's name counts, in the destination's folder; without one its own name does")
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
            // Without being asked it names nothing.
            #expect(try await origin.get().path == origin.folder["out"])
        }
    }

    @Test("A file that is there is not replaced, and nothing of the body is fetched for it")
    func isThere() async throws {
        try await Origin.with({ .file(Self.resource(named: "mine.txt"), for: $0) }) { origin in
            try Files.write(Array("mine".utf8), to: origin.folder["mine.txt"])
            await #expect {
                _ = try await origin.get { $0.usesServerFilename = true }
            } throws: { error in
                (error as? StoreError)?.code == .destination && "\(error)".contains("mine.txt")
            }
            #expect(try Files.bytes(origin.folder["mine.txt"]) == Array("mine".utf8))
            #expect(!Files.exists(origin.folder["out"]))
            #expect(try await origin.store.totals().receivedBytes == 0)
        }
    }

    @Test("A name that was told once stays, where later answers tell none")
    func interrupted() async throws {
        try await Origin.with({ request in
            let isFirst = request.number == 1
            return .file(
                Self.resource(named: isFirst ? "image.iso" : nil), for: request, cutAfter: isFirst ? 100_000 : nil)
        }) { origin in
            _ = await origin.failure { request in
                request.usesServerFilename = true
                request.limits.retries = 0
            }
            #expect(try await origin.store.entries().first?.destination == origin.folder["image.iso"])
            let result = try await origin.get { $0.usesServerFilename = true }
            #expect(result.path == origin.folder["image.iso"] && result.reusedBytes == 100_000)
            #expect(!Files.exists(origin.folder["out"]))
        }
    }
}
