import Foundation
import OriginServer
import ResumeCurl
@testable import ResumeDownload
import ResumeHTTP
@testable import ResumeStore
import Synchronization
import TestSupport
import Testing

/// One file over several connections, from servers of all kinds.
@Suite(.timeLimit(.minutes(10)), .serialized, .eachTransport)
struct SegmentTests {
    static let length: Int64 = 12_000_000
    static let file = Resource(Content(length: length, seed: 1), etag: "\"v1\"")
    /// The most bytes that one read brings, which may exceed the wanted end of a body by as much.
    static let mostSurplus: Int64 = 262_144
    /// How much of each stream arrives in ``evenly(_:_:)`` before it waits for the others: the rest is too little to be
    /// divided.
    static let evenLength: Int64 = 1_500_000

    static func other(_ etag: String, seed: UInt64 = 2) -> Resource {
        Resource(Content(length: length, seed: seed), etag: etag)
    }

    /// Downloads with several connections.
    ///
    /// Without `isTimed`, the clock that compares them does not advance.
    @discardableResult
    static func get(
        _ origin: Origin, _ expected: Resource? = nil, reusing reused: Int64? = nil, connections: Int,
        isTimed: Bool = false, at location: SourceLocation = #_sourceLocation,
        configure: (inout DownloadRequest) -> Void = { _ in },
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> DownloadResult {
        let start = ContinuousClock.now
        return try await origin.get(
            expected, reusing: reused, transport: .init(connectTimeout: Engine.patience, threads: 2),
            { request in
                request.connections = connections
                if !isTimed { request.clock = { start } }
                configure(&request)
            }, onEvent: onEvent, at: location)
    }

    /// The maximum fetched for some missing bytes: each byte once, and for each request the overlap on both sides and
    /// what one read brings beyond its end.
    static func mostFetched(of missing: Int64, _ origin: Origin) -> Int64 {
        missing + Int64(origin.server.requests.count) * (2 * 4096 + mostSurplus)
    }

    /// Runs a body with four streams that begin together, each of which pauses at ``evenLength`` until all have reached
    /// it.
    static func evenly(
        _ handler: @escaping Origin.Handler, _ body: (Origin) async throws -> Void
    ) async throws {
        let isEven = Flag()
        let held = together(4, handler)
        try await Origin.with({ held($0).holding(after: evenLength) { isEven.isSet } }) { origin in
            try await isEven.set(once: { try await origin.store.totals().receivedBytes == 4 * evenLength }) {
                try await body(origin)
            }
        }
    }

    /// The requested ranges; nil for requests without one.
    static func ranges(_ origin: Origin) -> [Range<Int64>?] {
        origin.server.requests.map { range(of: $0) }
    }

    static func range(of request: OriginRequest) -> Range<Int64>? {
        guard let range = request.field("Range") else { return nil }
        let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int64($0) }
        return ends[0]..<(ends.count > 1 ? ends[1] + 1 : length)
    }

    @Test("Each connection has a separate part, with the first answer's tag", arguments: [2, 4, 11])
    func several(connections: Int) async throws {
        try await Origin.with(together(Int64(connections)) { .file(Self.file, for: $0) }) { origin in
            let result = try await Self.get(origin, Self.file, reusing: 0, connections: connections)
            #expect(result.totalBytes == Self.length)
            #expect(origin.server.acceptedConnections >= connections)
            #expect(origin.server.requests.dropFirst().allSatisfy { $0.field("If-Range") == "\"v1\"" })
            let asked = Self.ranges(origin).compactMap { $0 }
            #expect(asked.count >= connections - 1)
            // The first ones divide what the first answer would have brought: each takes all that is left.
            let first = asked.prefix(connections - 1)
            let borders = (1..<connections).map { Self.length / Int64(connections) * Int64($0) }
            #expect(first.map(\.lowerBound) == borders)
            #expect(first.allSatisfy { $0.upperBound == Self.length })
            #expect(try await origin.store.totals() == Totals(entries: 0, receivedBytes: 0))
        }
    }

    @Test("The digest of the whole is compared, in whatever order the parts arrive", arguments: [true, false])
    func digest(isRight: Bool) async throws {
        try await Origin.with(together(4) { .file(Self.file, for: $0) }) { origin in
            let resource = isRight ? Self.file : Self.other("\"v1\"")
            let digest = HTTPDigest(.sha256, of: resource.bytes)
            do {
                let result = try await Self.get(origin, Self.file, connections: 4) { $0.digest = digest }
                #expect(isRight && result.digest == digest)
            } catch let error as DownloadError {
                #expect(!isRight && error.code == .digestMismatch)
            }
            #expect(Files.exists(origin.folder["out"]) == isRight)
            #expect(origin.server.requests.count >= 4)
        }
    }

    @Test("Progress is that of all connections together, and only grows")
    func progress() async throws {
        let told = Mutex<[Int64]>([])
        let all = Maximum()
        // Each stream brings a part and pauses until the sum of the parts has been reported.
        let part: Int64 = 500_000
        let handler = together(4) { .file(Self.file, for: $0) }
        try await Origin.with({ handler($0).holding(after: part) { all.value >= 4 * part } }) { origin in
            let note: @Sendable (DownloadEvent) -> Void = { event in
                all.note(event)
                if case .progress(let received, _) = event { told.withLock { $0.append(received) } }
            }
            try await Self.get(origin, connections: 4, onEvent: note)
            let numbers = told.withLock { $0 }
            #expect(numbers == numbers.sorted())
            #expect(numbers.contains(4 * part))
            #expect(numbers.last == Self.length)
            #expect(try origin.hasDelivered(Self.file))
        }
    }

    @Test("A server that answers ranges with the whole file is read over one connection, and nothing twice")
    func wholeForRange() async throws {
        var whole = Self.file
        whole.ignoresRange = true
        let resource = whole
        try await Origin.with(together(2) { .file(resource, for: $0) }) { origin in
            let result = try await Self.get(origin, Self.file, connections: 4)
            #expect(result.fetchedBytes == Self.length)
            #expect(origin.server.requests.count == 2, "no more after the first one")
            #expect(try await origin.reasons().filter { $0 == "whole-for-segment" }.count == 1)
        }
    }

    @Test("A server that refuses further connections gets no more", arguments: ["429 Too Many Requests", "503 Busy"])
    func refused(status: String) async throws {
        let (isRefused, last) = (Flag(), Maximum())
        try await Origin.with({ request in
            last.raise(to: Int64(request.number))
            let response = Response.file(Self.file, for: request)
            return switch request.number {
            // The first one ends while the second one has enough left to be divided, which is refused as well.
            case 1: response.holding { isRefused.isSet }
            case 2: response.holding { last.value >= 4 }
            case 3, 4: .status(status)
            default: response
            }
        }) { origin in
            let refusals = { @Sendable in try await origin.reasons().filter { $0.hasPrefix("status-") }.count }
            try await isRefused.set(once: { try await refusals() == 1 }) {
                let result = try await Self.get(origin, Self.file, connections: 4)
                #expect(result.fetchedBytes <= Self.mostFetched(of: Self.length, origin))
            }
            #expect(try await refusals() == 2)
            // The fifth one compares the boundary of the first one, after which nothing was stored when it ended.
            let border = Self.length / 4 - 2 * 4096..<Self.length / 4 + 4096
            #expect(Self.ranges(origin).dropFirst(4) == [border])
        }
    }

    @Test("A wait that a further connection is told holds for the origin", arguments: ["429 Too Many", "503 Busy"])
    func told(status: String) async throws {
        let (isRefused, paces) = (Flag(), OriginPaces())
        try await Origin.with({ request in
            switch request.number {
            case 1, 2: .file(Self.file, for: request).holding { isRefused.isSet }
            case 3: .status(status, fields: [("Retry-After", "1")])
            default: .file(Self.file, for: request)
            }
        }) { origin in
            let refusals = { @Sendable in try await origin.reasons().filter { $0.hasPrefix("status-") }.count }
            try await isRefused.set(once: { try await refusals() == 1 }) {
                try await Self.get(origin, connections: 4) {
                    $0.origins = paces
                    $0.retryPolicy.time = .seconds(900)
                }
            }
            #expect(try origin.hasDelivered(Self.file))
            let authority = try DownloadURL(origin.server.baseURL).origin
            #expect(!paces.with(authority) { $0.mayBegin(at: .zero, patience: .seconds(1_000_000)) })
            // None of them splits what is left before the end of the wait.
            #expect(try await refusals() == 1)
        }
    }

    @Test("A file that changes in mid-download is reported, restarted, and whole", arguments: [false, true])
    func changed(ignoresIfRange: Bool) async throws {
        var changed = Self.other("\"v2\"")
        changed.ignoresIfRange = ignoresIfRange
        let new = changed
        let isHeld = Flag()
        try await Origin.with({ request in
            request.number == 1
                ? .file(Self.file, for: request, cutAfter: 1_000_000, stall: true)
                : .file(new, for: request).delayed { isHeld.isSet }
        }) { origin in
            try await isHeld.set(once: { try await origin.store.totals().receivedBytes == 1_000_000 }) {
                try await Self.get(origin, connections: 3)
            }
            #expect(try origin.hasDelivered(new))
            #expect(try await origin.reasons().contains("entity-tag-changed"))
            #expect(try await origin.store.events().contains { $0.kind == .restarted })
        }
    }

    @Test("Other bytes with the same tag are found where two parts meet, and never mixed")
    func sameTag() async throws {
        let other = Self.other("\"v1\"")
        try await Origin.with(together(3) { .file($0.number == 1 ? Self.file : other, for: $0) }) { origin in
            try await Self.get(origin, other, connections: 3)
            #expect(try await origin.reasons().contains("held-bytes-differ"))
        }
    }

    /// The first answer brings its quarter, and then nothing.
    static func stallingAtBorder(_ request: OriginRequest, others: Resource = file) -> Response {
        guard request.number == 1 else { return .file(others, for: request) }
        return .file(file, for: request, cutAfter: length / 4, stall: true)
    }

    @Test("Bytes that are only compared are not waited for until the stall timeout")
    func waitsForNobody() async throws {
        try await Self.evenly({ Self.stallingAtBorder($0) }) { origin in
            let result = try await Self.get(origin, Self.file, connections: 4)
            // Including what was in transit past the boundaries.
            #expect(result.fetchedBytes <= Self.mostFetched(of: Self.length, origin))
            // They are requested, with what precedes them.
            let last = try #require(Self.ranges(origin).last ?? nil)
            #expect(origin.server.requests.count == 5)
            #expect(last == Self.length / 4 - 2 * 4096..<Self.length / 4 + 4096)
        }
    }

    @Test("A boundary whose bytes do not arrive is still compared")
    func sameTagAtBorder() async throws {
        let other = Self.other("\"v1\"")
        try await Self.evenly({ Self.stallingAtBorder($0, others: other) }) { origin in
            try await Self.get(origin, other, connections: 4)
            #expect(try await origin.reasons().contains("held-bytes-differ"))
        }
    }

    @Test("Other bytes with the same tag are found at each boundary, whichever answer has them first", arguments: 2...4)
    func sameTagFrom(number: Int) async throws {
        let other = Self.other("\"v1\"")
        try await Origin.with(together(4) { .file($0.number < number ? Self.file : other, for: $0) }) { origin in
            try await Self.get(origin, other, connections: 4)
            #expect(try await origin.reasons().contains("held-bytes-differ"))
        }
    }

    @Test("The bytes that arrive again at a boundary count for the digest, not the earlier ones")
    func digestOfWhatCameAgain() async throws {
        var bytes = Self.file.bytes
        bytes[Int(Self.length / 4) - 3000] ^= 1
        let altered = Resource(Content(bytes), etag: "\"v1\"")
        let digest = HTTPDigest(.sha256, of: Self.file.bytes)
        try await Self.evenly({ request in
            // The boundary of the first part, and nothing else.
            let isBorder = Self.range(of: request)?.upperBound == Self.length / 4 + 4096
            return isBorder ? .file(altered, for: request) : Self.stallingAtBorder(request)
        }) { origin in
            await #expect(throws: DownloadError.self) {
                try await Self.get(origin, connections: 4) { $0.digest = digest }
            }
            #expect(try await origin.reasons().contains("digest-mismatch"))
            origin.server.setHandler { .file(Self.file, for: $0) }
            let result = try await Self.get(origin, Self.file, connections: 4) { $0.digest = digest }
            #expect(result.digest == digest)
        }
    }

    @Test("A boundary that was not compared is a gap for the next run")
    func interruptedAtBorder() async throws {
        let other = Self.other("\"v1\"")
        let all = Maximum()
        try await Self.evenly({ request in
            // One of the others never ends, so the first one waits at its boundary.
            request.number == 3
                ? .file(other, for: request, cutAfter: 2_000_000, stall: true)
                : Self.stallingAtBorder(request, others: other)
        }) { origin in
            let task = Task { try await Self.get(origin, connections: 4, onEvent: { all.note($0) }) }
            // A quarter of the file, except for the one that stalls.
            try await wait { all.value == 3 * Self.length / 4 + 2_000_000 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            let first = try #require(try await origin.store.entries().first?.chunks.first)
            #expect(first.offset == 0 && first.length < Self.length / 4)
            try await Self.get(origin, other, connections: 1)
            #expect(try await origin.reasons().contains("held-bytes-differ"))
        }
    }

    /// Downloads the file's beginning and its end, and nothing between.
    private static func leaveGap(_ origin: Origin, of resource: Resource = file) async throws -> Range<Int64> {
        let (server, store, isOpen) = (origin.server, origin.store, Flag())
        server.setHandler { request in
            let response = Response.file(resource, for: request, cutAfter: request.number == 1 ? 1_000_000 : nil)
            return switch request.number {
            // The second one is open, and ends after the first one.
            case 1: response.holding { isOpen.isSet }
            case 2: response.holding(after: 1_000_000) { server.openConnections < server.acceptedConnections }
            default: .status("404 Not Found")
            }
        }
        let watch = Task {
            try await wait { try await store.totals().receivedBytes > 0 }
            isOpen.set()
        }
        defer { watch.cancel() }
        let error = await origin.failure { request in
            request.connections = 2
            request.retryPolicy.retries = 0
        }
        #expect(error?.isResumable == true)
        let chunks = try #require(try await origin.store.entries().first).chunks
        try #require(chunks.count == 2 && chunks[1].offset + chunks[1].length == resource.content.length)
        return chunks[0].length..<chunks[1].offset
    }

    /// The file with some bytes of another one.
    private static func mixed(_ range: Range<Int64>) -> Resource {
        var bytes = file.bytes
        let range = Int(range.lowerBound)..<Int(range.upperBound)
        bytes.replaceSubrange(range, with: other("\"v1\"").bytes[range])
        return Resource(Content(bytes), etag: "\"v1\"")
    }

    @Test("Bytes of another file that end exactly where stored bytes follow a gap are not trusted", arguments: [1, 3])
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
            try await Self.get(origin, other, connections: connections)
            #expect(try await origin.reasons().contains("held-bytes-differ"))
        }
    }

    @Test("Bytes that arrive again before the end of a gap count for the digest", arguments: [1, 3])
    func digestOfGap(connections: Int) async throws {
        // The digest follows in steps of 4 MiB, the first of which has the end of the gap.
        let resource = Resource(Content(length: 2 * (4 << 20) + 2, seed: 1), etag: "\"v1\"")
        let digest = HTTPDigest(.sha256, of: resource.bytes)
        try await Origin.with({ .file(resource, for: $0) }) { origin in
            let gap = try await Self.leaveGap(origin, of: resource)
            // So close to the end that they are fetched again.
            var bytes = resource.bytes
            bytes[Int(gap.upperBound) - 3000] ^= 1
            let altered = Resource(Content(bytes), etag: "\"v1\"")
            let first = origin.server.requests.count + 1
            origin.server.setHandler { request in
                request.number == first
                    ? .file(altered, for: request, cutAfter: gap.upperBound - gap.lowerBound + 4096)
                    : .file(resource, for: request)
            }
            let result = try await Self.get(origin, resource, connections: connections) { $0.digest = digest }
            #expect(result.digest == digest)
            #expect(try await !origin.reasons().contains("digest-mismatch"))
        }
    }

    @Test(
        "A download that is repeatedly cut where a gap ends fails in the end", arguments: [1, 3])
    func neverCompared(connections: Int) async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            let gap = try await Self.leaveGap(origin)
            origin.server.setHandler { request in
                let range = Self.range(of: request) ?? 0..<Self.length
                // The last of several is also cut, where the next one begins.
                let end = range.lowerBound < gap.upperBound ? gap.upperBound : range.upperBound
                return .file(Self.file, for: request, cutAfter: end - range.lowerBound)
            }
            let error = await origin.failure { request in
                request.connections = connections
                request.retryPolicy = RetryPolicy(time: .seconds(1), firstDelay: .milliseconds(100))
            }
            #expect(error?.code == .unstable || error?.isResumable == true)
            #expect(origin.server.requests.count < 40)
        }
    }

    @Test(
        "Answers that end where bytes are stored behind a gap lead to a request for the whole file", arguments: [1, 3])
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
            let result = try await Self.get(origin, Self.file, connections: connections)
            #expect(result.reusedBytes > 0)
            #expect(
                try await origin.reasons().contains("whole-for-range")
                    || origin.server.requests.last?.field("Range") == nil)
        }
    }

    @Test(
        "The Content-Digest of an answer that fills a gap is checked, including the overlap behind it",
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
                let digest = Data(HTTPDigest(.sha256, of: body)?.bytes ?? []).base64EncodedString()
                if !isRight { body[body.count / 2] ^= 1 }
                return .status(
                    "206 Partial Content",
                    fields: [
                        ("ETag", "\"v1\""), ("Content-Digest", "sha-256=:\(digest):"),
                        ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.length)"),
                    ], body: body)
            }
            try await Self.get(origin, Self.file, connections: 1)
            #expect(try await origin.reasons().contains("content-digest-mismatch") != isRight)
            #expect(origin.server.requests.count == first + (isRight ? 0 : 1))
            #expect(gap.lowerBound > 0)
        }
    }

    @Test("A body that is cut after its wanted bytes says nothing about its Content-Digest")
    func cutBehindGap() async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            let gap = try await Self.leaveGap(origin)
            let first = origin.server.requests.count + 1
            let digest = Data(HTTPDigest(.sha256, of: Self.file.bytes)?.bytes ?? []).base64EncodedString()
            var whole = Self.file
            whole.ignoresRange = true
            let resource = whole
            origin.server.setHandler { request in
                .file(resource, for: request, cutAfter: gap.upperBound + 200_000)
                    .settingField("Content-Digest", to: "sha-256=:\(digest):")
            }
            try await Self.get(origin, Self.file, connections: 1)
            #expect(try await !origin.reasons().contains("content-digest-mismatch"))
            #expect(origin.server.requests.count == first)
        }
    }

    @Test("A server that cuts answers anywhere: nothing is mixed, and the download ends", arguments: [true, false])
    func blocks(cutsAll: Bool) async throws {
        let other = Self.other("\"v1\"")
        try await Origin.with({ .file(Self.file, for: $0, cutAfter: 1_000_000) }) { origin in
            _ = await origin.failure { $0.retryPolicy.retries = 0 }
            let (first, isAsked, isHeld) = (origin.server.requests.count + 1, Flag(), Flag())
            origin.server.setHandler { request in
                let resource = request.number == first + 1 ? other : Self.file
                // The first one is running when the second one is requested, and bytes of another file arrive over it.
                let held = { (response: Response) -> Response in
                    guard request.number == first else { return response }
                    return response.holding { cutsAll ? isAsked.isSet : isHeld.isSet }
                }
                if request.number == first + 1 { isAsked.set() }
                guard let range = Self.range(of: request) else { return held(.file(resource, for: request)) }
                let block = (range.lowerBound / 4_000_000 + 1) * 4_000_000
                var request = request
                if cutsAll || request.number == first {
                    request.fields.removeAll { $0.name == "Range" }
                    let last = min(block, range.upperBound) - 1
                    request.fields.append(("Range", "bytes=\(range.lowerBound)-\(last)"))
                }
                return held(.file(resource, for: request))
            }
            try await isHeld.set(once: { try await origin.store.totals().receivedBytes > 1_000_000 }) {
                try await Self.get(origin, connections: 2)
            }
            #expect(try origin.hasDelivered(Self.file))
            #expect(try await origin.reasons().contains(cutsAll ? "segment-cut-short" : "held-bytes-differ"))
        }
    }

    @Test("A stalled connection is replaced; the bytes it received are kept")
    func stalls() async throws {
        let stalled: Int64 = 500_000
        let (start, isHeld) = (ContinuousClock.now, Flag())
        try await Origin.with(
            together(4) { .file(Self.file, for: $0, cutAfter: $0.number == 3 ? stalled : nil, stall: true) }
        ) { origin in
            let end: @Sendable () -> Int64? = {
                let requests = origin.server.requests
                return requests.count < 3 ? nil : (Self.range(of: requests[2])?.lowerBound ?? 0) + stalled
            }
            try await isHeld.set(once: {
                let chunks = try await origin.store.entries().first?.chunks ?? []
                return chunks.contains { $0.offset + $0.length == end() }
            }) {
                // On a slow machine others may seem to stall as well, once the clock advances.
                let result = try await Self.get(origin, connections: 4) { request in
                    request.stallTimeout = .milliseconds(700)
                    request.retryPolicy.retries = 1_000_000
                    request.clock = { isHeld.isSet ? .now : start }
                }
                #expect(result.fetchedBytes <= Self.mostFetched(of: Self.length, origin))
            }
            #expect(try origin.hasDelivered(Self.file))
            let rest = try #require(end()) - 4096
            let starts = Self.ranges(origin).dropFirst(3).map { $0?.lowerBound }
            #expect(starts.contains(rest), "\(starts)")
            #expect(try await !origin.reasons().contains { $0 == "held-bytes-differ" })
        }
    }

    @Test("Randomly cut connections cost no more than the overlaps", arguments: 0..<6)
    func cuts(seed: Int) async throws {
        // From 200,000 to 2,200,000 bytes.
        let cut = { @Sendable (number: Int) in Int64((number * 7919 + seed * 104_729) % 2000) * 1000 + 200_000 }
        try await Origin.with({ request in
            .file(Self.file, for: request, cutAfter: cut(request.number), reset: seed == 5)
        }) { origin in
            let result = try await Self.get(origin, connections: [2, 3, 4, 5, 8, 4][seed], isTimed: true) {
                $0.retryPolicy.retries = 20
            }
            #expect(try origin.hasDelivered(Self.file), "seed \(seed)")
            // A body continues past its end only if another one was requested in the middle of it.
            let starts = Self.ranges(origin).map { $0?.lowerBound ?? 0 }
            let shortened = starts.enumerated().count { index, start in
                let end = start + cut(index + 1)
                return starts.dropFirst(index + 1).contains { $0 > start && $0 < end - 2 * 4096 }
            }
            let most = Self.length + Int64(starts.count) * 2 * 4096 + Int64(shortened) * Self.mostSurplus
            #expect(result.fetchedBytes <= most, "seed \(seed)")
            #expect(try await origin.store.totals() == Totals(entries: 0, receivedBytes: 0))
        }
    }

    @Test("A partial of several connections is finished by any other number of them", arguments: [1, 2, 7])
    func otherNumber(connections: Int) async throws {
        let handler = together(3) { request in
            request.number <= 3
                ? .file(Self.file, for: request, cutAfter: 1_000_000) : .status("404 Not Found")
        }
        try await Origin.with(handler) { origin in
            let error = await origin.failure { request in
                request.connections = 3
                request.retryPolicy.retries = 0
            }
            #expect(error?.isResumable == true)
            let entry = try #require(try await origin.store.entries().first)
            #expect(entry.chunks.map(\.length) == [1_000_000, 1_000_000, 1_000_000])
            origin.server.setHandler { .file(Self.file, for: $0) }
            let result = try await Self.get(origin, Self.file, reusing: entry.receivedBytes, connections: connections)
            #expect(result.fetchedBytes <= Self.mostFetched(of: Self.length - entry.receivedBytes, origin))
        }
    }

    @Test("A cancelled download keeps the bytes of every connection")
    func cancelled() async throws {
        try await Origin.with(together(4) { .file(Self.file, for: $0, cutAfter: 1_000_000, stall: true) }) { origin in
            let task = Task { try await Self.get(origin, connections: 4) }
            try await wait { try await origin.store.entries().first?.receivedBytes == 4_000_000 }
            task.cancel()
            await #expect(throws: CancellationError.self) { _ = try await task.value }
            let entry = try #require(try await origin.store.entries().first)
            #expect(entry.chunks.map(\.length) == [1_000_000, 1_000_000, 1_000_000, 1_000_000])
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
        // A second connection would be requested with the first body, and its answer waited for.
        try await Origin.with({ .file(resource, for: $0) }) { origin in
            try await Self.get(origin, connections: 4)
            #expect(try origin.hasDelivered(resource), "\(name)")
            #expect(origin.server.requests.count == 1, "\(name)")
        }
    }
}
