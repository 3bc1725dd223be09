import Crypto
import Foundation
import OriginServer
import ResumeAsyncHTTP
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// One file over several connections, from servers of all kinds.
@Suite(.timeLimit(.minutes(10)), .serialized, .eachTransport)
struct SegmentTests {
    static let length: Int64 = 12_000_000
    static let file = Resource(Content(length: length, seed: 1), etag: "\"v1\"")
    /// So slow that no connection has brought everything before others were opened.
    static let rate = 3_000_000

    static func other(_ etag: String, seed: UInt64 = 2) -> Resource {
        Resource(Content(length: length, seed: seed), etag: etag)
    }

    static func get(
        _ origin: Origin, connections: Int, _ configure: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> DownloadResult {
        try await origin.get(transport: .init(connectTimeout: 5, threads: 2)) { request in
            request.connections = connections
            request.stallTimeout = 5
            configure(&request)
        }
    }

    /// The ranges that were asked for; nil where none was.
    static func ranges(_ origin: Origin) -> [Range<Int64>?] {
        origin.server.requests.map { range(of: $0) }
    }

    static func range(of request: OriginRequest) -> Range<Int64>? {
        guard let range = request.field("Range") else { return nil }
        let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int64($0) }
        return ends[0]..<(ends.count > 1 ? ends[1] + 1 : length)
    }

    @Test("Each connection has a part of its own, under the first answer's tag", arguments: [2, 4, 11])
    func several(connections: Int) async throws {
        try await Origin.with({ .file(Self.file, for: $0, bytesPerSecond: Self.rate) }) { origin in
            let result = try await Self.get(origin, connections: connections)
            #expect(try origin.hasDelivered(Self.file))
            #expect(result.totalBytes == Self.length && result.reusedBytes == 0)
            #expect(origin.server.acceptedConnections >= connections)
            #expect(origin.server.requests.dropFirst().allSatisfy { $0.field("If-Range") == "\"v1\"" })
            let asked = Self.ranges(origin).compactMap { $0 }
            #expect(asked.count >= connections - 1)
            // The first ones divide what the first answer would have brought: each takes all that is left.
            let first = asked.prefix(connections - 1)
            for (left, right) in zip(first, first.dropFirst()) { #expect(left.lowerBound < right.lowerBound) }
            #expect(first.allSatisfy { $0.upperBound == Self.length })
            #expect(try await origin.store.totals() == Totals(entries: 0, receivedBytes: 0))
        }
    }

    @Test("The digest of the whole is compared, whichever came first", arguments: [true, false])
    func digest(isRight: Bool) async throws {
        try await Origin.with({ .file(Self.file, for: $0, bytesPerSecond: 4 * Self.rate) }) { origin in
            let resource = isRight ? Self.file : Self.other("\"v1\"")
            let digest = HTTPDigest(.sha256, bytes: Array(SHA256.hash(data: resource.bytes)))
            do {
                let result = try await Self.get(origin, connections: 4) { $0.digest = digest }
                #expect(isRight && result.digest == digest)
                #expect(try origin.hasDelivered(Self.file))
            } catch let error as DownloadError {
                #expect(!isRight && error.code == .digestMismatch)
            }
        }
    }

    @Test("Progress is that of all connections together, and only grows")
    func progress() async throws {
        try await Origin.with({ .file(Self.file, for: $0, bytesPerSecond: Self.rate) }) { origin in
            let told = Mutex<[Int64]>([])
            _ = try await origin.get { request in
                request.connections = 4
                request.rateLimit = 6_000_000
                request.stallTimeout = 5
            } onEvent: { event in
                if case .progress(let received, _) = event { told.withLock { $0.append(received) } }
            }
            let numbers = told.withLock { $0 }
            #expect(numbers == numbers.sorted())
            #expect(numbers.last == Self.length && numbers.count > 3)
            #expect(try origin.hasDelivered(Self.file))
        }
    }

    @Test("A server that answers ranges with the whole is read over one connection, and nothing comes twice")
    func wholeForRange() async throws {
        var whole = Self.file
        whole.ignoresRange = true
        let resource = whole
        try await Origin.with({ .file(resource, for: $0, bytesPerSecond: Self.rate) }) { origin in
            let result = try await Self.get(origin, connections: 4)
            #expect(try origin.hasDelivered(Self.file))
            #expect(result.fetchedBytes == Self.length)
            #expect(origin.server.requests.count == 2, "no more after the first one")
            #expect(try await origin.reasons().filter { $0 == "whole-for-segment" }.count == 1)
        }
    }

    @Test("A server that refuses further connections gets no more", arguments: ["429 Too Many Requests", "503 Busy"])
    func refused(status: String) async throws {
        try await Origin.with({ request in
            (3...4).contains(request.number)
                ? .status(status, fields: [("Retry-After", "100")])
                : .file(Self.file, for: request, bytesPerSecond: Self.rate)
        }) { origin in
            let result = try await Self.get(origin, connections: 4)
            #expect(try origin.hasDelivered(Self.file))
            #expect(result.fetchedBytes < Self.length + 1_000_000)
            #expect(try await origin.reasons().filter { $0.hasPrefix("status-") }.count == 2)
        }
    }

    @Test("A file that changes in the middle is told, begun anew, and whole", arguments: [false, true])
    func changed(ignoresIfRange: Bool) async throws {
        var changed = Self.other("\"v2\"")
        changed.ignoresIfRange = ignoresIfRange
        let new = changed
        try await Origin.with({ request in
            request.number == 1
                ? .file(Self.file, for: request, bytesPerSecond: Self.rate)
                : .file(new, for: request, bytesPerSecond: 4 * Self.rate)
        }) { origin in
            _ = try await Self.get(origin, connections: 3)
            #expect(try origin.hasDelivered(new))
            #expect(try await origin.reasons().contains("entity-tag-changed"))
            #expect(try await origin.store.events().contains { $0.kind == .restarted })
        }
    }

    @Test("Other bytes under the same tag are found where two parts meet, and never mixed")
    func sameTag() async throws {
        let other = Self.other("\"v1\"")
        try await Origin.with({ request in
            request.number == 1
                ? .file(Self.file, for: request, bytesPerSecond: Self.rate / 2)
                : .file(other, for: request, bytesPerSecond: 4 * Self.rate)
        }) { origin in
            _ = try await Self.get(origin, connections: 3)
            #expect(try origin.hasDelivered(other))
            #expect(try await origin.reasons().contains("held-bytes-differ"))
        }
    }

    /// The first answer brings its quarter, and then nothing.
    static func stallingAtBorder(_ request: OriginRequest, others: Resource = file) -> Response {
        guard request.number == 1 else { return .file(others, for: request, bytesPerSecond: rate) }
        return .file(file, for: request, cutAfter: length / 4, stall: true, bytesPerSecond: rate / 2)
    }

    @Test("Nobody waits long for bytes that are only to be compared", .timeLimit(.minutes(1)))
    func waitsForNobody() async throws {
        try await Origin.with({ Self.stallingAtBorder($0) }) { origin in
            let result = try await Self.get(origin, connections: 4) { $0.stallTimeout = 600 }
            #expect(try origin.hasDelivered(Self.file))
            // With what was on its way behind the borders.
            #expect(result.fetchedBytes < Self.length + 300_000)
            // They are asked for, with what lies before them.
            let last = try #require(Self.ranges(origin).last ?? nil)
            #expect(origin.server.requests.count == 5)
            #expect(last == Self.length / 4 - 2 * 4096..<Self.length / 4 + 4096)
        }
    }

    @Test("A border whose bytes do not come is compared all the same", .timeLimit(.minutes(1)))
    func sameTagAtBorder() async throws {
        let other = Self.other("\"v1\"")
        try await Origin.with({ Self.stallingAtBorder($0, others: other) }) { origin in
            _ = try await Self.get(origin, connections: 4) { $0.stallTimeout = 600 }
            #expect(try origin.hasDelivered(other))
            #expect(try await origin.reasons().contains("held-bytes-differ"))
        }
    }

    @Test("Other bytes under the same tag are found at each border, whichever answer has them first", arguments: 2...4)
    func sameTagFrom(number: Int) async throws {
        let other = Self.other("\"v1\"")
        try await Origin.with({ request in
            .file(request.number < number ? Self.file : other, for: request, bytesPerSecond: Self.rate)
        }) { origin in
            _ = try await Self.get(origin, connections: 4)
            #expect(try origin.hasDelivered(other))
            #expect(try await origin.reasons().contains("held-bytes-differ"))
        }
    }

    @Test("What comes again at a border counts for the digest, not what was there before", .timeLimit(.minutes(1)))
    func digestOfWhatCameAgain() async throws {
        var bytes = Self.file.bytes
        bytes[Int(Self.length / 4) - 3000] ^= 1
        let altered = Resource(Content(bytes), etag: "\"v1\"")
        let digest = HTTPDigest(.sha256, bytes: Array(SHA256.hash(data: Self.file.bytes)))
        try await Origin.with({ request in
            request.number == 5 ? .file(altered, for: request) : Self.stallingAtBorder(request)
        }) { origin in
            let result = try await Self.get(origin, connections: 4) { request in
                request.stallTimeout = 600
                request.digest = digest
            }
            #expect(try origin.hasDelivered(Self.file))
            #expect(result.digest == digest)
            #expect(try await origin.reasons().contains("digest-mismatch"))
        }
    }

    @Test("A border that was not compared is a gap for the next run", .timeLimit(.minutes(1)))
    func interruptedAtBorder() async throws {
        let other = Self.other("\"v1\"")
        try await Origin.with({ request in
            // One of the others never ends, so that the first one waits at its border.
            request.number == 3
                ? .file(other, for: request, cutAfter: 2_000_000, stall: true, bytesPerSecond: Self.rate)
                : Self.stallingAtBorder(request, others: other)
        }) { origin in
            let task = Task {
                try await Self.get(origin, connections: 4) { $0.stallTimeout = 600 }
            }
            while try await origin.store.totals().receivedBytes < 10_400_000 {
                try await Task.sleep(for: .milliseconds(20))
            }
            try await Task.sleep(for: .seconds(1))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            let first = try #require(try await origin.store.entries().first?.chunks.first)
            #expect(first.offset == 0 && first.length < Self.length / 4)
            _ = try await Self.get(origin, connections: 1)
            #expect(try origin.hasDelivered(other))
            #expect(try await origin.reasons().contains("held-bytes-differ"))
        }
    }

    /// Downloads the file's beginning and its end, and nothing between.
    private static func leaveGap(_ origin: Origin) async throws -> Range<Int64> {
        origin.server.setHandler { request in
            switch request.number {
            case 1: .file(file, for: request, cutAfter: 1_000_000, bytesPerSecond: rate)
            case 2: .file(file, for: request, bytesPerSecond: rate)
            default: .status("404 Not Found")
            }
        }
        let error = await origin.failure { request in
            request.connections = 2
            request.limits.retries = 0
        }
        #expect(error?.isResumable == true)
        let chunks = try #require(try await origin.store.entries().first).chunks
        try #require(chunks.count == 2 && chunks[1].offset + chunks[1].length == length)
        return chunks[0].length..<chunks[1].offset
    }

    /// The file with some bytes of another one.
    private static func mixed(_ range: Range<Int64>) -> Resource {
        var bytes = file.bytes
        let range = Int(range.lowerBound)..<Int(range.upperBound)
        bytes.replaceSubrange(range, with: other("\"v1\"").bytes[range])
        return Resource(Content(bytes), etag: "\"v1\"")
    }

    @Test("Bytes of another file that end right at what is held behind a gap are not believed", arguments: [1, 3])
    func cutAtGap(connections: Int) async throws {
        let other = Self.other("\"v1\"")
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            let gap = try await Self.leaveGap(origin)
            let (mixed, first) = (Self.mixed(gap), origin.server.requests.count + 1)
            origin.server.setHandler { request in
                request.number == first
                    ? .file(mixed, for: request, cutAfter: gap.upperBound - gap.lowerBound + 4096)
                    : .file(other, for: request)
            }
            _ = try await Self.get(origin, connections: connections)
            #expect(try origin.hasDelivered(other))
            #expect(try await origin.reasons().contains("held-bytes-differ"))
        }
    }

    @Test("What comes again before the end of a gap counts for the digest", arguments: [1, 3])
    func digestOfGap(connections: Int) async throws {
        let digest = HTTPDigest(.sha256, bytes: Array(SHA256.hash(data: Self.file.bytes)))
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            let gap = try await Self.leaveGap(origin)
            // So near at the end that they come again.
            let altered = Self.mixed(gap.upperBound - 3000..<gap.upperBound - 2000)
            let first = origin.server.requests.count + 1
            origin.server.setHandler { request in
                request.number == first
                    ? .file(altered, for: request, cutAfter: gap.upperBound - gap.lowerBound + 4096)
                    : .file(Self.file, for: request)
            }
            let result = try await Self.get(origin, connections: connections) { $0.digest = digest }
            #expect(try origin.hasDelivered(Self.file))
            #expect(result.digest == digest)
            #expect(try await !origin.reasons().contains("digest-mismatch"))
        }
    }

    @Test(
        "Who is cut again and again where a gap ends gives up in the end", .timeLimit(.minutes(1)), arguments: [1, 3])
    func neverCompared(connections: Int) async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            let gap = try await Self.leaveGap(origin)
            origin.server.setHandler { request in
                let range = Self.range(of: request) ?? 0..<Self.length
                // Of several the one behind is cut as well, where the next one begins.
                let end = range.lowerBound < gap.upperBound ? gap.upperBound : range.upperBound
                return .file(Self.file, for: request, cutAfter: end - range.lowerBound, bytesPerSecond: 2 * Self.rate)
            }
            let error = await origin.failure { request in
                request.connections = connections
                request.limits.retries = 3
            }
            #expect(error?.code == .unstable || error?.isResumable == true)
            #expect(origin.server.requests.count < 40)
        }
    }

    @Test(
        "Answers that end where bytes are held behind a gap lead to the whole", .timeLimit(.minutes(1)),
        arguments: [1, 3])
    func alignedAnswers(connections: Int) async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            let gap = try await Self.leaveGap(origin)
            origin.server.setHandler { request in
                guard let range = Self.range(of: request), range.lowerBound < gap.upperBound else {
                    return .file(Self.file, for: request)
                }
                // As a cache does whose blocks end there.
                let last = min(range.upperBound, gap.upperBound) - 1
                return .status(
                    "206 Partial Content",
                    fields: [
                        ("ETag", "\"v1\""), ("Content-Range", "bytes \(range.lowerBound)-\(last)/\(Self.length)"),
                    ],
                    body: Self.file.content.bytes(in: range.lowerBound..<last + 1))
            }
            let result = try await Self.get(origin, connections: connections)
            #expect(try origin.hasDelivered(Self.file))
            #expect(result.reusedBytes > 0)
            #expect(
                try await origin.reasons().contains("whole-for-range")
                    || origin.server.requests.last?.field("Range") == nil)
        }
    }

    @Test(
        "The Content-Digest of an answer that fills a gap is compared, with what is compared behind it",
        arguments: [true, false])
    func contentDigestOfGap(isRight: Bool) async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            let gap = try await Self.leaveGap(origin)
            let first = origin.server.requests.count + 1
            origin.server.setHandler { request in
                guard let range = Self.range(of: request), request.number == first else {
                    return .file(Self.file, for: request)
                }
                var body = Self.file.content.bytes(in: range)
                let digest = Data(SHA256.hash(data: body)).base64EncodedString()
                if !isRight { body[body.count / 2] ^= 1 }
                return .status(
                    "206 Partial Content",
                    fields: [
                        ("ETag", "\"v1\""), ("Content-Digest", "sha-256=:\(digest):"),
                        ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.length)"),
                    ], body: body)
            }
            _ = try await Self.get(origin, connections: 1)
            #expect(try origin.hasDelivered(Self.file))
            #expect(try await origin.reasons().contains("content-digest-mismatch") != isRight)
            #expect(origin.server.requests.count == first + (isRight ? 0 : 1))
            #expect(gap.lowerBound > 0)
        }
    }

    @Test("A body that is cut behind all that was wanted of it says nothing about its Content-Digest")
    func cutBehindGap() async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            let gap = try await Self.leaveGap(origin)
            let first = origin.server.requests.count + 1
            let digest = Data(SHA256.hash(data: Self.file.bytes)).base64EncodedString()
            var whole = Self.file
            whole.ignoresRange = true
            let resource = whole
            origin.server.setHandler { request in
                .file(resource, for: request, cutAfter: gap.upperBound + 200_000)
                    .settingField("Content-Digest", to: "sha-256=:\(digest):")
            }
            _ = try await Self.get(origin, connections: 1)
            #expect(try origin.hasDelivered(Self.file))
            #expect(try await !origin.reasons().contains("content-digest-mismatch"))
            #expect(origin.server.requests.count == first)
        }
    }

    @Test("A server that cuts answers where it likes: nothing is mixed, and it ends", arguments: [true, false])
    func blocks(cutsAll: Bool) async throws {
        let other = Self.other("\"v1\"")
        try await Origin.with({ .file(Self.file, for: $0, cutAfter: 1_000_000) }) { origin in
            _ = await origin.failure { $0.limits.retries = 0 }
            let first = origin.server.requests.count + 1
            origin.server.setHandler { request in
                guard let range = Self.range(of: request) else { return .file(Self.file, for: request) }
                let resource = request.number == first + 1 ? other : Self.file
                let block = (range.lowerBound / 4_000_000 + 1) * 4_000_000
                var request = request
                if cutsAll || request.number == first {
                    request.fields.removeAll { $0.name == "Range" }
                    let last = min(block, range.upperBound) - 1
                    request.fields.append(("Range", "bytes=\(range.lowerBound)-\(last)"))
                }
                return .file(resource, for: request, bytesPerSecond: Self.rate)
            }
            _ = try await Self.get(origin, connections: 2)
            #expect(try origin.hasDelivered(Self.file))
            #expect(try await origin.reasons().contains(cutsAll ? "segment-cut-short" : "held-bytes-differ"))
        }
    }

    @Test("A connection that stalls is replaced; what came over it stays")
    func stalls() async throws {
        try await Origin.with({ request in
            let stalls = request.number == 3
            return .file(
                Self.file, for: request, cutAfter: stalls ? 500_000 : nil, stall: stalls, bytesPerSecond: Self.rate)
        }) { origin in
            let result = try await Self.get(origin, connections: 4) { $0.stallTimeout = 0.7 }
            #expect(try origin.hasDelivered(Self.file))
            #expect(result.fetchedBytes < Self.length + 1_000_000)
            #expect(try await !origin.reasons().contains { $0 == "held-bytes-differ" })
        }
    }

    @Test("Connections that are cut at random cost no more than what is compared", arguments: 0..<6)
    func cuts(seed: Int) async throws {
        try await Origin.with({ request in
            // From 200 000 to 2 200 000 bytes.
            let cut = Int64((request.number * 7919 + seed * 104_729) % 2000) * 1000 + 200_000
            return .file(Self.file, for: request, cutAfter: cut, reset: seed == 5, bytesPerSecond: 2 * Self.rate)
        }) { origin in
            let result = try await Self.get(origin, connections: [2, 3, 4, 5, 8, 4][seed]) { $0.limits.retries = 20 }
            #expect(try origin.hasDelivered(Self.file))
            #expect(result.fetchedBytes <= Self.length + Self.length / 5)
            #expect(try await origin.store.totals() == Totals(entries: 0, receivedBytes: 0))
        }
    }

    @Test("What several connections left is finished by any other number of them", arguments: [1, 2, 7])
    func otherNumber(connections: Int) async throws {
        try await Origin.with({ request in
            request.number <= 3
                ? .file(Self.file, for: request, cutAfter: 1_000_000, bytesPerSecond: Self.rate / 3)
                : .status("404 Not Found")
        }) { origin in
            let error = await origin.failure { request in
                request.connections = 3
                request.limits.retries = 0
            }
            #expect(error?.isResumable == true)
            let entry = try #require(try await origin.store.entries().first)
            #expect(entry.chunks.count >= 2 && entry.receivedBytes >= 1_000_000)
            origin.server.setHandler { .file(Self.file, for: $0, bytesPerSecond: Self.rate) }
            let result = try await Self.get(origin, connections: connections)
            #expect(try origin.hasDelivered(Self.file))
            #expect(result.reusedBytes == entry.receivedBytes)
            #expect(result.fetchedBytes <= Self.length - entry.receivedBytes + 1_000_000)
        }
    }

    @Test("A cancelled download keeps what every connection brought")
    func cancelled() async throws {
        try await Origin.with({ .file(Self.file, for: $0, bytesPerSecond: 500_000) }) { origin in
            let task = Task { try await Self.get(origin, connections: 4) }
            var before: Int64 = 0
            while before < 2_000_000 {
                try await Task.sleep(for: .milliseconds(10))
                before = try await origin.store.entries().first?.receivedBytes ?? 0
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { _ = try await task.value }
            let entry = try #require(try await origin.store.entries().first)
            #expect(entry.chunks.count >= 3 && entry.receivedBytes >= before)
            #expect(entry.receivedBytes == entry.durableBytes)
        }
    }

    private static let ineligible: [(String, Resource)] = {
        let content = Content(length: length, seed: 1)
        var without = Resource(content, etag: "\"v1\"")
        without.acceptRanges = "none"
        var chunked = Resource(content, etag: "\"v1\"")
        chunked.framing = .chunked(size: 65_536)
        return [
            ("weak", Resource(content, etag: "W/\"v1\"")), ("none", Resource(content)),
            ("date", Resource(content, lastModified: Resource.defaultLastModified)), ("no ranges", without),
            ("no length", chunked), ("small", Resource(Content(length: 2_000_000, seed: 1), etag: "\"v1\"")),
        ]
    }()

    @Test("Without a strong tag, a length, ranges, or enough to divide, there is one connection", arguments: 0..<6)
    func one(index: Int) async throws {
        let (name, resource) = Self.ineligible[index]
        try await Origin.with({ .file(resource, for: $0, bytesPerSecond: 4 * Self.rate) }) { origin in
            _ = try await Self.get(origin, connections: 4)
            #expect(try origin.hasDelivered(resource), "\(name)")
            #expect(origin.server.requests.count == 1, "\(name)")
        }
    }
}
