import Foundation
import HTTPTypes
import OriginServer
@testable import ResumeDownload
@testable import ResumeHTTP
import ResumeStore
import Scenarios
import Synchronization
import TestSupport
import Testing

/// Files without a validator: what is compared before they are continued, and how the result is described.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct SpotCheckTests {
    private static let length: Int64 = 2_000_000
    private static let held: Int64 = 1_200_000
    private static let old = Resource(Content(length: length, seed: 1))
    private static let block = ResumePolicy.unvalidatedOverlap

    /// The old file with other bytes in some ranges.
    private static func changed(_ ranges: [Range<Int64>]) -> Resource {
        var bytes = old.bytes
        for range in ranges { for index in range { bytes[Int(index)] ^= 0xFF } }
        return Resource(Content(bytes))
    }

    /// Runs a test with the first bytes of a resource in the store.
    private static func holding(_ resource: Resource, _ body: (Origin) async throws -> Void) async throws {
        try await Origin.with({ .file(resource, for: $0) }) { origin in
            let transfer = try await origin.store.open(try DownloadURL(origin.url), headerFields: [:])
            var head = HTTPResponse(status: .ok)
            head.headerFields[.contentLength] = "\(length)"
            head.headerFields[.contentType] = resource.contentType
            head.headerFields[.date] = resource.date
            head.headerFields[.eTag] = resource.etag
            head.headerFields[.lastModified] = resource.lastModified
            _ = try await transfer.receive(head, to: await transfer.plan())
            try await transfer.write(resource.content.bytes(in: 0..<held))
            _ = try await transfer.endBody(.cut)
            try await transfer.close()
            try await body(origin)
        }
    }

    @discardableResult
    private static func get(
        _ origin: Origin, _ expected: Resource? = nil, reusing reused: Int64? = nil, isProved: Bool? = nil,
        at location: SourceLocation = #_sourceLocation, configure: (inout DownloadRequest) -> Void = { _ in },
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> DownloadResult {
        try await origin.get(
            expected, reusing: reused, isProved: isProved,
            { request in
                request.allowsUnvalidated = true
                request.sampleSeed = 1
                configure(&request)
            }, onEvent: onEvent, at: location)
    }

    @Test("A21, F2: a file that differs only in its first and last 64 KiB restarts, and is one version")
    func ends() async throws {
        let new = Self.changed([0..<Self.block, Self.length - Self.block..<Self.length])
        try await Self.holding(Self.old) { origin in
            origin.server.setHandler { .file(new, for: $0) }
            try await Self.get(origin, new, reusing: 0, isProved: true)
            #expect(try await origin.reasons().contains("spot-check-differs"))
        }
    }

    @Test("F2: a changed byte in one of the samples is found")
    func randomPlace() async throws {
        try await Self.holding(Self.old) { origin in
            // The requests for an unchanged file reveal the offsets.
            origin.server.setHandler { .file(Self.old, for: $0) }
            let result = try await Self.get(origin, Self.old, reusing: Self.held, isProved: false)
            let ranges = origin.server.requests.compactMap { SegmentTests.range(of: $0) }
            #expect(ranges.count == origin.server.requests.count)
            #expect((120...136).contains(ranges.count) && ranges[0] == 0..<SampleGrid.blockLength)
            #expect(ranges.last?.lowerBound == Self.held - Self.block)
            #expect(origin.server.requests.allSatisfy { $0.field("If-Range") == nil })
            let compared = ranges.dropLast().reduce(Int64(0)) { $0 + $1.upperBound - $1.lowerBound }
            #expect(result.fetchedBytes == compared + Self.block + Self.length - Self.held)

            for range in [ranges[20], ranges[64], ranges[120]] {
                let new = Self.changed([range.upperBound - 1..<range.upperBound])
                try await Self.holding(Self.old) { origin in
                    origin.server.setHandler { .file(new, for: $0) }
                    try await Self.get(origin, new)
                    #expect(try await origin.reasons().contains("spot-check-differs"))
                }
            }
        }
    }

    @Test("F2: the result, events and log say that it is unverified; without the flag nothing changes")
    func proof() async throws {
        for allows in [true, false] {
            try await Self.holding(Self.old) { origin in
                origin.server.setHandler { .file(Self.old, for: $0) }
                let finished = Finished()
                let result = try await Self.get(
                    origin, configure: { $0.allowsUnvalidated = allows }, onEvent: finished.note)
                #expect(result.isProved == !allows)
                #expect(finished.result?.isProved == !allows)
                let delivered = try await origin.store.events().last { $0.kind == .delivered }
                #expect(delivered?.reason.text.contains("no validator or digest proves") == allows)
                if !allows { #expect(origin.server.requests.map { $0.field("Range") } == [nil]) }
            }
        }
    }

    @Test("F2: with a validator or a digest the result is verified, and nothing more is requested")
    func proved() async throws {
        let tagged = Resource(Self.old.content, etag: "\"a\"")
        let dated = Resource(Self.old.content, lastModified: Resource.defaultLastModified)
        for (resource, digest) in [
            (tagged, nil), (dated, nil), (Self.old, HTTPDigest(.sha256, of: Self.old.bytes)),
        ] as [(Resource, HTTPDigest?)] {
            try await Self.holding(resource) { origin in
                origin.server.setHandler { .file(resource, for: $0) }
                try await Self.get(origin, Self.old, reusing: Self.held, isProved: true) { $0.digest = digest }
                #expect(origin.server.requests.count == 1)
            }
        }
    }

    @Test("F2: complete but undelivered: the next run, without a request, knows that it is unverified")
    func undelivered() async throws {
        try await Self.holding(Self.old) { origin in
            origin.server.setHandler { .file(Self.old, for: $0) }
            let folder = origin.folder["gone"]
            try await Shell.run("mkdir", folder)
            await #expect(throws: StoreError.self) {
                try await Self.get(origin, configure: { $0.destination = "\(folder)/out" }) { event in
                    if case .resumed = event { rmdir(folder) }
                }
            }
            let before = origin.server.requests.count
            let result = try await Self.get(origin)
            #expect(!result.isProved && result.reusedBytes == Self.length)
            #expect(origin.server.requests.count == before)
        }
    }

    @Test(
        "F2: a spot check that returns other bytes restarts",
        arguments: ["200", "416", "short", "other", "tag"])
    func unanswered(answer: String) async throws { try await Self.restarts(after: answer) }

    @Test(
        "F2: a spot check that returns a coded part restarts",
        .curlOnly("FoundationNetworking decodes, and ends a body that is not what its coding says"))
    func coded() async throws { try await Self.restarts(after: "gzip") }

    private static func restarts(after answer: String) async throws {
        try await Self.holding(Self.old) { origin in
            origin.server.setHandler { request in
                guard let range = request.field("Range"), range.hasPrefix("bytes=0-") else {
                    return .file(Self.old, for: request)
                }
                switch answer {
                case "200": return .file(Self.old, for: .whole)
                case "416": return .status("416 Range Not Satisfiable")
                case "short": return .part(of: Self.old, from: 0, to: 1000)
                case "other": return .part(of: Self.old, from: 1, to: Self.block)
                case "gzip": return .part(of: Self.old, from: 0, to: Self.block, [("Content-Encoding", "gzip")])
                default: return .part(of: Self.old, from: 0, to: Self.block, etag: "\"other\"")
                }
            }
            try await Self.get(origin, Self.old, reusing: 0, isProved: true)
            #expect(origin.server.requests.last?.field("Range") == nil)
        }
    }

    @Test("F2: a temporary failure is retried, and stored bytes are kept", arguments: ["503", "cut", "401", "404"])
    func forNow(answer: String) async throws {
        try await Self.holding(Self.old) { origin in
            origin.server.setHandler { request in
                guard request.number == 2 else { return .file(Self.old, for: request) }
                switch answer {
                case "503": return .status("503 Service Unavailable")
                case "401": return .status("401 Unauthorized")
                case "404": return .status("404 Not Found")
                default: return .file(Self.old, for: request, cutAfter: 1000)
                }
            }
            let result = try await Self.get(origin) { request in request.refresh = { _ in RefreshedRequest() } }
            #expect(result.reusedBytes == Self.held)
            #expect(try origin.hasDelivered(Self.old))
        }
    }
}

/// The result that an event reported.
private final class Finished: Sendable {
    private let told = Mutex<DownloadResult?>(nil)
    var result: DownloadResult? { told.withLock { $0 } }

    @Sendable func note(_ event: DownloadEvent) {
        if case .finished(let result) = event { told.withLock { $0 = result } }
    }
}
