import Foundation
import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Reading a running download: which bytes are returned, for every combination of store and server.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct StreamingTests {
    @Test("From nothing: all bytes, in order, and the file", arguments: [0, 1, 262_144, 262_145, 3_000_000])
    func fromNothing(length: Int64) async throws {
        let resource = Resource(Content(length: length, seed: 3), etag: "\"a\"")
        try await Desk.with({ .file(resource, for: $0) }) { desk in
            let stream = desk.downloader.makeStream(try desk.request())
            #expect(try await Film.all(stream, delivering: desk.output, of: Int(length)) == resource.bytes)
            #expect(try desk.origin.hasDelivered(resource))
            #expect(try await stream.value.totalBytes == length)
        }
    }

    @Test("From nothing: bytes are returned before the download ends, even if no length is known")
    func early() async throws {
        for framing in [Resource.Framing.contentLength, .chunked(size: 10_000)] {
            var resource = Film.file
            resource.framing = framing
            let served = resource
            let hasRead = Flag()
            try await Desk.with(Film.serving(served, cutAfter: 1_000_000, then: served, after: hasRead)) { desk in
                let stream = desk.downloader.makeStream(try desk.request(Film.patient))
                #expect(try await Film.all(stream, telling: hasRead) == served.bytes)
            }
        }
    }

    @Test("From a partial: stored bytes are returned first, and not fetched again")
    func fromPartial() async throws {
        try await Desk.with({ .file(Film.file, for: $0) }) { desk in
            try await Film.leave(2_000_000, of: Film.file, desk)
            let bytes = try await Film.all(desk.downloader.makeStream(try desk.request()), delivering: desk.output)
            #expect(bytes == Film.file.bytes)
            #expect(desk.origin.server.requests.map { $0.field("Range") } == ["bytes=1995904-"])
        }
    }

    @Test("From a partial of a file that changed: only the new one is read")
    func fromOutdatedPartial() async throws {
        for disguise in ["\"other\"", "\"film\""] {
            var other = Film.other
            other.etag = disguise
            let served = other
            try await Desk.with({ .file(served, for: $0) }) { desk in
                try await Film.leave(2_000_000, of: Film.file, desk)
                #expect(try await Film.all(desk.downloader.makeStream(try desk.request())) == served.bytes)
            }
        }
    }

    @Test("A complete file is read without a request")
    func complete() async throws {
        try await Desk.with({ .file(Film.file, for: $0) }) { desk in
            let transfer = try await desk.origin.store.open(try DownloadURL(desk.origin.url), headerFields: [:])
            let server = HonestServer(Film.file.bytes, etag: "\"film\"")
            #expect(try await server.fill(transfer))
            try await transfer.close()
            #expect(try await Film.all(desk.downloader.makeStream(try desk.request())) == Film.file.bytes)
            #expect(desk.origin.server.requests.isEmpty)
        }
    }

    @Test("Across cuts: the sequence continues where it was")
    func cuts() async throws {
        try await Desk.with({ .file(Film.file, for: $0, cutAfter: 700_000) }) { desk async throws in
            #expect(try await Film.all(desk.downloader.makeStream(try desk.request())) == Film.file.bytes)
            #expect(desk.origin.server.requests.count > 3)
        }
    }

    @Test("A file that changes after bytes were read is never spliced: an error, and the new one by a new stream")
    func changed() async throws {
        let longer = Resource(Content(length: 4_000_000, seed: 8), etag: "\"longer\"")
        let shorter = Resource(Content(length: 100_000, seed: 7), etag: "\"shorter\"")
        var disguised = Film.other
        disguised.etag = Film.file.etag
        for second in [Film.other, longer, shorter, disguised] {
            let hasRead = Flag()
            try await Desk.with(Film.serving(Film.file, cutAfter: 2_000_000, then: second, after: hasRead)) { desk in
                let stream = desk.downloader.makeStream(try desk.request(Film.patient))
                let error = await #expect(throws: DownloadError.self) {
                    _ = try await Film.all(stream, telling: hasRead)
                }
                #expect(error?.code == .representationChanged)
                let again = desk.downloader.makeStream(try desk.request())
                #expect(try await Film.all(again) == second.bytes)
            }
        }
    }

    @Test("A restart with the same bytes continues, from a server without validators or without ranges")
    func sameAgain() async throws {
        var rangeless = Film.file
        rangeless.ignoresRange = true
        var unknown = Resource(Film.file.content)
        unknown.framing = .chunked(size: 10_000)
        for resource in [
            Resource(Film.file.content), rangeless, Resource(Film.file.content, etag: "W/\"weak\""), unknown,
        ] {
            let hasRead = Flag()
            try await Desk.with(Film.serving(resource, cutAfter: 2_000_000, then: resource, after: hasRead)) { desk in
                let stream = desk.downloader.makeStream(try desk.request(Film.patient))
                #expect(try await Film.all(stream, telling: hasRead) == Film.file.bytes)
                #expect(try desk.origin.hasDelivered(Film.file))
            }
        }
    }

    @Test("Bytes returned before their Content-Digest proves wrong are never followed by others")
    func contentDigest() async throws {
        let film = Film.file.bytes
        let wrong = Resource(
            Content(Array(film[..<1_500_000]) + Array(Film.other.bytes[1_500_000...])), etag: Film.file.etag)
        let right = Sample.field(Array(film[995_904...]))
        let handler: Origin.Handler = { request in
            request.number == 1
                ? .part(of: wrong, from: 995_904, [("Content-Digest", right)]) : .file(Film.file, for: request)
        }
        try await Origin.with(handler) { origin in
            let hasRead = Flag()
            try await Desk.with(origin, holdingEndsUntil: hasRead) { desk in
                try await Film.leave(1_000_000, of: Film.file, desk)
                let stream = desk.downloader.makeStream(try desk.request())
                var bytes: [UInt8] = []
                let error = await #expect(throws: DownloadError.self) {
                    for try await piece in stream {
                        bytes += piece
                        if bytes.count > 2_000_000 { hasRead.set() }
                    }
                }
                #expect(error?.code == .representationChanged)
                #expect(wrong.content.matches(bytes), "what was handed out is of one answer")
                #expect(try await Film.all(desk.downloader.makeStream(try desk.request())) == film)
            }
        }
    }

    @Test("A stored block that the disk has lost is fetched again before it is returned")
    func damaged() async throws {
        let large = Resource(Content(length: 12_000_000, seed: 9), etag: "\"large\"")
        try await Desk.with({ .file(large, for: $0) }) { desk in
            try await Film.leave(10_000_000, of: large, desk)
            try Film.flip(1_000, in: desk.origin.folder["store/blobs"])
            #expect(try await Film.all(desk.downloader.makeStream(try desk.request())) == large.bytes)
            #expect(try desk.origin.hasDelivered(large))
            #expect(try await desk.origin.reasons().contains("block-damaged"))
        }
    }

    @Test("A digest that is not the file's: an error before the last byte, and no file")
    func digest() async throws {
        let wrong = HTTPDigest(.sha256, bytes: Sample.sha256(Film.other))
        try await Desk.with({ .file(Film.file, for: $0) }) { desk in
            let stream = desk.downloader.makeStream(try desk.request { $0.digest = wrong })
            var count = 0
            let error = await #expect(throws: DownloadError.self) {
                for try await piece in stream { count += piece.count }
            }
            #expect(error?.code == .digestMismatch)
            #expect(count < 3_000_000)
            #expect(!Files.exists(desk.output))
        }
        let right = HTTPDigest(.sha512, bytes: Sample.sha512(Film.file))
        try await Desk.with({ .file(Film.file, for: $0) }) { desk in
            let stream = desk.downloader.makeStream(try desk.request { $0.digest = right })
            #expect(try await Film.all(stream) == Film.file.bytes)
        }
    }

    @Test("A file edited while a slow reader continues is detected by the digest")
    func editedMeanwhile() async throws {
        try await Desk.with({ .file(Film.file, for: $0) }) { desk in
            let digest = HTTPDigest(.sha256, bytes: Sample.sha256(Film.file))
            let stream = desk.downloader.makeStream(try desk.request { $0.digest = digest })
            var reader = stream.makeAsyncIterator()
            _ = try await reader.next()
            let result = try await stream.value
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: result.path))
            try file.seek(toOffset: 2_999_999)
            try file.write(contentsOf: [Film.file.bytes[2_999_999] ^ 1])
            try file.close()
            let error = await #expect(throws: DownloadError.self) { while try await reader.next() != nil {} }
            #expect(error?.code == .digestMismatch)
        }
    }
}
