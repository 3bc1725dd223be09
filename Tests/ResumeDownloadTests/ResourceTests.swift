import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import ResumeTesting
import TestSupport
import Testing

/// Whose bytes continue (RULES 1 and 2): other callers, addresses and connections with the same validator.
@Suite(.timeLimit(.minutes(5)))
struct ResourceTests {
    private static let cut: Int64 = 600_000
    private static let one = Resource(Content(length: 1_000_000, seed: 21), etag: "\"same\"")
    /// Another file with the same tag and length, and the same bytes before the cut and at the end.
    private static let two: Resource = {
        var bytes = Content(length: 1_000_000, seed: 22).bytes(in: 0..<1_000_000)
        for range in [Int(cut) - 4096..<Int(cut), 995_904..<1_000_000] { bytes[range] = one.bytes[range][...] }
        return Resource(Content(bytes), etag: "\"same\"")
    }()
    private static let digest = HTTPDigest(.sha256, of: one.bytes)

    private static func url(_ origin: Origin, _ target: String) throws -> DownloadURL {
        try DownloadURL(origin.server.baseURL + target)
    }

    /// Leaves the beginning of a file, or all of it but not delivered.
    private static func leave(
        _ origin: Origin, _ target: String = "/file", fields: HTTPFields = [:], key: String? = nil,
        selection: RangeSelection? = nil, from final: DownloadURL? = nil, _ resource: Resource = one,
        length: Int64 = cut, policy: ResumePolicy = ResumePolicy()
    ) async throws {
        let transfer = try await origin.store.open(
            try url(origin, target), headerFields: fields, key: key, selection: selection, policy: policy)
        var head = HTTPResponse(status: .ok)
        head.headerFields[.contentLength] = "\(resource.content.length)"
        head.headerFields[.eTag] = resource.etag
        _ = await transfer.nextRequest()
        _ = try await transfer.receive(head, from: final)
        try await transfer.write(resource.content.bytes(in: 0..<length))
        _ = try await transfer.endBody(length == resource.content.length ? .whole : .cut)
        try await transfer.close()
    }

    @Test(
        "E1: a file of another token, session or credential with the same tag is never mixed",
        arguments: ["?token=one", "?session=one", "?auth=one"], [600_000, 1_000_000] as [Int64])
    func otherToken(query: String, length: Int64) async throws {
        try await Origin.with({ .file($0.target.hasSuffix("=two") ? Self.two : Self.one, for: $0) }) { origin in
            try await Self.leave(origin, "/file\(query)", fields: [.acceptEncoding: "identity"], length: length)
            let url = try Self.url(origin, "/file" + query.replacing("one", with: "two"))
            try await origin.get(Self.two, reusing: 0, isProved: true) { $0.url = url }
            #expect(try await origin.store.entries().map(\.receivedBytes) == [length], "the first caller's bytes stay")
        }
    }

    @Test("E1: the same file for another token continues after samples, and is not proved")
    func sameFile() async throws {
        try await Origin.with({ .file(Self.one, for: $0) }) { origin in
            try await Self.leave(origin, "/file?token=one")
            let url = try Self.url(origin, "/file?token=two")
            try await origin.get(Self.one, reusing: Self.cut, isProved: false) { $0.url = url }
        }
    }

    @Test("E1: a URL that is signed again continues at once, and is proved")
    func signedAgain() async throws {
        try await Origin.with({ .file(Self.one, for: $0) }) { origin in
            let signature = "/file?X-Amz-Credential=a&X-Amz-Signature="
            try await Self.leave(origin, signature + "one")
            let url = try Self.url(origin, signature + "two")
            try await origin.get(Self.one, reusing: Self.cut, isProved: true) { $0.url = url }
            #expect(origin.server.requests.count == 1)
        }
    }

    @Test("E2: a redirect that leads to another file with the same tag is noticed")
    func redirectMoves() async throws {
        try await Origin.with({ request in
            request.path == "/file"
                ? .status("302 Found", fields: [("Location", "/v2")])
                : .file(request.path == "/v2" ? Self.two : Self.one, for: request)
        }) { origin in
            try await Self.leave(
                origin, fields: [.acceptEncoding: "identity"], from: try Self.url(origin, "/v1"))
            try await origin.get(Self.two, reusing: 0, isProved: true)
        }
    }

    @Test("E3: ranges that continue at another URL are compared, or start over", arguments: [true, false])
    func ranges(isSame: Bool) async throws {
        let selection = try RangeSelection(parsing: "bytes=100000-899999")
        try await Origin.with({ .file(isSame || $0.path == "/file" ? Self.one : Self.two, for: $0) }) { origin in
            let transfer = try await origin.store.open(
                try Self.url(origin, "/file"), headerFields: [:], key: "K", selection: selection)
            var head = HTTPResponse(status: .partialContent)
            head.headerFields[.contentRange] = "bytes 100000-899999/1000000"
            head.headerFields[.eTag] = "\"same\""
            _ = await transfer.nextRequest()
            _ = try await transfer.receive(head)
            try await transfer.write(Self.one.content.bytes(in: 100_000..<Self.cut))
            _ = try await transfer.endBody(.cut)
            try await transfer.close()
            let url = try Self.url(origin, "/mirror")
            let result = try await origin.get { ($0.url, $0.key, $0.selection) = (url, "K", selection) }
            #expect(try origin.hasDelivered(isSame ? Self.one : Self.two, 100_000..<900_000))
            #expect(result.isProved == !isSame && (result.reusedBytes > 0) == isSame)
        }
    }

    @Test(
        "E4: bytes that came over http are no part of an https file, unless a digest proves them",
        arguments: [true, false])
    func toHTTPS(hasDigest: Bool) async throws {
        try await DownloadStore.with { store, folder in
            let transport = FakeTransport(FakeResource(Self.one.bytes, cuts: [Int(Self.cut)]))
            let downloader = Downloader(store: store, transport: transport)
            var request = DownloadRequest(try DownloadURL("http://a.test/f"), to: folder["out"])
            (request.key, request.retryPolicy.retries) = ("K", 0)
            let first = request
            await #expect(throws: DownloadError.self) { try await downloader.download(first) }
            request.url = try DownloadURL("https://a.test/f")
            request.digest = hasDigest ? Self.digest : nil
            let result = try await downloader.download(request)
            #expect(try Files.bytes(folder["out"]) == Self.one.bytes)
            #expect(result.isProved && result.reusedBytes == (hasDigest ? Self.cut : 0))
        }
    }

    @Test("E4: a renewed URL does not lead from https to http")
    func renewedToHTTP() async throws {
        try await DownloadStore.with { store, folder in
            let transport = FakeTransport(FakeResource(Self.one.bytes, statuses: [403]))
            var request = DownloadRequest(try DownloadURL("https://a.test/f"), to: folder["out"])
            let plain = try DownloadURL("http://a.test/f")
            request.refresh = { _ in RefreshedRequest(url: plain) }
            let wanted = request
            let error = await #expect(throws: DownloadError.self) {
                try await Downloader(store: store, transport: transport).download(wanted)
            }
            #expect(error?.reason.code.rawValue == "renewed-to-http" && transport.requests.count == 1)
        }
    }

    @Test("A10: a run stays with the mirror that answered first")
    func alternatingMirrors() async throws {
        try await Origin.with({ request in
            guard request.path == "/file" else {
                let resource = Resource(Self.one.content, etag: "\"\(request.path)\"")
                return .file(resource, for: request, cutAfter: request.number < 6 ? 200_000 : nil)
            }
            return .status("302 Found", fields: [("Location", request.number % 2 == 0 ? "/even" : "/odd")])
        }) { origin in
            let result = try await origin.get(Self.one, isProved: true)
            #expect(result.fetchedBytes < 1_050_000)
            #expect(origin.server.requests.map(\.path).filter { $0 == "/file" }.count == 1)
        }
    }

    @Test(
        "A10: another mirror with another tag continues in a later run, by samples or a digest",
        arguments: [true, false])
    func otherMirror(hasDigest: Bool) async throws {
        try await Origin.with({ request in
            request.path == "/file"
                ? .status("302 Found", fields: [("Location", "/other")])
                : .file(Resource(Self.one.content, etag: "\"other\""), for: request)
        }) { origin in
            try await Self.leave(origin, fields: [.acceptEncoding: "identity"], from: try Self.url(origin, "/first"))
            let result = try await origin.get { $0.digest = hasDigest ? Self.digest : nil }
            #expect(try origin.hasDelivered(Self.one))
            #expect(result.reusedBytes == Self.cut && result.isProved == hasDigest)
        }
    }

    @Test("A13: without any validator, bytes of another token continue under a digest")
    func byDigest() async throws {
        let bare = Resource(Self.one.content)
        try await Origin.with({ .file(bare, for: $0) }) { origin in
            try await Self.leave(origin, "/file?token=one", bare)
            let url = try Self.url(origin, "/file?token=two")
            let result = try await origin.get { ($0.url, $0.digest) = (url, Self.digest) }
            #expect(try origin.hasDelivered(Self.one))
            #expect(result.isProved && result.reusedBytes == Self.cut && origin.server.requests.count == 1)
        }
    }

    @Test("A13: a whole without the digest delivers nothing; another digest proves it, the same one begins a new blob")
    func wrongDigest() async throws {
        let bare = Resource(Self.one.content)
        let wrong = HTTPDigest(.sha256, of: [1])
        try await Origin.with({ .file(bare, for: $0) }) { origin in
            try await Self.leave(origin, "/file?token=one", bare)
            let url = try Self.url(origin, "/file?token=two")
            let error = await origin.failure { ($0.url, $0.digest) = (url, wrong) }
            #expect(error?.code == .digestMismatch && origin.server.requests.count == 1)
            #expect(try await origin.store.entries().map(\.receivedBytes) == [1_000_000])
            await origin.fails(.digestMismatch) { ($0.url, $0.digest) = (url, wrong) }
            #expect(try await origin.store.entries().count == 2, "the first bytes stay")
            let count = origin.server.requests.count
            let result = try await origin.get(Self.one) { ($0.url, $0.digest) = (url, Self.digest) }
            #expect(result.fetchedBytes <= 4096 && origin.server.requests.count <= count + 1)
        }
    }

    @Test(
        "Rule 2: a run without the digest compares what carries its mark, or begins at the mark",
        arguments: [true, false])
    func mark(isRight: Bool) async throws {
        // The other caller's bytes are right only up to the mark.
        let stolen = isRight ? Self.one : Self.two
        try await Origin.with({ request in
            request.target.hasSuffix("two")
                ? .file(Resource(stolen.content), for: request, cutAfter: 204_096) : .file(Self.one, for: request)
        }) { origin in
            try await Self.leave(origin, "/file?token=one", fields: [.acceptEncoding: "identity"])
            let url = try Self.url(origin, "/file?token=two")
            _ = await origin.failure { ($0.url, $0.digest, $0.retryPolicy.retries) = (url, Self.digest, 0) }
            #expect(try await origin.store.entries().map(\.receivedBytes) == [800_000])
            let first = try Self.url(origin, "/file?token=one")
            let result = try await origin.get(Self.one, isProved: !isRight) { $0.url = first }
            #expect(result.reusedBytes == (isRight ? 800_000 : Self.cut))
        }
    }

    @Test("Rule 2: nobody reads bytes that only a digest proves before the whole has it")
    func withheld() async throws {
        try await Origin.with({ .file(Self.one, for: $0) }) { origin in
            try await Self.leave(origin, "/file?token=one", Resource(Self.one.content))
            let transfer = try await origin.store.open(
                try Self.url(origin, "/file?token=two"), headerFields: [:], policy: ResumePolicy(digest: Self.digest))
            let fields = await transfer.nextRequest()
            #expect(fields[.range] == "bytes=595904-" && fields[.ifRange] == nil)
            var head = HTTPResponse(status: .partialContent)
            head.headerFields[.contentRange] = "bytes 595904-999999/1000000"
            #expect(try await transfer.receive(head) == .writeBody)
            try await transfer.write(Self.one.content.bytes(in: 595_904..<800_000))
            #expect(await transfer.heldRanges.isEmpty)
            try await transfer.write(Self.one.content.bytes(in: 800_000..<1_000_000))
            #expect(try await transfer.endBody(.whole))
            #expect(await transfer.heldRanges.isEmpty)
            try await transfer.deliver(to: origin.folder["out"])
            #expect(try origin.hasDelivered(Self.one))
        }
    }

    @Test("Rule 2: the caller whose bytes lie before those does not read them in a later run either")
    func withheldLater() async throws {
        try await Origin.with({ .file(Self.one, for: $0) }) { origin in
            try await Self.leave(origin, "/file?token=one", Resource(Self.one.content))
            let transfer = try await origin.store.open(
                try Self.url(origin, "/file?token=two"), headerFields: [:], policy: ResumePolicy(digest: Self.digest))
            _ = await transfer.nextRequest()
            var head = HTTPResponse(status: .partialContent)
            head.headerFields[.contentRange] = "bytes 595904-999999/1000000"
            #expect(try await transfer.receive(head) == .writeBody)
            try await transfer.write(Self.one.content.bytes(in: 595_904..<800_000))
            _ = try await transfer.endBody(.cut)
            try await transfer.close()
            let later = try await origin.store.open(try Self.url(origin, "/file?token=one"), headerFields: [:])
            #expect(await later.receivedBytes == 800_000)
            #expect(await later.heldRanges.isEmpty)
            try await later.close()
        }
    }

    @Test("A store of the last release goes on without samples, and records the address of the first answer")
    func upgraded() async throws {
        try await Origin.with({ .file(Self.one, for: $0, cutAfter: $0.number == 1 ? 100_000 : nil) }) { origin in
            try await Self.leave(origin, fields: [.acceptEncoding: "identity"])
            do {
                let connection = try Connection.open(path: origin.folder["store/store.sqlite"])
                try connection.execute("UPDATE download SET resource = NULL")
            }
            _ = await origin.failure { $0.retryPolicy.retries = 0 }
            let resource = try Connection.open(path: origin.folder["store/store.sqlite"])
                .text("SELECT resource FROM download")
            let sender = try DownloadURL(origin.url)
            #expect(
                resource?.contains(" http \(sender.origin)/#") == true && resource?.contains(sender.address) == false)
            let result = try await origin.get(Self.one, isProved: true)
            #expect(result.reusedBytes > Self.cut && origin.server.requests.count == 2)
        }
    }
}
