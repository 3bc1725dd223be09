import Crypto
import Foundation
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Reading a download while it runs.
@Suite(.timeLimit(.minutes(10)))
struct StreamingTests {
    private static let film = Resource(Content(length: 3_000_000, seed: 7), etag: "\"film\"")
    private static let other = Resource(Content(length: 3_000_000, seed: 8), etag: "\"other\"")

    /// Reads to the end.
    ///
    /// - Returns: The bytes, with each piece held to what a piece may be.
    private static func all(_ stream: DownloadStream, delivering path: String? = nil, of length: Int = 3_000_000)
        async throws -> [UInt8]
    {
        var bytes: [UInt8] = []
        for try await piece in stream {
            #expect(!piece.isEmpty && piece.count <= 256 << 10)
            bytes += piece
            if bytes.count == length, let path {
                #expect(Files.exists(path), "the last piece comes after the delivery")
            }
        }
        return bytes
    }

    /// Leaves the first bytes of a resource in the store.
    private static func leave(_ length: Int, of resource: Resource, _ desk: Desk) async throws {
        let transfer = try await desk.origin.store.begin(try DownloadURL(desk.origin.url))
        try await HonestServer(resource.bytes, etag: resource.etag ?? "").fill(transfer, upTo: length)
        try await transfer.close()
    }

    /// Changes a byte of the only blob.
    private static func flip(_ offset: UInt64, in blobs: String) throws {
        let name = try #require(try Files.names(in: blobs).first)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: blobs + "/" + name))
        try file.seek(toOffset: offset)
        let byte = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: offset)
        try file.write(contentsOf: [byte ^ 1])
        try file.close()
    }

    /// Serves one file until it is cut, and another one when a reader has read of the first.
    private static func serving(_ first: Resource, cutAfter length: Int64, then second: Resource, after hasRead: Flag)
        -> Origin.Handler
    {
        { request in
            if request.number == 1 { return .file(first, for: request, cutAfter: length) }
            return hasRead.isSet ? .file(second, for: request) : .status("503 Service Unavailable")
        }
    }

    /// Reads the first piece, then sets a flag, then reads on.
    private static func all(_ stream: DownloadStream, telling hasRead: Flag) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await piece in stream {
            bytes += piece
            hasRead.set()
        }
        return bytes
    }

    /// So that it goes on asking for as long as the reader takes.
    private static func patient(_ request: inout DownloadRequest) {
        request.limits = .init(retries: 1_000_000, firstDelay: 0.005, longestDelay: 0.005)
    }

    @Test("From nothing: all bytes, in order, and the file", arguments: [0, 1, 262_144, 262_145, 3_000_000])
    func fromNothing(length: Int64) async throws {
        let resource = Resource(Content(length: length, seed: 3), etag: "\"a\"")
        try await Desk.with({ .file(resource, for: $0) }) { desk in
            let stream = desk.downloader.stream(try desk.request())
            let bytes = try await Self.all(stream, delivering: desk.output, of: Int(length))
            #expect(bytes == resource.bytes)
            #expect(try desk.origin.hasDelivered(resource))
            #expect(try await stream.value.totalBytes == length)
        }
    }

    @Test("From nothing: bytes come before the download ends, also where no length is known")
    func early() async throws {
        for framing in [Resource.Framing.contentLength, .chunked(size: 10_000)] {
            var resource = Self.film
            resource.framing = framing
            let served = resource
            let hasRead = Flag()
            try await Desk.with(Self.serving(served, cutAfter: 1_000_000, then: served, after: hasRead)) { desk in
                let stream = desk.downloader.stream(try desk.request(Self.patient))
                #expect(try await Self.all(stream, telling: hasRead) == served.bytes)
            }
        }
    }

    @Test("From a partial: what is held comes first, and is not fetched again")
    func fromPartial() async throws {
        try await Desk.with({ .file(Self.film, for: $0) }) { desk in
            try await Self.leave(2_000_000, of: Self.film, desk)
            let bytes = try await Self.all(desk.downloader.stream(try desk.request()), delivering: desk.output)
            #expect(bytes == Self.film.bytes)
            #expect(desk.origin.server.requests.map { $0.field("Range") } == ["bytes=1995904-"])
        }
    }

    @Test("From a partial of a file that changed: only the new one is read")
    func fromOutdatedPartial() async throws {
        for disguise in ["\"other\"", "\"film\""] {
            var other = Self.other
            other.etag = disguise
            let served = other
            try await Desk.with({ .file(served, for: $0) }) { desk in
                try await Self.leave(2_000_000, of: Self.film, desk)
                #expect(try await Self.all(desk.downloader.stream(try desk.request())) == served.bytes)
            }
        }
    }

    @Test("What is complete is read without a request")
    func complete() async throws {
        try await Desk.with({ .file(Self.film, for: $0) }) { desk in
            let transfer = try await desk.origin.store.begin(try DownloadURL(desk.origin.url))
            let server = HonestServer(Self.film.bytes, etag: "\"film\"")
            #expect(try await server.fill(transfer))
            try await transfer.close()
            #expect(try await Self.all(desk.downloader.stream(try desk.request())) == Self.film.bytes)
            #expect(desk.origin.server.requests.isEmpty)
        }
    }

    @Test("Across cuts: the sequence goes on where it was")
    func cuts() async throws {
        try await Desk.with({ .file(Self.film, for: $0, cutAfter: 700_000) }) { desk in
            let bytes = try await Self.all(desk.downloader.stream(try desk.request()))
            #expect(bytes == Self.film.bytes)
            #expect(desk.origin.server.requests.count > 3)
        }
    }

    @Test("A file that changes after bytes were read is never spliced: an error, and the new one by a new stream")
    func changed() async throws {
        let longer = Resource(Content(length: 4_000_000, seed: 8), etag: "\"longer\"")
        let shorter = Resource(Content(length: 100_000, seed: 7), etag: "\"shorter\"")
        var disguised = Self.other
        disguised.etag = Self.film.etag
        for second in [Self.other, longer, shorter, disguised] {
            let hasRead = Flag()
            try await Desk.with(Self.serving(Self.film, cutAfter: 2_000_000, then: second, after: hasRead)) { desk in
                let stream = desk.downloader.stream(try desk.request(Self.patient))
                let error = await #expect(throws: DownloadError.self) {
                    _ = try await Self.all(stream, telling: hasRead)
                }
                #expect(error?.code == .representationChanged)
                let again = desk.downloader.stream(try desk.request())
                #expect(try await Self.all(again) == second.bytes)
            }
        }
    }

    @Test("A new start with the same bytes goes on: of a server without validators, of one that serves no ranges")
    func sameAgain() async throws {
        var rangeless = Self.film
        rangeless.ignoresRange = true
        for resource in [Resource(Self.film.content), rangeless, Resource(Self.film.content, etag: "W/\"weak\"")] {
            let hasRead = Flag()
            try await Desk.with(Self.serving(resource, cutAfter: 2_000_000, then: resource, after: hasRead)) { desk in
                let stream = desk.downloader.stream(try desk.request(Self.patient))
                #expect(try await Self.all(stream, telling: hasRead) == Self.film.bytes)
                #expect(try desk.origin.hasDelivered(Self.film))
            }
        }
    }

    @Test("Bytes that were handed out before their Content-Digest was found to be wrong are never followed by others")
    func contentDigest() async throws {
        let film = Self.film.bytes
        let wrong = Resource(
            Content(Array(film[..<1_500_000]) + Array(Self.other.bytes[1_500_000...])), etag: Self.film.etag)
        let right = Sample.field(Array(film[995_904...]))
        let handler: Origin.Handler = { request in
            request.number == 1
                ? .part(of: wrong, from: 995_904, [("Content-Digest", right)]) : .file(Self.film, for: request)
        }
        try await Origin.with(handler) { origin in
            let hasRead = Flag()
            try await Desk.with(origin, holdingEndsUntil: hasRead) { desk in
                try await Self.leave(1_000_000, of: Self.film, desk)
                let stream = desk.downloader.stream(try desk.request())
                var bytes: [UInt8] = []
                let error = await #expect(throws: DownloadError.self) {
                    for try await piece in stream {
                        bytes += piece
                        if bytes.count > 2_000_000 { hasRead.set() }
                    }
                }
                #expect(error?.code == .representationChanged)
                #expect(wrong.content.matches(bytes), "what was handed out is of one answer")
                #expect(try await Self.all(desk.downloader.stream(try desk.request())) == film)
            }
        }
    }

    @Test("A held block that the disk did not keep is fetched again before it is handed out")
    func damaged() async throws {
        let large = Resource(Content(length: 12_000_000, seed: 9), etag: "\"large\"")
        try await Desk.with({ .file(large, for: $0) }) { desk in
            try await Self.leave(10_000_000, of: large, desk)
            try Self.flip(1_000, in: desk.origin.folder["store/blobs"])
            #expect(try await Self.all(desk.downloader.stream(try desk.request())) == large.bytes)
            #expect(try desk.origin.hasDelivered(large))
            #expect(try await desk.origin.reasons().contains("block-damaged"))
        }
    }

    @Test("A reader who is slow does not hold up the download; he reads on when the file has another place or none")
    func slow() async throws {
        try await Desk.with({ .file(Self.film, for: $0) }) { desk in
            let stream = desk.downloader.stream(try desk.request())
            var reader = stream.makeAsyncIterator()
            var bytes = try #require(try await reader.next())
            let result = try await stream.value
            #expect(try desk.origin.hasDelivered(Self.film))
            try FileManager.default.removeItem(atPath: result.path)
            _ = try await desk.origin.store.collect(maximumSize: 0)
            while let piece = try await reader.next() { bytes += piece }
            #expect(bytes == Self.film.bytes)
            #expect(try await reader.next() == nil)
        }
    }

    @Test("Two readers of one stream each read all of it")
    func twoReaders() async throws {
        try await Desk.with({ .file(Self.film, for: $0, cutAfter: 900_000) }) { desk in
            let stream = desk.downloader.stream(try desk.request())
            async let first = Self.all(stream)
            async let second = Self.all(stream)
            let both = try await [first, second]
            #expect(both.allSatisfy { $0 == Self.film.bytes })
        }
    }

    @Test("Leaving the loop cancels the download and keeps what came")
    func left() async throws {
        try await Desk.with(Self.film.stalling(at: 1_000_000)) { desk in
            let request = try desk.request()
            var count = 0
            for try await piece in desk.downloader.stream(request) {
                count += piece.count
                if count == 1_000_000 { break }
            }
            #expect(try await desk.idleEntry()?.receivedBytes == 1_000_000)
            #expect(try await desk.downloader.resumeData(for: request)?.receivedBytes == 1_000_000)
        }
    }

    @Test("Cancelling the reader cancels the download, also where the stream is still referred to")
    func cancelled() async throws {
        try await Desk.with(Self.film.stalling(at: 1_000_000)) { desk in
            let stream = desk.downloader.stream(try desk.request())
            let hasRead = Flag()
            let reader = Task {
                var count = 0
                for try await piece in stream {
                    count += piece.count
                    if count == 1_000_000 { hasRead.set() }
                }
            }
            while !hasRead.isSet { try await Task.sleep(for: .milliseconds(5)) }
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
            await #expect(throws: CancellationError.self) { try await stream.value }
            #expect(try await desk.idleEntry()?.receivedBytes == 1_000_000)
        }
    }

    @Test("A failure of the download ends the sequence with it, and what came is kept")
    func failure() async throws {
        try await Desk.with({ request in
            request.number == 1 ? .file(Self.film, for: request, cutAfter: 1_000_000) : .status("404 Not Found")
        }) { desk in
            let stream = desk.downloader.stream(try desk.request())
            let error = await #expect(throws: DownloadError.self) { _ = try await Self.all(stream) }
            #expect(error?.status == 404 && error?.resumeData?.receivedBytes == 1_000_000)
        }
    }

    @Test("Random access to what is held, now, and after the delivery; the rest is an error, not a wait")
    func randomAccess() async throws {
        try await Desk.with(Self.film.stalling(at: 2_000_000)) { desk in
            let stream = desk.downloader.stream(try desk.request())
            var count = 0
            for try await piece in stream {
                count += piece.count
                if count >= 1_500_000 { break }
            }
            let held = try #require(await stream.heldRanges.first)
            #expect(held.lowerBound == 0 && held.upperBound >= 1_500_000)
            for range in [0..<1, 777_777..<1_400_000, 1_499_999..<1_500_000, 5..<5] as [Range<Int64>] {
                #expect(try await stream.read(range) == Self.film.content.bytes(in: range))
            }
            for range in [2_000_000..<2_000_001, 1_000..<2_500_000, -1..<1, 0..<Int64.max, Int64.min..<0] {
                await #expect(throws: StoreError(.notHeld, "")) { try await stream.read(range) }
            }
            stream.cancel()
            _ = try? await stream.value
            #expect(await stream.heldRanges.isEmpty)
            await #expect(throws: StoreError(.notHeld, "")) { try await stream.read(0..<1) }
        }
        try await Desk.with({ .file(Self.film, for: $0) }) { desk in
            let stream = desk.downloader.stream(try desk.request())
            _ = try await stream.value
            #expect(await stream.heldRanges == [0..<3_000_000])
            #expect(try await stream.read(2_999_000..<3_000_000) == Self.film.content.bytes(in: 2_999_000..<3_000_000))
        }
    }

    @Test("Random access never gives bytes of a block that the disk did not keep")
    func randomAccessToDamage() async throws {
        let large = Resource(Content(length: 12_000_000, seed: 9), etag: "\"large\"")
        try await TemporaryFolder.with { folder in
            let store = try await DownloadStore.open(at: folder["store"])
            let server = HonestServer(large.bytes, etag: "\"large\"")
            let url = try DownloadURL("http://127.0.0.1/file")
            let first = try await store.begin(url)
            try await server.fill(first, upTo: 10_000_000)
            try await first.close()
            try Self.flip(1_000, in: folder["store/blobs"])
            let transfer = try await store.begin(url)
            #expect(await transfer.heldRanges == [0..<10_000_000])
            await #expect(throws: StoreError(.heldBytesDiffer, "")) { try await transfer.read(0..<10) }
            let fine = try await transfer.read(9_000_000..<9_000_100)
            #expect(fine == large.content.bytes(in: 9_000_000..<9_000_100))
            #expect(try await transfer.confirmHeld() == false)
            #expect(await transfer.heldRanges.last?.upperBound == 10_000_000)
            await #expect(throws: StoreError(.notHeld, "")) { try await transfer.read(0..<10) }
            try await transfer.close()
            await store.close()
        }
    }

    @Test("A digest that is not the file's: an error before the last byte, and no file")
    func digest() async throws {
        let wrong = HTTPDigest(.sha256, bytes: Sample.sha256(Self.other))
        try await Desk.with({ .file(Self.film, for: $0) }) { desk in
            let stream = desk.downloader.stream(try desk.request { $0.digest = wrong })
            var count = 0
            let error = await #expect(throws: DownloadError.self) {
                for try await piece in stream { count += piece.count }
            }
            #expect(error?.code == .digestMismatch)
            #expect(count < 3_000_000)
            #expect(!Files.exists(desk.output))
        }
        let right = HTTPDigest(.sha512, bytes: Sample.sha512(Self.film))
        try await Desk.with({ .file(Self.film, for: $0) }) { desk in
            let stream = desk.downloader.stream(try desk.request { $0.digest = right })
            #expect(try await Self.all(stream) == Self.film.bytes)
        }
    }

    @Test("A file that is edited while a slow reader reads on is found out by the digest")
    func editedMeanwhile() async throws {
        try await Desk.with({ .file(Self.film, for: $0) }) { desk in
            let digest = HTTPDigest(.sha256, bytes: Sample.sha256(Self.film))
            let stream = desk.downloader.stream(try desk.request { $0.digest = digest })
            var reader = stream.makeAsyncIterator()
            _ = try await reader.next()
            let result = try await stream.value
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: result.path))
            try file.seek(toOffset: 2_999_999)
            try file.write(contentsOf: [Self.film.bytes[2_999_999] ^ 1])
            try file.close()
            let error = await #expect(throws: DownloadError.self) { while try await reader.next() != nil {} }
            #expect(error?.code == .digestMismatch)
        }
    }

    @Test("Somebody else's download is waited for, and then read")
    func waiting() async throws {
        try await Desk.with({ .file(Self.film, for: $0) }) { desk in
            let transfer = try await desk.origin.store.begin(try DownloadURL(desk.origin.url))
            let server = HonestServer(Self.film.bytes, etag: "\"film\"")
            try await server.fill(transfer, upTo: 2_000_000)
            let isWaiting = Flag()
            let stream = desk.downloader.stream(try desk.request()) { if $0 == .waiting { isWaiting.set() } }
            while !isWaiting.isSet { try await Task.sleep(for: .milliseconds(5)) }
            #expect(await stream.heldRanges.isEmpty)
            await #expect(throws: StoreError(.notHeld, "")) { try await stream.read(0..<1) }
            try await transfer.close()
            #expect(try await Self.all(stream) == Self.film.bytes)
            #expect(desk.origin.server.requests.map { $0.field("Range") } == ["bytes=1995904-"])
        }
    }
}
