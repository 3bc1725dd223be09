import Foundation
import HTTPTypes
import OriginServer
import ResumeCurl
@testable import ResumeDownload
@testable import ResumeHTTP
@testable import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Downloads that begin with the partial file of another program.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct AdoptionTests {
    private static let length: Int64 = 4_000_000
    private static let left: Int64 = 3_000_000
    private static let held: Int64 = 3_000_000 - 65_536
    private static let file = Resource(Content(length: length, seed: 7), etag: "\"v1\"")
    private static let other = Resource(Content(length: length, seed: 8), etag: "\"v2\"")

    /// Runs a test with the first bytes of a file, as curl or wget leave it.
    private static func leaving(
        _ resource: Resource = file, serving handler: @escaping Origin.Handler, _ body: (Origin) async throws -> Void
    ) async throws {
        try await Origin.with(handler) { origin in
            let bytes = resource.content.bytes(in: 0..<left)
            try Files.write(bytes, to: origin.folder["partial"])
            try await body(origin)
            #expect(try Files.bytes(origin.folder["partial"]) == bytes, "the file is never changed")
        }
    }

    @discardableResult
    private static func get(
        _ origin: Origin, _ expected: Resource? = nil, reusing reused: Int64? = nil, isProved: Bool? = nil,
        at location: SourceLocation = #_sourceLocation, configure: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> DownloadResult {
        try await origin.get(
            expected, reusing: reused, isProved: isProved,
            { request in
                request.adopts = origin.folder["partial"]
                request.sampleSeed = 3
                configure(&request)
            }, at: location)
    }

    @Test("J5: only samples and the rest are fetched, and the result is not proved")
    func unchanged() async throws {
        try await Self.leaving(serving: { .file(Self.file, for: $0) }) { origin in
            let result = try await Self.get(origin, Self.file, reusing: Self.held, isProved: false)
            #expect(result.digest == nil)
            #expect((128...140).contains(try #require(result.agreedSamples)))
            #expect(result.fetchedBytes < Self.length - Self.held + 700_000)
            // The rest was requested with the validator that the samples had.
            #expect(origin.server.requests.last?.field("If-Range") == "\"v1\"")
            #expect(origin.server.requests.last?.field("Range") == "bytes=\(Self.held - 4096)-")
            let reasons = try await origin.store.events().map(\.reason.code.rawValue)
            #expect(reasons.contains("adopted") && reasons.contains("samples-agree"))
        }
    }

    @Test("J5: a changed file is downloaded from its start, and is one version")
    func changed() async throws {
        try await Self.leaving(serving: { .file(Self.other, for: $0) }) { origin in
            let result = try await Self.get(origin, Self.other, isProved: true)
            #expect(result.agreedSamples == nil)
            #expect(try await origin.reasons().contains("spot-check-differs"))
        }
    }

    @Test("J5: a run of 1 % of wrong bytes at a random place is found each time")
    func run() async throws {
        var random = SplitMix64(seed: 11)
        for _ in 0..<25 {
            var bytes = Self.file.content.bytes(in: 0..<Self.length)
            let count = Int(Self.held) / 100
            let start = Int.random(in: 0...Int(Self.held) - count, using: &random)
            for index in start..<start + count { bytes[index] ^= 0x55 }
            let server = Resource(Content(bytes), etag: "\"v3\"")
            try await Self.leaving(serving: { .file(server, for: $0) }) { origin in
                let result = try await Self.get(origin, server) { $0.sampleSeed = nil }
                #expect(result.isProved && result.agreedSamples == nil, "at \(start)")
            }
        }
    }

    @Test("J5: with a digest the result is proved, and a wrong beginning is fetched again")
    func digest() async throws {
        let digest = HTTPDigest(.sha256, of: Self.file.bytes)
        try await Self.leaving(serving: { .file(Self.file, for: $0) }) { origin in
            let result = try await Self.get(origin, Self.file, isProved: true) { $0.digest = digest }
            #expect(result.digest == digest && result.agreedSamples != nil)
        }
        // One wrong byte that no sample finds.
        let place = SampleGrid(over: [0..<Self.held], seed: 3).places[50].upperBound + 5
        var bytes = Self.file.content.bytes(in: 0..<Self.length)
        bytes[Int(place)] ^= 1
        let wrong = Resource(Content(bytes), etag: "\"v1\"")
        try await Self.leaving(wrong, serving: { .file(Self.file, for: $0) }) { origin in
            let result = try await Self.get(origin, Self.file, isProved: true) { $0.digest = digest }
            #expect(result.agreedSamples == nil)
        }
    }

    @Test("J5: a file that is complete and has the digest is delivered without a request")
    func complete() async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            try Files.write(Self.file.bytes, to: origin.folder["partial"])
            let result = try await Self.get(origin) { $0.digest = HTTPDigest(.sha256, of: Self.file.bytes) }
            #expect(result.isProved && result.agreedSamples == nil && result.fetchedBytes == 0)
            #expect(origin.server.requests.isEmpty)
            #expect(try origin.hasDelivered(Self.file))
        }
    }

    @Test("J5: after samples were compared, a cut is continued with the validator alone")
    func cut() async throws {
        try await Self.leaving(serving: { request in
            request.field("If-Range") == nil
                ? .file(Self.file, for: request) : .file(Self.file, for: request, cutAfter: 200_000)
        }) { origin in
            _ = await origin.failure { request in
                request.adopts = origin.folder["partial"]
                request.retryPolicy.retries = 0
            }
            let count = origin.server.requests.count
            origin.server.setHandler { .file(Self.file, for: $0) }
            let result = try await Self.get(origin, Self.file, isProved: false)
            #expect(origin.requests(after: count).count == 1)
            #expect(result.agreedSamples != nil && result.reusedBytes > Self.held)
        }
    }

    @Test("J5: servers without validators, without ranges, and with another length")
    func servers() async throws {
        let plain = Resource(Self.file.content)
        try await Self.leaving(serving: { .file(plain, for: $0) }) { origin in
            let result = try await Self.get(origin, Self.file, isProved: false)
            #expect(result.agreedSamples != nil)
        }
        try await Self.leaving(serving: { _ in .file(Self.file, for: .whole) }) { origin in
            let result = try await Self.get(origin, Self.file, isProved: true)
            #expect(result.agreedSamples == nil)
        }
        let short = Resource(Content(Self.file.content.bytes(in: 0..<1_000_000)), etag: "\"s\"")
        try await Self.leaving(serving: { .file(short, for: $0) }) { origin async throws in
            #expect(try await Self.get(origin).isProved)
            #expect(try origin.hasDelivered(short))
        }
    }

    @Test("J5: the pieces of aria2 are kept, and what is missing between them is fetched")
    func pieces() async throws {
        let piece = 1 << 20
        let resource = Resource(Content(length: Int64(6 * piece), seed: 2), etag: "\"p\"")
        try await Origin.with({ .file(resource, for: $0) }) { origin in
            var bytes = resource.bytes
            for index in piece..<2 * piece { bytes[index] = 0 }
            for index in 4 * piece..<bytes.count { bytes[index] = 0 }
            try Files.write(bytes, to: origin.folder["partial"])
            let control: [UInt8] =
                [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x60, 0, 0]
                + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0b1011_0000, 0, 0, 0, 0]
            try Files.write(control, to: origin.folder["partial.aria2"])
            let result = try await Self.get(origin, resource, isProved: false)
            #expect(result.agreedSamples != nil)
            #expect(result.fetchedBytes < Int64(3 * piece) + 800_000)
        }
    }

    @Test("J5: adopted now, downloaded later; what the server does not answer is compared later")
    func later() async throws {
        try await Self.leaving(serving: { .file(Self.file, for: $0) }) { origin in
            let transport = CurlTransport(.init(connectTimeout: Engine.patience, threads: 1))
            let downloader = Downloader(store: origin.store, transport: transport)
            var request = DownloadRequest(try DownloadURL(origin.url), to: origin.folder["out"])
            request.adopts = origin.folder["partial"]
            request.retryPolicy.retries = 0
            request.sampleSeed = 5
            let adoption = try await downloader.adopt(request)
            #expect(adoption.heldBytes == Self.held && adoption.totalBytes == Self.length)
            guard case .samples(let count) = adoption.proof, count >= 128 else {
                Issue.record("\(adoption)")
                return
            }
            #expect(try await downloader.compare(request) == .agree(samples: count))
            origin.server.setHandler { .file(Self.other, for: $0) }
            guard case .differ = try await downloader.compare(request) else {
                Issue.record("changed")
                return
            }
            #expect(try await origin.store.entries().first?.receivedBytes == Self.held, "comparing changes nothing")
            let error = await #expect(throws: StoreError.self) { try await downloader.adopt(request) }
            #expect(error?.code == .holdsMore)
            let key = try #require(try await origin.store.entries().first?.key)
            _ = try await origin.store.purge(key)

            guard case .differs = try await downloader.adopt(request).proof else {
                Issue.record("differs")
                return
            }
            #expect(try await origin.store.entries().isEmpty)

            origin.server.setHandler { _ in .status("503 Service Unavailable") }
            guard case .pending = try await downloader.adopt(request).proof else {
                Issue.record("pending")
                return
            }
            #expect(try await origin.store.entries().first?.agreedSamples == 0)
            origin.server.setHandler { .file(Self.file, for: $0) }
            request.adopts = nil
            let result = try await downloader.download(request)
            #expect(!result.isProved && result.agreedSamples != nil && result.reusedBytes == Self.held)
            #expect(try origin.hasDelivered(Self.file))
            await transport.shutdown()
        }
    }
}
