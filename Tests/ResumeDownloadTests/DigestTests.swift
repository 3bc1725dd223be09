import Foundation
import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Digests of resources.
enum Sample {
    static func sha256(_ resource: Resource) -> [UInt8] { HTTPDigest(.sha256, of: resource.bytes)?.bytes ?? [] }

    static func sha512(_ resource: Resource) -> [UInt8] { HTTPDigest(.sha512, of: resource.bytes)?.bytes ?? [] }

    /// A field with the digest of some bytes.
    static func field(_ bytes: [UInt8]) -> String {
        "sha-256=:\(Data(HTTPDigest(.sha256, of: bytes)?.bytes ?? []).base64EncodedString()):"
    }
}

/// Digests from callers and servers, on the wire.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct DigestTests {
    private static let right = Sample.field(Resource.old.bytes)
    private static let wrong = Sample.field(Resource.new.bytes)

    private static let announced: Resource = {
        var resource = Resource.old
        resource.extraFields = [("Repr-Digest", right)]
        return resource
    }()

    private static func announcing(_ value: String, as name: String = "Repr-Digest") -> Origin.Handler {
        { request in
            var resource = Resource.old
            resource.extraFields = [(name, value)]
            return .file(resource, for: request)
        }
    }

    @Test("K01: Repr-Digest is requested and compared before the delivery, resumed or not")
    func announced() async throws {
        try await Origin.afterCut(of: Self.announced) { origin in
            origin.server.setHandler(Self.announcing(Self.right))
            let result = try await origin.get(.old, reusing: 60_000)
            #expect(result.digest?.bytes == Sample.sha256(.old))
            #expect(origin.server.requests.count == 2)
            #expect(origin.server.requests.allSatisfy { $0.field("Want-Repr-Digest") != nil })
        }
        try await Origin.with(Self.announcing(Self.right)) { origin async throws in
            #expect(try await origin.get().digest?.bytes == Sample.sha256(.old))
        }
    }

    @Test("K02, K07: a wrong Repr-Digest is never delivered: one restart, then an error that names its source")
    func announcedWrong() async throws {
        try await Origin.with(Self.announcing(Self.wrong)) { origin async throws in
            let error = await origin.fails(.digestMismatch, because: "announced-digest-mismatch")
            #expect(error?.reason.text.hasSuffix("the received file is kept in the store") == true)
            #expect(origin.server.requests.count == 2)
            #expect(try await origin.store.entries().map(\.receivedBytes) == [100_000])
            // The server no longer names the digest; what contradicts the stored file is not believed meanwhile.
            for isWhole in [false, true] {
                origin.server.setHandler { request in
                    if isWhole || request.field("Range") != nil { return .file(.old, for: request) }
                    return .status("200 OK", fields: [("Content-Type", "text/html")], body: Array("<html>".utf8))
                }
                _ = try? await origin.get()
                #expect(((try? origin.hasDelivered(.old)) ?? false) == isWhole)
                #expect(try await origin.store.entries().map(\.receivedBytes).max() == (isWhole ? nil : 100_000))
            }
        }
    }

    @Test("Bytes that the server's digest has refuted do not contradict the length of the right file")
    func refutedLength() async throws {
        try await Origin.with({ request in
            if request.number > 1 { return .file(Self.announced, for: request) }
            // The end of the connection ends the body.
            let fields = [("ETag", "\"a\""), ("Repr-Digest", Self.right)]
            let content = Resource.old.content
            return Response([.head(status: "200 OK", fields: fields), .raw(content.bytes(in: 0..<40_000)), .close])
        }) { origin in
            try await origin.get(.old)
            #expect(origin.server.requests.count == 2)
        }
    }

    @Test("After a body that was given up, the stored bytes go on, and the digest is theirs")
    func givenUp() async throws {
        let old = HTTPDigest(.sha256, bytes: Sample.sha256(.old))
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                guard request.number == 2 else { return .file(.old, for: request) }
                let fields = [("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")]
                return Response([
                    .head(status: "200 OK", fields: fields), .raw(Array("3\r\nabc\r\n0\r\n\r\n".utf8)),
                ])
            }
            try await origin.get(.old, reusing: 60_000) { $0.digest = old }
        }
    }

    @Test(
        "A later copy that does not have the digest either takes the place of the first one, unless that is pinned",
        arguments: [false, true])
    func laterCopy(isPinned: Bool) async throws {
        let first = Resource(Resource.old.content)
        let later = Resource(Resource.new.content)
        let left = isPinned ? Resource.old : .new
        let typed = HTTPDigest(.sha256, bytes: [UInt8](repeating: 7, count: 32))
        let right = HTTPDigest(.sha256, bytes: Sample.sha256(left))
        try await Origin.with({ request in .file(request.number == 1 ? first : later, for: request) }) { origin in
            for _ in 0..<2 {
                await origin.fails(.digestMismatch) { $0.digest = typed }
                if isPinned { #expect(try await origin.store.setPinned(true, for: DownloadURL(origin.url))) }
            }
            let count = origin.server.requests.count
            try await origin.get(left) { $0.digest = right }
            #expect(origin.server.requests.count == count)
        }
    }

    @Test("K05, K06: values that are not digests are ignored")
    func unusable() async throws {
        for value in ["md5=:AAAA:", "sha-256=:AAAA:", "sha-256=oops", ",,,", "unixsum=1"] {
            try await Origin.with(Self.announcing(value)) { origin async throws in
                #expect(try await origin.get().digest == nil)
                #expect(try origin.hasDelivered(.old))
            }
        }
    }

    @Test(
        "K08: a digest in the trailer is ignored",
        .curlOnly("FoundationNetworking ends the program at a trailer"))
    func trailer() async throws {
        let trailer: Origin.Handler = { _ in
            let content = Resource.old.content
            let fields = [("ETag", "\"a\""), ("Transfer-Encoding", "chunked"), ("Trailer", "Repr-Digest")]
            return Response([
                .head(status: "200 OK", fields: fields), .chunked(content, content.all, chunkSize: 9000),
                .raw(Array("0\r\nRepr-Digest: \(Self.wrong)\r\n\r\n".utf8)),
            ])
        }
        try await Origin.with(trailer) { origin async throws in
            #expect(try await origin.get().digest == nil && origin.server.requests.count == 1)
            #expect(try origin.hasDelivered(.old))
        }
    }

    @Test("K09: the caller's digest takes precedence over every field", arguments: [true, false])
    func callers(isSHA512: Bool) async throws {
        let digest =
            isSHA512
            ? HTTPDigest(.sha512, bytes: Sample.sha512(.old)) : HTTPDigest(.sha256, bytes: Sample.sha256(.old))
        try await Origin.with(Self.announcing(Self.wrong)) { origin in
            let result = try await origin.get(.old) { $0.digest = digest }
            #expect(result.digest == digest)
            #expect(origin.server.requests.allSatisfy { $0.field("Want-Repr-Digest") == nil })
        }
    }

    @Test("D14: the digest detects a file that is rewritten while it is sent")
    func rewritten() async throws {
        let (old, new) = (Resource.old.bytes, Resource.new.bytes)
        let mixed: Origin.Handler = { request in
            guard request.number == 1 else { return .file(.old, for: request) }
            return .status("200 OK", fields: [("ETag", "\"a\"")], body: Array(old[..<50_000] + new[50_000...]))
        }
        try await Origin.with(mixed) { origin in
            let configure: (inout DownloadRequest) -> Void = { request in
                request.digest = HTTPDigest(.sha256, bytes: Sample.sha256(.old))
            }
            await origin.fails(.digestMismatch, configure)
            #expect(origin.server.requests.count == 1, "nothing of it was put together here")
            #expect(try await origin.reasons().contains("digest-mismatch"))
            try await origin.get(.old, configure)
        }
    }

    @Test(
        "Several answers with a wrong combined digest are confirmed, and fetched again on the next request"
    )
    func putTogether() async throws {
        let (old, new) = (Resource.old.bytes, Resource.new.bytes)
        let mixed = Resource(Content(Array(new[..<10_000] + old[10_000...])), etag: "\"a\"")
        try await Origin.afterCut(of: mixed, at: 50_000) { origin async throws in
            origin.server.setHandler { .file(Resource(Content(old), etag: "\"a\""), for: $0) }
            let configure: (inout DownloadRequest) -> Void = {
                $0.digest = HTTPDigest(.sha256, bytes: Sample.sha256(.old))
            }
            await origin.fails(.digestMismatch, configure)
            #expect(origin.server.requests.count == 2)
            #expect(try await origin.get(configure).reusedBytes == 0 && origin.server.requests.count == 3)
            #expect(try origin.hasDelivered(.old))
            #expect(try await origin.reasons().contains("digest-insisted"))
            #expect(try await origin.store.entries().isEmpty, "the bytes that have not that digest went")
        }
    }

    @Test("A mistyped digest costs no byte: the right one delivers the stored file")
    func mistyped() async throws {
        let (right, wrong) = (
            HTTPDigest(.sha256, bytes: Sample.sha256(.old)), HTTPDigest(.sha512, bytes: Sample.sha512(.new))
        )
        for held: Int64? in [nil, 60_000] {
            try await Origin.with({ .file(.old, for: $0, cutAfter: $0.number == 1 ? held : nil) }) { origin in
                await origin.fails(.digestMismatch) { $0.digest = wrong }
                let count = origin.server.requests.count
                #expect(count == (held == nil ? 1 : 2))
                // The server is asked once whether it has these bytes.
                let other = HTTPDigest(.sha512, bytes: Sample.sha512(.old).reversed())
                await origin.fails(.digestMismatch) { $0.digest = other }
                #expect(origin.server.requests.count == count + 1)
                let result = try await origin.get(.old) { $0.digest = right }
                #expect(result.fetchedBytes == 0 && origin.server.requests.count == count + 1)
            }
        }
    }

    @Test("A wrong digest of a file that has since changed: the new one is fetched")
    func changedMeanwhile() async throws {
        let digest = HTTPDigest(.sha256, bytes: Sample.sha256(.new))
        try await Origin.with({ .file(.old, for: $0) }) { origin in
            await origin.fails(.digestMismatch) { $0.digest = HTTPDigest(.sha512, bytes: Sample.sha512(.new)) }
            origin.server.setHandler { .file(.new, for: $0) }
            try await origin.get(.new) { $0.digest = digest }
            #expect(origin.server.requests.count == 2)
        }
    }

    @Test("Repeating the same digest fetches again, even if other fields differ each time")
    func insistingWithOtherFields() async throws {
        let (old, new) = (Resource.old.bytes, Resource.new.bytes)
        let mixed = Resource(Content(Array(new[..<10_000] + old[10_000...])), etag: "\"a\"")
        try await Origin.with({ .file(mixed, for: $0) }) { origin in
            let digest = HTTPDigest(.sha256, bytes: Sample.sha256(.old))
            await origin.fails(.digestMismatch) { $0.digest = digest }
            origin.server.setHandler { .file(Resource(Content(old), etag: "\"a\""), for: $0) }
            try await origin.get(.old) {
                $0.digest = digest
                $0.headerFields[.accept] = "other"
            }
        }
    }

    @Test("Repeated requests with a wrong digest keep only the first data")
    func insisting() async throws {
        let wrong = HTTPDigest(.sha256, bytes: Sample.sha256(.new))
        try await Origin.with({ .file(.old, for: $0) }) { origin async throws in
            for count in 1...3 {
                await origin.fails(.digestMismatch) { $0.digest = wrong }
                #expect(origin.server.requests.count == count)
                #expect(try await origin.store.entries().map(\.receivedBytes) == [Int64(Resource.old.bytes.count)])
                #expect(try Files.names(in: origin.folder["store/blobs"]).count == 1)
            }
            // Without a digest, the server is asked whether it still has this file.
            #expect(try await origin.get().fetchedBytes <= 4096)
            #expect(origin.server.requests.count == 4)
            #expect(try origin.hasDelivered(.old))
        }
    }

    @Test("So do repeated requests that were interrupted")
    func insistingInterrupted() async throws {
        let wrong = HTTPDigest(.sha256, bytes: Sample.sha256(.new))
        try await Origin.with({ .file(.old, for: $0, cutAfter: $0.number == 2 ? 60_000 : nil) }) {
            origin async throws in
            let length = Int64(Resource.old.bytes.count)
            await origin.fails(.digestMismatch) { $0.digest = wrong }
            await origin.fails(.unreachable) {
                $0.digest = wrong
                $0.retryPolicy.retries = 0
            }
            #expect(try await origin.store.entries().map(\.receivedBytes).sorted() == [60_000, length])
            await origin.fails(.digestMismatch) { $0.digest = wrong }
            #expect(try await origin.store.entries().map(\.receivedBytes) == [length])
            let count = origin.server.requests.count
            #expect(try await origin.get().fetchedBytes <= 4096)
            #expect(origin.server.requests.count == count + 1)
        }
    }

    @Test("K03: a part with a wrong Content-Digest is dropped, and earlier bytes stay")
    func partWrong() async throws {
        try await Origin.afterCut { origin async throws in
            origin.server.setHandler { request in
                let response = Response.file(.old, for: request)
                let isFirst = request.number == 2
                // The part is altered after the overlap, under the digest of the true one.
                guard isFirst else { return response }
                var bytes = Resource.old.content.bytes(in: 55_904..<100_000)
                let digest = Sample.field(bytes)
                bytes[40_000] ^= 1
                return .status(
                    "206 Partial Content",
                    fields: [
                        ("ETag", "\"a\""), ("Content-Range", "bytes 55904-99999/100000"), ("Content-Digest", digest),
                    ], body: bytes)
            }
            try await origin.get(.old, reusing: 60_000)
            // Requested again from the same offset.
            let ranges = origin.requests(after: 1).map { $0.field("Range") ?? "none" }
            #expect(ranges == ["bytes=55904-", "bytes=55904-"])
            #expect(try await origin.reasons().contains("content-digest-mismatch"))
        }
    }

    @Test(
        "A part with a wrong Content-Digest is dropped even if the download is cancelled after its last byte")
    func partWrongCancelled() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { _ in
                let digest = Sample.field(Resource.old.content.bytes(in: 55_904..<100_000))
                var bytes = Resource.old.bytes
                bytes[95_904] ^= 1
                let altered = Resource(Content(bytes), etag: Resource.old.etag)
                return .part(of: altered, from: 55_904, [("Content-Digest", digest)])
            }
            // Its end is never reported.
            try await Desk.with(origin, holdingEndsUntil: Flag()) { desk in
                let task = desk.downloader.makeTask(try desk.request())
                await task.resume(untilReceived: 100_000)
                #expect(await task.cancelByProducingResumeData()?.receivedBytes == 60_000)
            }
            #expect(try await origin.store.entries().map(\.receivedBytes) == [60_000])
            #expect(try await origin.reasons().contains("content-digest-mismatch"))
            origin.server.setHandler { .file(.old, for: $0) }
            try await origin.get(.old)
        }
    }

    @Test("K04: a part with the right Content-Digest, and the whole with the right Repr-Digest")
    func partRight() async throws {
        try await Origin.afterCut(of: Self.announced) { origin in
            origin.server.setHandler { request in
                let bytes = Resource.old.content.bytes(in: 55_904..<100_000)
                return .part(
                    from: 55_904, [("Content-Digest", Sample.field(bytes)), ("Repr-Digest", Self.right)])
            }
            let result = try await origin.get()
            #expect(result.reusedBytes == 60_000)
            #expect(result.digest?.bytes == Sample.sha256(.old))
            #expect(origin.requests(after: 1).count == 1)
            #expect(try await !origin.reasons().contains { $0.hasSuffix("digest-mismatch") })
            #expect(try origin.hasDelivered(.old))
        }
    }

    @Test(
        "A digest follows a long transfer through a kill to its end", arguments: [HTTPDigest.Algorithm.sha256, .sha512])
    func running(algorithm: HTTPDigest.Algorithm) async throws {
        let large = Resource(Content(length: 40 << 20, seed: 7), etag: "\"large\"")
        let bytes = algorithm == .sha256 ? Sample.sha256(large) : Sample.sha512(large)
        try await Origin.afterCut(of: large, at: 23 << 20) { origin in
            origin.server.setHandler { .file(large, for: $0) }
            let result = try await origin.get { $0.digest = HTTPDigest(algorithm, bytes: bytes) }
            #expect(result.reusedBytes == 23 << 20)
            #expect(result.digest?.bytes == bytes)
        }
    }
}
