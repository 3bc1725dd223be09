import HTTPTypes
import ResumeHTTP
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// Stored bytes stay until their replacement is delivered, and refused ranges are requested in other ways.
@Suite(.timeLimit(.minutes(5)))
struct ReplacementTests {
    private static let old = HonestServer(sampleBytes(300_000))
    private static let new = HonestServer(Array(sampleBytes(300_001).reversed()), etag: "\"v2\"")

    /// Fetches from a server whose answers are changed first; returns the requested ranges.
    private static func fetch(
        _ server: HonestServer, from store: DownloadStore, to path: String,
        changing change: @escaping @Sendable (HTTPFields, inout HTTPResponse, inout Range<Int>) -> Void = { _, _, _ in }
    ) async throws -> (FetchResult, ranges: [String]) {
        let ranges = Mutex<[String]>([])
        let result = try await store.fetch(
            try DownloadURL(TransferTests.url), to: path, headerFields: [:], retries: RetryPolicy(retries: 0)
        ) { fields in
            ranges.withLock { $0.append(fields[.range] ?? "") }
            var (head, body) = server.answer(fields)
            change(fields, &head, &body)
            let bytes = Array(server.content[body])
            return FetchResponse(
                head: head,
                body: AsyncStream { stream in
                    stream.yield(bytes)
                    stream.finish()
                })
        }
        return (result, ranges.withLock { $0 })
    }

    @Test("D02: a new version gets a second blob, and the old one goes when it is delivered")
    func secondBlob() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: Self.old)
            try await store.leave(100_000, of: Self.new)
            #expect(try await store.entries().map(\.receivedBytes).sorted() == [100_000, 200_000])
            let transfer = try await store.begin()
            #expect(await transfer.plan().fields[.ifRange] == "\"v2\"")
            #expect(try await Self.new.deliver(transfer, to: folder["out"]))
            #expect(try await store.entries().isEmpty)
            #expect(try folder.blobs().isEmpty)
        }
    }

    @Test("M03: the bytes of an earlier version are continued when the server sends it again")
    func olderVersion() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: Self.old)
            try await store.leave(100_000, of: Self.new)
            let (result, ranges) = try await Self.fetch(Self.old, from: store, to: folder["out"])
            #expect(ranges == ["bytes=95904-", "bytes=195904-"])
            #expect(result.reusedBytes == 200_000, "those of the file that was delivered")
            #expect(try Files.bytes(folder["out"]) == Self.old.content)
            #expect(try await store.entries().isEmpty)
        }
    }

    @Test("B06: the known tag with another length is a failure for now that is counted in the row")
    func contradiction() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: Self.old)
            let error = await #expect(throws: DownloadError.self) {
                try await Self.fetch(Self.old, from: store, to: folder["out"]) { _, head, body in
                    head.status = .ok
                    head.headerFields[.contentRange] = nil
                    head.headerFields[.contentLength] = "9"
                    body = 0..<9
                }
            }
            #expect(error?.code == .unreachable && error?.reason.code.rawValue == "tag-contradiction")
            #expect(try await store.entries().map(\.receivedBytes) == [200_000])
            let (_, ranges) = try await Self.fetch(Self.old, from: store, to: folder["out"])
            #expect(ranges == ["bytes=195904-"])
        }
    }

    @Test("E03: open ranges that are refused are followed by the plain file, whose body is closed, and closed ranges")
    func closedRanges() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: Self.old)
            for refusal in [HTTPResponse.Status.forbidden, .rangeNotSatisfiable, .notModified, .init(code: 501)] {
                let (_, ranges) = try await Self.fetch(Self.old, from: store, to: folder["out"]) { fields, head, body in
                    guard fields[.range]?.hasSuffix("-") == true else { return }
                    (head, body) = (HTTPResponse(status: refusal), 0..<0)
                }
                #expect(ranges == ["bytes=195904-", "", "bytes=195904-299999"])
                #expect(try Files.bytes(folder["out"]) == Self.old.content)
                try await store.leave(200_000, of: Self.old)
            }
        }
    }

    @Test("E04: if all ranges are refused, the plain body is received and its beginning compared")
    func plainBody() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: Self.old)
            let (result, ranges) = try await Self.fetch(Self.old, from: store, to: folder["out"]) {
                fields, head, body in
                if fields[.range] != nil { (head, body) = (HTTPResponse(status: .notImplemented), 0..<0) }
            }
            #expect(ranges == ["bytes=195904-", "", "bytes=195904-299999", ""])
            #expect(result.reusedBytes == 200_000)
            #expect(try Files.bytes(folder["out"]) == Self.old.content)
        }
    }

    @Test("C03: a server that sends 4 KiB at a time is asked for as much, and gets ahead")
    func smallAnswers() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(290_000, of: Self.old)
            let (_, ranges) = try await Self.fetch(Self.old, from: store, to: folder["out"]) { _, head, body in
                body = body.lowerBound..<min(body.lowerBound + 4096, body.upperBound)
                head.headerFields[.contentRange] = "bytes \(body.lowerBound)-\(body.upperBound - 1)/300000"
                head.headerFields[.contentLength] = "\(body.count)"
            }
            #expect(ranges.prefix(2) == ["bytes=285904-", "bytes=287952-292047"])
            #expect(try Files.bytes(folder["out"]) == Self.old.content)
        }
    }

    @Test("A part with other bytes than the stored ones does not remove these before their replacement is there")
    func otherBytes() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: Self.old)
            await #expect(throws: DownloadError.self) {
                try await Self.fetch(Self.old, from: store, to: folder["out"]) { fields, head, body in
                    body = 0..<body.count
                    if fields[.range] == nil { head = HTTPResponse(status: .serviceUnavailable) }
                }
            }
            #expect(try await store.entries().map(\.receivedBytes) == [200_000])
            let (result, ranges) = try await Self.fetch(Self.old, from: store, to: folder["out"])
            #expect(ranges == ["bytes=195904-"])
            #expect(result.reusedBytes == 200_000)
            #expect(try await store.entries().isEmpty)
        }
    }

    @Test(
        "A body without a length that goes on behind the known length contradicts it",
        arguments: [(200_000, "a"), (200_000, "b"), (300_000, "b")])
    func surplus(held: Int, caller: String) async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(held, of: Self.old)
            let longer = HonestServer(Self.old.content + [1, 2, 3], etag: Self.old.etag)
            let error = await #expect(throws: DownloadError.self) {
                try await store.fetch(
                    try DownloadURL(TransferTests.url), to: folder["out"],
                    headerFields: caller == "a" ? [:] : [.authorization: "b"],
                    retries: RetryPolicy(retries: 0)
                ) { _ in
                    FetchResponse(
                        head: HTTPResponse(status: .ok, headerFields: [.eTag: longer.etag]),
                        body: AsyncStream<[UInt8]> { stream in
                            stream.yield(longer.content)
                            stream.finish()
                        })
                }
            }
            #expect(error?.reason.code.rawValue == "tag-contradiction")
            #expect(try await store.entries().map(\.receivedBytes).max() == Int64(held))
        }
    }

    @Test("Complete bytes of an earlier version are confirmed by a response before they are delivered")
    func completeOlderVersion() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(300_000, of: Self.old)
            let transfer = try await store.begin()
            await transfer.requireConfirmation()
            try await Self.new.fill(transfer, upTo: 100_000)
            try await transfer.close()
            let (_, ranges) = try await Self.fetch(Self.old, from: store, to: folder["out"])
            #expect(ranges == ["bytes=95904-", "bytes=295904-299999"])
            #expect(try Files.bytes(folder["out"]) == Self.old.content)
        }
    }
}
