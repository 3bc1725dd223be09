import HTTPTypes
import OriginServer
import ResumeHTTP
@testable import ResumeStore
import TestSupport
import Testing

/// The limits of the store in memory: which entries are evicted first, and which never.
@Suite(.timeLimit(.minutes(5)))
struct MemoryStoreTests {
    static func url(_ name: String) throws -> DownloadURL { try DownloadURL("http://127.0.0.1/\(name)") }

    static func server(_ count: Int, seed: UInt64 = 1) -> HonestServer {
        HonestServer(sampleBytes(count, seed: seed))
    }

    /// Leaves a partial, as a stopped fetch does.
    static func leave(_ count: Int, as name: String, in store: MemoryStore) async throws {
        let transfer = try await store.open(try url(name), headerFields: [:])
        try await server(count * 2).fill(transfer, upTo: count)
        try await transfer.close()
    }

    static func names(_ store: MemoryStore) -> [String] {
        store.entries.map { String($0.key.drop { $0 != "/" }.dropFirst("//127.0.0.1/".count)) }
    }

    /// A head of an answer with a length, or without one.
    static func head(_ length: Int?) -> HTTPResponse {
        var head = HTTPResponse(status: .ok)
        head.headerFields[.eTag] = "\"v1\""
        head.headerFields[.contentLength] = length.map { "\($0)" }
        return head
    }

    @Test("G6: a key that is a URL is stored without its secrets, on disk as well as in memory")
    func urlAsKey() async throws {
        let key = "https://user:hidden@h/f?a=1&api_token=hidden"
        let memory = try await MemoryStore().open(try Self.url("a"), headerFields: [:], key: key)
        #expect(memory.key == "https://h/f?a=1")
        try await memory.close()
        try await DownloadStore.with { store, _ in
            for (key, stored) in [(key, "https://h/f?a=1"), ("HTTPS://h/f?a=1#plain", "HTTPS://h/f?a=1#plain")] {
                let transfer = try await store.open(try Self.url("a"), headerFields: [:], key: key)
                #expect(transfer.key == stored)
                // As a body of unknown length does.
                let plan = await transfer.plan()
                _ = try await transfer.receive(HTTPResponse(status: .ok), to: plan)
                #expect(try await store.entries().map(\.key) == [stored])
                try await transfer.close()
            }
        }
    }

    @Test("The least recently used entry is evicted first; reading it is a use")
    func leastRecentlyUsed() async throws {
        let store = MemoryStore(maximumSize: 200_000, maximumEntrySize: 150_000)
        for name in ["a", "b", "c"] { try await Self.leave(60_000, as: name, in: store) }
        #expect(Self.names(store) == ["a", "b", "c"])
        try await (try await store.open(try Self.url("a"), headerFields: [:])).close()
        try await Self.leave(60_000, as: "d", in: store)
        #expect(Self.names(store) == ["a", "c", "d"])
        #expect(store.size <= 200_000)
    }

    @Test("There are no more entries than allowed")
    func entryCount() async throws {
        let store = MemoryStore(maximumEntries: 3)
        for number in 0..<200 { try await Self.leave(10, as: "\(number)", in: store) }
        #expect(Self.names(store) == ["197", "198", "199"])
    }

    @Test("An entry in use is never evicted: a transfer without room gets an error, and keeps its bytes")
    func inUse() async throws {
        let store = MemoryStore(maximumSize: 200_000, maximumEntrySize: 150_000)
        // Idle once, and therefore the least recently used.
        let idle = try await store.open(try Self.url("used"), headerFields: [:])
        try await Self.server(150_000).fill(idle, upTo: 10_000)
        try await idle.close()
        let used = try await store.open(try Self.url("used"), headerFields: [:])
        try await Self.server(150_000).fill(used, upTo: 120_000)
        try await Self.leave(20_000, as: "idle", in: store)
        let other = try await store.open(try Self.url("other"), headerFields: [:])
        await #expect(throws: StoreError(.noSpace, "")) { try await Self.server(100_000).fill(other, piece: 60_000) }
        // Entries whose removal would not have been enough were not removed either.
        #expect(Self.names(store) == ["idle", "other", "used"])
        await #expect(throws: StoreError(.noSpace, "")) { try await Self.server(100_000).fill(other, piece: 30_000) }
        #expect(Self.names(store) == ["other", "used"])
        #expect(store.size <= 200_000)
        #expect(await other.partial.length == 30_000)
        store.removeAll()
        #expect(Self.names(store) == ["other", "used"])
        #expect(try await Self.server(150_000).fill(used))
        #expect(try await used.takeData(upTo: 150_000) == Self.server(150_000).content)
        #expect(try await Self.server(100_000).fill(other))
    }

    @Test("A length that a server announces allocates next to nothing")
    func announcedLength() async throws {
        let store = MemoryStore()
        let transfer = try await store.open(try Self.url("a"), headerFields: [:])
        _ = try await transfer.receive(Self.head(8 << 20), to: .whole(reason: nil))
        #expect(store.size == 0)
        try await transfer.write([1])
        #expect(store.size <= 64 << 10)
        for part in 1...20 {
            try await transfer.write(sampleBytes(100_000))
            #expect(store.size <= max(2 * (part * 100_000 + 1), 64 << 10))
        }
        try await transfer.close()
        #expect(store.size <= 2_000_001 / 8 * 9)
    }

    @Test("A body announced as too long is refused, and stored bytes stay")
    func tooLong() async throws {
        let store = MemoryStore(maximumEntrySize: 100_000)
        try await Self.leave(50_000, as: "a", in: store)
        let transfer = try await store.open(try Self.url("a"), headerFields: [:])
        for length in [100_001, Int.max] {
            await #expect(throws: StoreError(.tooLarge, "")) {
                var head = Self.head(length)
                head.headerFields[.eTag] = "\"another\""
                return try await transfer.receive(head, to: .whole(reason: nil))
            }
        }
        #expect(await transfer.partial.length == 50_000)
        #expect(try await Self.server(100_000).fill(transfer))
    }

    @Test("A body that turns out to be too long is refused at the limit, and earlier bytes stay")
    func endless() async throws {
        let store = MemoryStore(maximumEntrySize: 100_000)
        let transfer = try await store.open(try Self.url("a"), headerFields: [:])
        _ = try await transfer.receive(Self.head(nil), to: .whole(reason: nil))
        for _ in 0..<3 { try await transfer.write(sampleBytes(30_000)) }
        await #expect(throws: StoreError(.tooLarge, "")) { try await transfer.write(sampleBytes(30_000)) }
        #expect(store.size <= 100_000)
        #expect(try await transfer.endBody(.cut) == false)
        try await transfer.close()
        #expect(store.entries.map(\.receivedBytes) == [90_000])
    }

    @Test("A fetch takes no more than its limit, and keeps the received bytes", arguments: Place.allCases)
    func limit(_ place: Place) async throws {
        let file = Resource(Content(length: 60_000, seed: 1), etag: "\"v1\"")
        var chunkless = file
        chunkless.framing = .untilClose
        let endless = chunkless
        try await Visit.with(place, { .file($0.number == 1 ? endless : file, for: $0) }) { visit async throws in
            await #expect(throws: StoreError(.tooLarge, "")) { try await visit.fetch(limit: 30_000) }
            #expect(try await visit.held().length > 30_000)
            await #expect(throws: StoreError(.tooLarge, "")) { try await visit.fetch(limit: 59_999) }
            #expect(try await visit.fetch(limit: 60_000) == file.bytes)
        }
    }

    @Test("Tasks that fetch the same ask the server once; on disk, never two at a time", arguments: Place.allCases)
    func shared(_ place: Place) async throws {
        let file = Resource(Content(length: 60_000, seed: 1), etag: "\"v1\"")
        let (received, overlapping) = (Counter(), Counter())
        let handler: @Sendable (OriginRequest) -> Response = { request in
            // Each request begins after all bytes of the earlier ones were received.
            if received.value != 60_000 * (request.number - 1) { overlapping.add(1) }
            return .file(file, for: request)
        }
        try await Visit.with(place, handler) { visit in
            // Held until all tasks wait, if that can be observed.
            let first = try await visit.store.open(
                try visit.url, headerFields: [:], key: nil, selection: nil, policy: ResumePolicy(), waits: true)
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 { group.addTask { try await visit.fetch { received.add($0) } } }
                if let memory = visit.store as? MemoryStore {
                    let key = try visit.url.redacted
                    try await wait { memory.waiterCount(key: key) >= 4 }
                }
                try await first.close()
                for try await bytes in group { #expect(bytes == file.bytes) }
            }
            #expect(overlapping.value == 0)
            // On disk a task that begins between delivery and lease asks again. In memory the lease is passed on.
            let count = visit.server.requests.count
            #expect((1...(place == .memory ? 1 : 4)).contains(count))
            #expect(received.value == count * 60_000)
            #expect(try await visit.held().isEmpty)
        }
    }

    @Test("A caller that does not wait gets an error; a waiting one is next, unless it is cancelled")
    func leases() async throws {
        let store = MemoryStore()
        let url = try Self.url("a")
        let first = try await store.open(url, headerFields: [:])
        await #expect(throws: StoreError(.inUse, "")) { try await store.open(url, headerFields: [:], waits: false) }
        let cancelled = Task { try await store.open(url, headerFields: [:]) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let waiting = Task { try await store.open(url, headerFields: [:]) }
        try await wait { store.waiterCount(key: url.redacted) >= 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(store.waiterCount(key: url.redacted) == 0)
        let next = Task { try await store.open(url, headerFields: [:]) }
        try await Self.server(100_000).fill(first, upTo: 40_000)
        try await first.close()
        let second = try await next.value
        #expect(await second.partial.length == 40_000)
        await #expect(throws: StoreError(.inUse, "")) { try await store.open(url, headerFields: [:], waits: false) }
    }

    @Test("An entry is not lost if its next owner is cancelled while it is given back")
    func cancelledOwner() async throws {
        let store = MemoryStore()
        let url = try Self.url("a")
        for _ in 0..<2000 {
            let first = try await store.open(url, headerFields: [:], waits: false)
            let waiting = Task { try await store.open(url, headerFields: [:]).close() }
            async let closed: Void = first.close()
            waiting.cancel()
            try await closed
            _ = await waiting.result
        }
        #expect(store.waiterCount(key: url.redacted) == 0)
        try await store.open(url, headerFields: [:], waits: false).close()
    }

    @Test("A transfer that is released without being closed leaves its bytes for the next one")
    func letGo() async throws {
        let store = MemoryStore()
        var transfer: Transfer? = try await store.open(try Self.url("a"), headerFields: [:])
        if let transfer { try await Self.server(100_000).fill(transfer, upTo: 40_000) }
        transfer = nil
        #expect(store.entries.map(\.receivedBytes) == [40_000])
        #expect(await (try await store.open(try Self.url("a"), headerFields: [:])).partial.length == 40_000)
    }

    @Test("Calls in the wrong order are errors, and a closed transfer is closed")
    func misuse() async throws {
        let store = MemoryStore()
        let transfer = try await store.open(try Self.url("a"), headerFields: [:])
        await #expect(throws: StoreError(.misuse, "")) { try await transfer.write([1]) }
        await #expect(throws: StoreError(.misuse, "")) { try await transfer.takeData(upTo: 10) }
        try await transfer.close()
        try await transfer.close()
        await #expect(throws: StoreError(.misuse, "")) { try await transfer.endBody(.whole) }
        #expect(store.entries.isEmpty && store.size == 0)
    }

    @Test("Coded bytes are no answer for a caller that wants the file itself")
    func coded() async throws {
        let store = MemoryStore()
        let url = try Self.url("a")
        let coded = try await store.open(url, headerFields: [:], policy: ResumePolicy(storesCoded: true))
        var head = Self.head(100)
        head.headerFields[.contentEncoding] = "gzip"
        _ = try await coded.receive(head, to: .whole(reason: nil))
        try await coded.write(sampleBytes(100))
        #expect(try await coded.endBody(.whole))
        try await coded.close()
        let plain = try await store.open(url, headerFields: [:])
        #expect(await plain.partial.isEmpty)
        #expect(store.size == 0)
    }

    @Test("A selection has a separate entry")
    func selection() async throws {
        let store = MemoryStore()
        let selection = try RangeSelection(parsing: "bytes=10-19")
        try await Self.leave(50, as: "a", in: store)
        let transfer = try await store.open(try Self.url("a"), headerFields: [:], selection: selection)
        var head = Self.head(10)
        head.status = .partialContent
        head.headerFields[.contentRange] = "bytes 10-19/100"
        let plan = await transfer.plan()
        _ = try await transfer.receive(head, to: plan)
        try await transfer.write(Array(sampleBytes(100)[10..<20]))
        #expect(try await transfer.endBody(.whole))
        #expect(try await transfer.takeData(upTo: 10) == Array(sampleBytes(100)[10..<20]))
        #expect(store.entries.map(\.receivedBytes) == [50])
    }

    @Test("A memory warning removes unused entries")
    func removingAll() async throws {
        let store = MemoryStore()
        for name in ["a", "b"] { try await Self.leave(1000, as: name, in: store) }
        let used = try await store.open(try Self.url("c"), headerFields: [:])
        try await Self.server(2000).fill(used, upTo: 1000)
        store.removeAll()
        #expect(Self.names(store) == ["c"])
        #expect(await used.partial.length == 1000)
    }

    @Test("After many deliveries the order of use still holds")
    func manyDeliveries() async throws {
        let store = MemoryStore(maximumEntries: 3)
        try await Self.leave(10, as: "old", in: store)
        for number in 0..<200 {
            try await Self.leave(10, as: "\(number)", in: store)
            let transfer = try await store.open(try Self.url("\(number)"), headerFields: [:])
            #expect(try await Self.server(20).fill(transfer))
            #expect(try await transfer.takeData(upTo: 20) == Self.server(20).content)
        }
        for name in ["a", "b", "c"] { try await Self.leave(10, as: name, in: store) }
        #expect(Self.names(store) == ["a", "b", "c"])
    }

    @Test("A caller's key that looks like that of other ranges holds nothing for them")
    func ambiguousKey() async throws {
        let store = MemoryStore()
        let whole = try await store.open(try Self.url("a"), headerFields: [:], key: "mine#bytes=0-9")
        try await Self.server(100).fill(whole, upTo: 50)
        try await whole.close()
        let ranges = try await store.open(
            try Self.url("a"), headerFields: [:], key: "mine", selection: try RangeSelection(parsing: "bytes=0-9"))
        #expect(ranges.key == "mine#bytes=0-9")
        #expect(await ranges.partial.isEmpty)
    }

    @Test("Data is taken only within the limit; a rewind to the start drops all; nothing cannot be moved to disk")
    func limits() async throws {
        let store = MemoryStore()
        let reason = Reason(code: "test", text: "Test.")
        let transfer = try await store.open(try Self.url("a"), headerFields: [:])
        #expect(try await Self.server(1000).fill(transfer))
        await #expect(throws: StoreError(.tooLarge, "")) { try await transfer.takeData(upTo: 999) }
        #expect(await transfer.isComplete)
        try await transfer.rewind(to: 0, reason: reason)
        #expect(await transfer.plan() == .whole(reason: nil))
        #expect(store.size == 0)
        try await TemporaryFolder.with { folder in
            let disk = try await DownloadStore.open(at: folder["store"])
            await #expect(throws: StoreError(.noEntry, "")) { try await transfer.promote(to: disk) }
            _ = try await transfer.receive(Self.head(10), to: .whole(reason: nil))
            await #expect(throws: StoreError(.noEntry, "")) { try await transfer.promote(to: disk) }
            #expect(try await disk.entries().isEmpty)
            await disk.close()
        }
        try await transfer.write(sampleBytes(10))
        #expect(try await transfer.endBody(.whole))
    }

    @Test("A download in memory is read while it is received, and is delivered only after it was moved to disk")
    func disk() async throws {
        let memory = MemoryStore()
        let content = Self.server(20_000).content
        let transfer = try await memory.open(try Self.url("a"), headerFields: [:])
        try await Self.server(20_000).fill(transfer, upTo: 10_000)
        #expect(await transfer.heldRanges == [0..<10_000])
        #expect(try await transfer.read(5_000..<7_000) == Array(content[5_000..<7_000]))
        await #expect(throws: StoreError(.notHeld, "")) { try await transfer.read(9_000..<10_001) }
        #expect(try await Self.server(20_000).fill(transfer))
        try await TemporaryFolder.with { folder in
            let destination = try Destination(checking: folder["out"])
            await #expect(throws: StoreError(.misuse, "")) { try await transfer.deliver(to: destination) }
            let disk = try await DownloadStore.open(at: folder["store"])
            let moved = try await transfer.promote(to: disk)
            await #expect(throws: StoreError(.misuse, "")) { try await moved.promote(to: disk) }
            await #expect(throws: StoreError(.notHeld, "")) { try await transfer.read(0..<1) }
            try await moved.deliver(to: destination)
            #expect(try Files.bytes(folder["out"]) == content)
            await disk.close()
        }
        #expect(memory.entries.isEmpty && memory.size == 0)
    }

    @Test("Nothing is written for a plan that was made before everything was discarded")
    func planBeforeDiscard() async throws {
        let transfer = try await MemoryStore().open(try Self.url("a"), headerFields: [:])
        try await Self.server(20_000).fill(transfer, upTo: 10_000)
        let plan = await transfer.plan()
        try await transfer.discard(reason: Reason(code: "test", text: "Test."))
        let (head, _) = Self.server(20_000).answer(plan.fields)
        _ = try await transfer.receive(head, to: plan)
        await #expect(throws: StoreError(.misuse, "")) { try await transfer.write([1]) }
        #expect(try await Self.server(20_000).fill(transfer))
    }
}
