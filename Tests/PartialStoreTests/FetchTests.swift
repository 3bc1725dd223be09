import HTTPTypes
import OriginServer
import ResumeHTTP
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// What a fetch does with answers, and with clients of all kinds.
@Suite(.timeLimit(.minutes(5)))
struct FetchTests {
    static let file = Resource(Content(length: 60_000, seed: 1), etag: "\"v1\"")

    @Test("A fetch retries after a cut and after 503, and resumes", arguments: Place.allCases)
    func retries(_ place: Place) async throws {
        let handler: @Sendable (OriginRequest) -> Response = { request in
            request.number == 2
                ? .status("503 Service Unavailable")
                : .file(Self.file, for: request, cutAfter: request.number == 1 ? 9000 : nil)
        }
        try await Visit.with(place, handler) { visit async throws in
            #expect(try await visit.fetch(retries: 2) == Self.file.bytes)
            #expect(visit.server.requests.count == 3)
        }
    }

    @Test("A fetch fails when its retries are used up, with the last error", arguments: Place.allCases)
    func givesUp(_ place: Place) async throws {
        try await Visit.with(place, { _ in .status("503 Service Unavailable") }) { visit in
            let error = await #expect(throws: DownloadError.self) { try await visit.fetch(retries: 2) }
            #expect(error?.status == 503 && error?.reason.code.rawValue == "status-503")
            #expect(visit.server.requests.count == 3)
            visit.server.setHandler { _ in .status("404 Not Found") }
            let refused = await #expect(throws: DownloadError.self) { try await visit.fetch(retries: 2) }
            #expect(refused?.status == 404)
            #expect(visit.server.requests.count == 4)
        }
    }

    @Test("A stream that just ends when its reader is cancelled is not a complete body", arguments: Place.allCases)
    func silentCancellation(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0) }) { visit in
            let url = try visit.url
            let store = visit.store
            let task = Task {
                try await store.fetch(url, headerFields: [:]) { _ in
                    var head = HTTPResponse(status: .ok)
                    head.headerFields[.eTag] = "\"v1\""
                    // No length: only the end of the body gives the length of the file.
                    return FetchResponse(head: head, body: Self.partsUntilCancelled)
                }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            let held = try await visit.held()
            #expect(held.length == 30_000 && held.totalLength == nil)
            #expect(try await visit.fetch() == Self.file.bytes)
        }
    }

    /// Half of the file, then nothing but the end when the reader's task is cancelled, or after a time limit.
    static var partsUntilCancelled: AsyncStream<[UInt8]> {
        let calls = Counter()
        return AsyncStream {
            if calls.add(1) == 1 { return file.content.bytes(in: 0..<30_000) }
            withUnsafeCurrentTask { $0?.cancel() }
            return nil
        }
    }

    @Test("A store on disk can also fetch into a file, which appears only when complete")
    func intoFile() async throws {
        try await TemporaryFolder.with { folder in
            let handler: @Sendable (OriginRequest) -> Response = {
                .file(Self.file, for: $0, cutAfter: $0.number == 1 ? 20_000 : nil)
            }
            try await OriginServer.withServer(handler: handler) { server in
                let store = try await DownloadStore.open(at: folder["store"])
                let port = server.port
                let told = Mutex<[Int64]>([])
                let result = try await store.fetch(
                    try DownloadURL(server.baseURL + "/file"), to: folder["out"],
                    headerFields: [:],
                    retries: .init(retries: 1, time: .seconds(20), firstDelay: .milliseconds(10)),
                    onProgress: { received, total in
                        #expect(total == Self.file.content.length)
                        told.withLock { $0.append(received) }
                    },
                    sending: { try await SmallClient.response(port: port, $0) })
                let length = result.totalBytes
                #expect(length == Self.file.content.length && result.reusedBytes == 0)
                let received = told.withLock { $0 }
                #expect(received.last == length && received == received.sorted() && received.contains(20_000))
                #expect(try Files.bytes(folder["out"]) == Self.file.bytes)
                #expect(server.requests.last?.field("Range") == "bytes=\(20_000 - 4096)-")
                #expect(try await store.entries().isEmpty)
                await store.close()
            }
        }
    }

    /// Runs a test with a store on disk that holds the beginning of a file, with a changed byte far before its end.
    private static func withFlippedByte(
        _ length: Int64, held: Int64, _ body: (Visit, DownloadStore, Resource) async throws -> Void
    ) async throws {
        let file = Resource(Content(length: length, seed: 1), etag: "\"v1\"")
        let handler: @Sendable (OriginRequest) -> Response = {
            .file(file, for: $0, cutAfter: $0.number == 1 ? held : nil)
        }
        try await DownloadStore.with { store, folder in
            try await OriginServer.withServer(handler: handler) { server in
                let visit = Visit(server: server, store: store)
                #expect(await visit.fetchCut())
                let blob = try folder.blob()
                var bytes = try Files.bytes(blob)
                bytes[100_000] ^= 1
                try Files.write(bytes, to: blob)
                try await body(visit, store, file)
            }
        }
    }

    @Test("A byte that flips on disk is fetched again before any data is returned")
    func flippedByte() async throws {
        // So much that not all of it is compared before the download continues.
        try await Self.withFlippedByte(9_000_000, held: 8_500_000) { visit, store, file in
            let transfer = try await store.open(try visit.url, headerFields: [:])
            let plan = await transfer.plan()
            let (head, body) = try await SmallClient.get(port: visit.server.port, plan.fields)
            _ = try await transfer.receive(head, to: plan)
            for try await part in body { try await transfer.write(Array(part)) }
            #expect(try await transfer.endBody(.whole))
            await #expect(throws: StoreError(.heldBytesDiffer, "")) { try await transfer.takeData(upTo: .max) }
            try await transfer.close()
            #expect(try await visit.fetch() == file.bytes)
        }
    }

    @Test("A fetch from a server that keeps changing its file fails")
    func unstable() async throws {
        let handler: @Sendable (OriginRequest) -> Response = { request in
            let content = Content(length: 60_000, seed: UInt64(request.number))
            return .file(Resource(content, etag: "\"v\(request.number)\""), for: request, cutAfter: 20_000)
        }
        try await Visit.with(.memory, handler) { visit in
            await #expect { try await visit.fetch(retries: 100) } throws: {
                ($0 as? DownloadError)?.reason.code.rawValue == "unstable"
            }
            #expect(visit.server.requests.count == 5, "three restarts are allowed")
        }
    }

    /// An answer from a client: a head and the whole body.
    struct Answer: Sendable {
        var head = HTTPResponse(status: .ok)
        var body: [UInt8] = []

        /// The body as a stream of one part.
        var stream: AsyncStream<[UInt8]> {
            AsyncStream {
                $0.yield(body)
                $0.finish()
            }
        }

        init(
            _ status: HTTPResponse.Status = .ok, length: Int? = nil, range: String? = nil, etag: String = "\"v1\"",
            body: [UInt8] = []
        ) {
            head.status = status
            head.headerFields[.eTag] = etag
            head.headerFields[.contentLength] = length.map { "\($0)" }
            head.headerFields[.contentRange] = range
            self.body = body
        }
    }

    /// Fetches from a client that gives one answer after the other, and fails when there are no more.
    static func fetch(
        _ answers: [Answer?], in store: any PartialStore, selection: String? = nil, overlap: Int64 = 4096,
        retries: Int = 0, failure: any Error = SmallClient.Failure.cut
    ) async throws -> (bytes: [UInt8], requests: [HTTPFields]) {
        let requests = Mutex<[HTTPFields]>([])
        let bytes = try await store.fetch(
            DownloadURL("http://127.0.0.1/file"), headerFields: [:],
            selection: selection.map { try RangeSelection(parsing: $0) },
            policy: ResumePolicy(overlap: overlap),
            retries: .init(retries: retries, time: .seconds(20), firstDelay: .milliseconds(10))
        ) { fields in
            let count = requests.withLock { requests in
                requests.append(fields)
                return requests.count
            }
            guard let answer = answers[min(count, answers.count) - 1] else { throw failure }
            return FetchResponse(head: answer.head, body: answer.stream)
        }
        return (bytes.bytes, requests.withLock { $0 })
    }

    static let bytes = file.bytes

    @Test(
        "A client that fails is asked again as often as allowed, and then its own error is thrown",
        arguments: Place.allCases)
    func failingClient(_ place: Place) async throws {
        try await Visit.with(place, { _ in .status("500 Not Asked") }) { visit in
            let whole = Answer(length: 60_000, body: Self.bytes)
            await #expect(throws: SmallClient.Failure.cut) { try await Self.fetch([nil, whole], in: visit.store) }
            await #expect(throws: CancellationError.self) {
                try await Self.fetch([nil, whole], in: visit.store, retries: 1, failure: CancellationError())
            }
            let (bytes, requests) = try await Self.fetch([nil, whole], in: visit.store, retries: 1)
            #expect(bytes == Self.bytes && requests.count == 2)
        }
    }

    @Test("A body that just ends too early is incomplete, and is continued", arguments: Place.allCases)
    func endsEarly(_ place: Place) async throws {
        try await Visit.with(place, { _ in .status("500 Not Asked") }) { visit in
            let short = Answer(length: 60_000, body: Array(Self.bytes[..<20_000]))
            let error = await #expect(throws: DownloadError.self) { try await Self.fetch([short], in: visit.store) }
            #expect(error?.reason.code == Reason.endedEarly.code && error?.status == nil)
            let rest = Answer(
                .partialContent, length: 44_096, range: "bytes 15904-59999/60000", body: Array(Self.bytes[15_904...]))
            let (bytes, requests) = try await Self.fetch([rest], in: visit.store)
            #expect(bytes == Self.bytes)
            #expect(requests.map { $0[.range] } == ["bytes=15904-"])
        }
    }

    @Test("A page in place of a file whose length is known is refused by its head", arguments: Place.allCases)
    func knownLength(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0, cutAfter: $0.number == 1 ? 20_000 : nil) }) { visit in
            #expect(await visit.fetchCut())
            let url = try visit.url
            func fetch(_ answer: Answer) async throws -> FetchResult {
                try await visit.store.fetch(
                    url, headerFields: [:], policy: ResumePolicy(completeLength: 60_000), retries: .init(retries: 0)
                ) { _ in FetchResponse(head: answer.head, body: answer.stream) }
            }
            let page = Answer(length: 500, etag: "\"page\"", body: sampleBytes(500, seed: 9))
            let error = await #expect(throws: DownloadError.self) { try await fetch(page) }
            #expect(error?.reason.code.rawValue == "other-length" && error?.body == page.body)
            #expect(try await visit.held().length == 20_000)
            let rest = Answer(
                .partialContent, length: 44_096, range: "bytes 15904-59999/60000", body: Array(Self.bytes[15_904...]))
            #expect(try await fetch(rest).bytes == Self.bytes)
        }
    }

    @Test(
        "A body without a length is another file if it ends at another one than the caller knows; none is delivered",
        arguments: Place.allCases, [59_000, 60_000, 80_000, 2_000_000])
    func unannouncedLength(_ place: Place, _ length: Int) async throws {
        try await Visit.with(place, { _ in .status("500 Not Asked") }) { visit async throws in
            let bytes = sampleBytes(length, seed: 9)
            func fetch(_ policy: ResumePolicy, _ answer: Answer) async throws -> FetchResult {
                try await visit.store.fetch(
                    visit.url, headerFields: [:], policy: policy, retries: .init(retries: 0)
                ) { _ in FetchResponse(head: answer.head, body: answer.stream) }
            }
            let policy = ResumePolicy(completeLength: 60_000)
            if length == 60_000 {
                #expect(try await fetch(policy, Answer(body: bytes)).bytes == bytes)
                return
            }
            let error = await #expect(throws: DownloadError.self) { try await fetch(policy, Answer(body: bytes)) }
            #expect(error?.reason.code.rawValue == "other-length")
            // Nothing claims to be complete: neither this caller nor another one gets it without a response.
            for policy in [policy, ResumePolicy()] {
                await #expect(throws: DownloadError.self) { try await fetch(policy, Answer(.notFound)) }
            }
        }
    }

    @Test("Stored bytes are not the file of a caller who knows another length", arguments: Place.allCases)
    func otherLength(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0) }) { visit in
            let transfer = try await visit.store.open(visit.url, headerFields: [:])
            while try await !HonestServer(Self.bytes, etag: "\"v1\"").fill(transfer) {}
            try await transfer.close()
            for length in [60_001, 60_000] {
                let result = await Result {
                    try await visit.store.fetch(
                        visit.url, headerFields: [:], policy: ResumePolicy(completeLength: Int64(length)),
                        retries: .init(retries: 0)
                    ) { try await SmallClient.response(port: visit.server.port, $0) }
                }
                #expect((try? result.get())?.bytes == (length == 60_000 ? Self.bytes : nil))
                #expect(visit.server.requests.count == 1)
            }
        }
    }

    @Test("A fetch without a destination leaves a verified transfer, which is delivered later or kept")
    func transfer() async throws {
        let handler: @Sendable (OriginRequest) -> Response = {
            .file(Self.file, for: $0, cutAfter: $0.number == 1 ? 20_000 : nil)
        }
        try await DownloadStore.with { store, folder in
            try await OriginServer.withServer(handler: handler) { server in
                let url = try DownloadURL(server.baseURL + "/file")
                let port = server.port
                let told = Mutex<[Int64]>([])
                func fetch(_ digest: HTTPDigest?) async throws -> Transfer {
                    try await store.fetchTransfer(
                        url, headerFields: [:], policy: ResumePolicy(digest: digest, completeLength: 60_000),
                        retries: .init(retries: 1, time: .seconds(20), firstDelay: .milliseconds(10)),
                        onProgress: { received, _ in
                            await Task.yield()
                            told.withLock { $0.append(received) }
                        },
                        sending: { try await SmallClient.response(port: port, $0) })
                }
                let digest = HTTPDigest(.sha256, of: Self.bytes)
                try await fetch(digest).close()
                #expect(told.withLock(\.last) == 60_000)
                let count = server.requests.count
                let wrong = HTTPDigest(.sha256, of: [])
                await #expect(throws: DownloadError.self) { try await fetch(wrong) }
                let before = server.requests.count
                let transfer = try await fetch(digest)
                #expect(count == 2 && server.requests.count == before)
                try await transfer.deliver(to: folder["out"])
                #expect(try Files.bytes(folder["out"]) == Self.bytes)
                #expect(try await store.entries().isEmpty)
            }
        }
    }

    @Test("416 with the stored length means that the file is complete", arguments: Place.allCases)
    func nothingMissing(_ place: Place) async throws {
        try await Visit.with(place, { _ in .status("500 Not Asked") }) { visit in
            // Without a length it is unknown whether these are all bytes.
            let unknown = Answer(body: Self.bytes)
            let transfer = try await visit.store.open(
                DownloadURL("http://127.0.0.1/file"), headerFields: [:], key: nil, selection: nil,
                policy: ResumePolicy(), waits: true)
            let plan = await transfer.plan(avoidsRange: nil)
            _ = try await transfer.receive(unknown.head, to: plan)
            try await transfer.write(Self.bytes)
            #expect(try await transfer.endBody(.cut) == false)
            try await transfer.close()
            let end = Answer(.rangeNotSatisfiable, range: "bytes */60000")
            let (bytes, requests) = try await Self.fetch([end], in: visit.store, overlap: 0)
            #expect(bytes == Self.bytes)
            #expect(requests.map { $0[.range] } == ["bytes=60000-"])
        }
    }

    @Test("Ranges are fetched as ranges", arguments: Place.allCases)
    func ranges(_ place: Place) async throws {
        try await Visit.with(place, { _ in .status("500 Not Asked") }) { visit in
            let part = Answer(
                .partialContent, length: 100, range: "bytes 1000-1099/60000", body: Array(Self.bytes[1000..<1100]))
            let (bytes, requests) = try await Self.fetch([part], in: visit.store, selection: "bytes=1000-1099")
            #expect(bytes == Array(Self.bytes[1000..<1100]))
            #expect(requests.map { $0[.range] } == ["bytes=1000-1099"])
        }
    }

    @Test(
        "A length beyond the limit is refused before a byte is read, and stored bytes stay", arguments: Place.allCases)
    func announcedTooLong(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0) }) { visit async throws in
            await #expect(throws: StoreError(.tooLarge, "")) { try await visit.fetch(limit: 59_999) }
            #expect(visit.server.requests.count == 1)
            #expect(try await visit.fetch(limit: 60_000) == Self.bytes)
        }
    }

    @Test("Bytes that differ from the stored ones every time end as unstable", arguments: Place.allCases)
    func differsEachTime(_ place: Place) async throws {
        try await Visit.with(place, { _ in .status("500 Not Asked") }) { visit in
            // Each time other bytes with the same strong entity tag, cut.
            let answers = (0..<20).map { number in
                let bytes = sampleBytes(60_000, seed: UInt64(number))
                return number % 2 == 0
                    ? Answer(length: 60_000, body: Array(bytes[..<20_000]))
                    : Answer(
                        .partialContent, length: 44_096, range: "bytes 15904-59999/60000", body: Array(bytes[15_904...])
                    )
            }
            let error = await #expect(throws: DownloadError.self) {
                try await Self.fetch(answers, in: visit.store, retries: 50)
            }
            #expect(error?.reason.code.rawValue == "unstable")
        }
    }

    @Test("A server whose ranges are always of another version is reported as unstable", arguments: Place.allCases)
    func otherRanges(_ place: Place) async throws {
        try await Visit.with(place, { _ in .status("500 Not Asked") }) { visit in
            let whole = Answer(length: 60_000, body: Array(Self.bytes[..<20_000]))
            let other = Answer(
                .partialContent, length: 44_096, range: "bytes 15904-59999/60000", etag: "\"v2\"",
                body: Array(Self.bytes[15_904...]))
            let error = await #expect(throws: DownloadError.self) {
                try await Self.fetch(
                    Array(repeating: [whole, other], count: 20).flatMap { $0 }, in: visit.store, retries: 50)
            }
            // The plain file is requested as well, and a part is no answer to that.
            #expect(["unstable", "unsolicited-range"].contains(error?.reason.code.rawValue))
        }
    }

    @Test("A byte that flips on disk far from the end is fetched again by the fetch itself")
    func flippedByteAlone() async throws {
        try await Self.withFlippedByte(10_000_000, held: 9_000_000) { visit, _, file in
            let isRight = try await visit.fetch() == file.bytes
            #expect(isRight)
            #expect(visit.server.requests.count == 3, "the cut one, the rest, and the damaged block")
        }
    }
}

/// Bytes that were fetched with other fields, on disk and in memory.
@Suite(.timeLimit(.minutes(5)))
struct FetchIdentityTests {
    private static let file = FetchTests.file
    private static let other = Resource(Content(length: 60_000, seed: 2), etag: "\"v2\"")

    /// Leaves all bytes of a file in a store, or the first ones.
    private static func leave(_ length: Int = 60_000, as fields: HTTPFields?, _ visit: Visit) async throws {
        try await leave(length, as: fields, in: visit.store, at: try visit.url)
    }

    private static func leave(
        _ length: Int, as fields: HTTPFields?, in store: some PartialStore, at url: DownloadURL
    ) async throws {
        let transfer = try await store.open(url, headerFields: fields)
        try await HonestServer(file.bytes, etag: "\"v1\"").fill(transfer, upTo: length)
        try await transfer.close()
    }

    private static func fetch(as fields: HTTPFields?, _ visit: Visit) async throws -> [UInt8] {
        let port = visit.server.port
        return try await visit.store.fetch(try visit.url, headerFields: fields, retries: .init(retries: 0)) { added in
            try await SmallClient.response(port: port, (fields ?? [:]) + added)
        }.bytes
    }

    @Test("The same fields: no request; other or unknown fields: one request", arguments: Place.allCases)
    func asks(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0) }) { visit in
            try await Self.leave(as: [.accept: "a"], visit)
            #expect(try await Self.fetch(as: [.accept: "a"], visit) == Self.file.bytes)
            #expect(visit.server.requests.isEmpty)
            let others: [(owner: HTTPFields?, caller: HTTPFields?)] = [
                ([.accept: "a"], [.accept: "b"]), ([:], nil), (nil, nil), (nil, [:]),
            ]
            for (owner, caller) in others {
                let before = visit.server.requests.count
                try await Self.leave(as: owner, visit)
                #expect(try await Self.fetch(as: caller, visit) == Self.file.bytes)
                guard owner == nil else {
                    #expect(visit.server.requests.count > before + 1, "samples are compared")
                    continue
                }
                #expect(visit.server.requests.count == before + 1)
                #expect(visit.request?.field("Range") == "bytes=55904-59999")
            }
        }
    }

    @Test("Bytes that another program added have no owner until they are compared", arguments: Place.allCases)
    func added(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0) }) { visit in
            try await Self.leave(30_000, as: [.accept: "a"], visit)
            let transfer = try await visit.store.open(try visit.url, headerFields: [.accept: "b"])
            let plan = await transfer.plan()
            let (head, body) = HonestServer(Self.file.bytes, etag: "\"v1\"").answer(plan.fields)
            _ = try await transfer.receive(head, to: plan)
            try await transfer.write(Array(Self.file.bytes[body]))
            // As after the death of the process: the end is not recorded.
            try await transfer.close()
            let again = try await visit.store.open(try visit.url, headerFields: [.accept: "a"])
            let (held, isComplete) = (await again.partial, await again.isComplete)
            #expect(held.hasAllBytes && held.access == .foreign && !isComplete)
            try await again.close()
            #expect(try await Self.fetch(as: [.accept: "a"], visit) == Self.file.bytes)
            #expect(visit.server.requests.count == 1)
        }
    }

    @Test("Bytes that the server refuses are not returned, and stay", arguments: Place.allCases)
    func refused(_ place: Place) async throws {
        try await Visit.with(place, { _ in .status("403 Forbidden") }) { visit in
            try await Self.leave(as: [.accept: "a"], visit)
            let error = await #expect(throws: DownloadError.self) { try await Self.fetch(as: [:], visit) }
            #expect(error?.status == 403)
            let transfer = try await visit.store.open(try visit.url, headerFields: [:])
            #expect(await !transfer.isComplete)
            await #expect(throws: StoreError.self) { try await transfer.takeData(upTo: 1 << 20) }
            try await transfer.close()
            #expect(try await Self.fetch(as: [.accept: "a"], visit) == Self.file.bytes)
            #expect(visit.server.requests.count == 2, "a range, and the plain file")
        }
    }

    @Test("Another representation has a separate entry", arguments: Place.allCases)
    func ownEntry(_ place: Place) async throws {
        try await Visit.with(place, { .file($0.field("Accept") == "a" ? Self.file : Self.other, for: $0) }) { visit in
            try await Self.leave(as: [.accept: "a"], visit)
            #expect(try await Self.fetch(as: [.accept: "b"], visit) == Self.other.bytes)
            let count = visit.server.requests.count
            #expect(try await Self.fetch(as: [.accept: "a"], visit) == Self.file.bytes)
            #expect(visit.server.requests.count == count)
        }
    }

    @Test("In memory there are at most four variants, and those in use keep their owner")
    func atMostFour() async throws {
        let store = MemoryStore()
        let url = try DownloadURL("http://127.0.0.1/file")
        for number in 1...6 {
            let transfer = try await store.open(url, headerFields: [.accept: "\(number)"])
            while try await !HonestServer(sampleBytes(9000, seed: UInt64(number)), etag: "\"\(number)\"").fill(transfer)
            {}
            try await transfer.close()
        }
        #expect(store.entries.map(\.key) == [url.redacted] + (2...4).map { "\(url.redacted)#variant=\($0)" })
        // The two used last still belong to their callers.
        for number in 5...6 {
            let transfer = try await store.open(url, headerFields: [.accept: "\(number)"])
            #expect(try await transfer.takeData(upTo: 9000) == sampleBytes(9000, seed: UInt64(number)))
        }
        #expect(store.entries.count == 2)
    }

    @Test("A caller without an answer does not move bytes of another request to disk")
    func promotedByAnother() async throws {
        try await TemporaryFolder.with { folder in
            let url = try DownloadURL("http://127.0.0.1/file")
            let (memory, disk) = (MemoryStore(), try await DownloadStore.open(at: folder["store"]))
            for length in [30_000, 60_000] {
                try await Self.leave(length, as: [.accept: "a"], in: memory, at: url)
                let foreign = try await memory.open(url, headerFields: [.accept: "b"])
                await #expect(throws: StoreError(.misuse, "")) { try await foreign.promote(to: disk) }
                try await foreign.close()
                #expect(memory.entries.map(\.receivedBytes) == [Int64(length)])
                #expect(try await disk.entries().isEmpty)
                let own = try await memory.open(url, headerFields: [.accept: "a"])
                try await own.discard(reason: Reason(code: "test", text: ""))
                try await own.close()
            }
            await disk.close()
        }
    }

    @Test("Bytes that are moved to disk keep their owner")
    func promoted() async throws {
        try await TemporaryFolder.with { folder in
            let url = try DownloadURL("http://127.0.0.1/file")
            let (memory, disk) = (MemoryStore(), try await DownloadStore.open(at: folder["store"]))
            try await Self.leave(60_000, as: [.accept: "a"], in: memory, at: url)
            let held = try await memory.open(url, headerFields: [.accept: "a"])
            try await held.promote(to: disk).close()
            let own = try await disk.open(url, headerFields: [.accept: "a"])
            #expect(await own.isComplete)
            try await own.close()
            let foreign = try await disk.open(url, headerFields: [.accept: "b"])
            #expect(await !foreign.isComplete)
            try await foreign.close()
            // Moved by its key.
            try await Self.leave(60_000, as: [.accept: "c"], in: memory, at: try DownloadURL("http://127.0.0.1/g"))
            try await memory.promote("http://127.0.0.1/g", to: disk)
            let moved = try await disk.open(DownloadURL("http://127.0.0.1/g"), headerFields: [.accept: "c"])
            #expect(await moved.isComplete)
            try await moved.close()
            await disk.close()
        }
    }
}
