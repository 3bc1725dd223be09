import Foundation
import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Readers of a running download: slow, two at a time, partial, or at any offset.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct StreamReaderTests {
    @Test("A slow reader does not delay the download, and can still read after the file is moved or removed")
    func slow() async throws {
        try await Desk.with({ .file(Film.file, for: $0) }) { desk in
            let stream = desk.downloader.makeStream(try desk.request())
            var reader = stream.makeAsyncIterator()
            var bytes = try #require(try await reader.next())
            let result = try await stream.value
            #expect(try desk.origin.hasDelivered(Film.file))
            try FileManager.default.removeItem(atPath: result.path)
            _ = try await desk.origin.store.collect(maximumSize: 0)
            while let piece = try await reader.next() { bytes += piece }
            #expect(bytes == Film.file.bytes)
            #expect(try await reader.next() == nil)
        }
    }

    @Test("Two readers of one stream each read all of it")
    func twoReaders() async throws {
        try await Desk.with({ .file(Film.file, for: $0, cutAfter: 900_000) }) { desk in
            let stream = desk.downloader.makeStream(try desk.request())
            async let first = Film.all(stream)
            async let second = Film.all(stream)
            #expect(try await [first, second].allSatisfy { $0 == Film.file.bytes })
        }
    }

    @Test("Leaving the loop cancels the download and keeps its partial data")
    func left() async throws {
        try await Desk.with(Film.file.stalling(at: 1_000_000)) { desk in
            let request = try desk.request()
            var count = 0
            for try await piece in desk.downloader.makeStream(request) {
                count += piece.count
                if count == 1_000_000 { break }
            }
            #expect(try await desk.idleEntry().receivedBytes == 1_000_000)
            #expect(try await desk.downloader.resumeData(for: request)?.receivedBytes == 1_000_000)
        }
    }

    @Test("Cancelling the reader cancels the download, even if the stream is still referenced")
    func cancelled() async throws {
        try await Desk.with(Film.file.stalling(at: 1_000_000)) { desk in
            let stream = desk.downloader.makeStream(try desk.request())
            let hasRead = Flag()
            let reader = Task {
                var count = 0
                for try await piece in stream {
                    count += piece.count
                    if count == 1_000_000 { hasRead.set() }
                }
            }
            try await wait { hasRead.isSet }
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
            await #expect(throws: CancellationError.self) { try await stream.value }
            #expect(try await desk.idleEntry().receivedBytes == 1_000_000)
        }
    }

    @Test("A failure of the download ends the sequence with its error, and partial data is kept")
    func failure() async throws {
        try await Desk.with({ request in
            request.number == 1 ? .file(Film.file, for: request, cutAfter: 1_000_000) : .status("404 Not Found")
        }) { desk in
            let stream = desk.downloader.makeStream(try desk.request())
            let error = await #expect(throws: DownloadError.self) { _ = try await Film.all(stream) }
            #expect(error?.status == 404 && error?.resumeData?.receivedBytes == 1_000_000)
        }
    }

    @Test("Another caller's download is waited for, and then read")
    func waiting() async throws {
        try await Desk.with({ .file(Film.file, for: $0) }) { desk in
            let transfer = try await desk.origin.store.open(try DownloadURL(desk.origin.url), headerFields: [:])
            let server = HonestServer(Film.file.bytes, etag: "\"film\"")
            try await server.fill(transfer, upTo: 2_000_000)
            let isWaiting = Flag()
            let stream = desk.downloader.makeStream(try desk.request()) { if $0 == .waiting { isWaiting.set() } }
            try await wait { isWaiting.isSet }
            #expect(await stream.heldRanges.isEmpty)
            await #expect(throws: StoreError(.notHeld, "")) { try await stream.read(0..<1) }
            try await transfer.close()
            #expect(try await Film.all(stream) == Film.file.bytes)
            #expect(desk.origin.server.requests.map { $0.field("Range") } == ["bytes=1995904-"])
        }
    }

    @Test("Random access to stored bytes, during and after the download; others give an error, not a wait")
    func randomAccess() async throws {
        try await Desk.with(Film.file.stalling(at: 2_000_000)) { desk in
            let stream = desk.downloader.makeStream(try desk.request())
            var count = 0
            for try await piece in stream {
                count += piece.count
                if count >= 1_500_000 { break }
            }
            let held = try #require(await stream.heldRanges.first)
            #expect(held.lowerBound == 0 && held.upperBound >= 1_500_000)
            for range in [0..<1, 777_777..<1_400_000, 1_499_999..<1_500_000, 5..<5] as [Range<Int64>] {
                #expect(try await stream.read(range) == Film.file.content.bytes(in: range))
            }
            for range in [2_000_000..<2_000_001, 1_000..<2_500_000, -1..<1, 0..<Int64.max, Int64.min..<0] {
                await #expect(throws: StoreError(.notHeld, "")) { try await stream.read(range) }
            }
            stream.cancel()
            _ = try? await stream.value
            #expect(await stream.heldRanges.isEmpty)
            await #expect(throws: StoreError(.notHeld, "")) { try await stream.read(0..<1) }
        }
        try await Desk.with({ .file(Film.file, for: $0) }) { desk in
            let stream = desk.downloader.makeStream(try desk.request())
            _ = try await stream.value
            #expect(await stream.heldRanges == [0..<3_000_000])
            #expect(try await stream.read(2_999_000..<3_000_000) == Film.file.content.bytes(in: 2_999_000..<3_000_000))
        }
    }

    @Test("Random access never returns bytes of a block that the disk has lost")
    func randomAccessToDamage() async throws {
        let large = Resource(Content(length: 12_000_000, seed: 9), etag: "\"large\"")
        try await DownloadStore.with { store, folder in
            let server = HonestServer(large.bytes, etag: "\"large\"")
            let url = try DownloadURL("http://127.0.0.1/file")
            let first = try await store.open(url, headerFields: [:])
            try await server.fill(first, upTo: 10_000_000)
            try await first.close()
            try Film.flip(1_000, in: folder["store/blobs"])
            let transfer = try await store.open(url, headerFields: [:])
            #expect(await transfer.heldRanges == [0..<10_000_000])
            await #expect(throws: StoreError(.heldBytesDiffer, "")) { try await transfer.read(0..<10) }
            let fine = try await transfer.read(9_000_000..<9_000_100)
            #expect(fine == large.content.bytes(in: 9_000_000..<9_000_100))
            #expect(try await transfer.confirmHeld() == false)
            #expect(await transfer.heldRanges.last?.upperBound == 10_000_000)
            await #expect(throws: StoreError(.notHeld, "")) { try await transfer.read(0..<10) }
            try await transfer.close()
        }
    }
}
