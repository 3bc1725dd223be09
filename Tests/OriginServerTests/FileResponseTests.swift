import OriginServer
import Testing

/// The answers of the honest server, read from the wire.
@Suite(.timeLimit(.minutes(20)))
struct FileResponseTests {
    private static let content = Content(length: 300_001, seed: 11)
    private static let resource = Resource(content, etag: "\"v1\"", lastModified: Resource.defaultLastModified)

    /// Fetches from a server that has one resource.
    private func fetch(
        _ resource: Resource = Self.resource,
        method: String = "GET",
        fields: [String] = []
    ) async throws -> Answer {
        try await OriginServer.withServer(handler: { .file(resource, for: $0) }) { server in
            try await RawClient.fetch(method, fields: fields, port: server.port)
        }
    }

    @Test func whole() async throws {
        let answer = try await fetch()
        #expect(answer.status == "HTTP/1.1 200 OK")
        #expect(answer.fields["content-length"] == "300001")
        #expect(answer.fields["etag"] == "\"v1\"")
        #expect(answer.fields["last-modified"] == Resource.defaultLastModified)
        #expect(answer.fields["date"] == Resource.defaultDate)
        #expect(answer.fields["accept-ranges"] == "bytes")
        #expect(answer.fields["content-range"] == nil)
        #expect(answer.body == Self.content.bytes(in: Self.content.all))
    }

    @Test(arguments: [
        ("bytes=0-0", 0, 1), ("bytes=100000-", 100_000, 300_001), ("bytes=5-299999", 5, 300_000),
        ("bytes=300000-999999999999999999999999", 300_000, 300_001), ("bytes=-7", 299_994, 300_001),
        ("BYTES=1-2", 1, 3), ("bytes=-999999999", 0, 300_001),
    ])
    func part(range: String, first: Int64, end: Int64) async throws {
        let answer = try await fetch(fields: ["Range: \(range)"])
        #expect(answer.status == "HTTP/1.1 206 Partial Content")
        #expect(answer.fields["content-range"] == "bytes \(first)-\(end - 1)/300001")
        #expect(answer.fields["content-length"] == "\(end - first)")
        #expect(answer.body == Self.content.bytes(in: first..<end))
    }

    @Test(arguments: ["bytes=300001-", "bytes=300001-300005", "bytes=-0", "bytes=99999999999999999999999-"])
    func unsatisfiable(range: String) async throws {
        let answer = try await fetch(fields: ["Range: \(range)"])
        #expect(answer.status == "HTTP/1.1 416 Range Not Satisfiable")
        #expect(answer.fields["content-range"] == "bytes */300001")
        #expect(answer.fields["content-length"] == "0")
        #expect(answer.body.isEmpty)
    }

    @Test(arguments: ["bytes=5-4", "bytes=1-2,4-5", "lines=1-2", "bytes=a-b", "bytes=", "bytes=-", "bytes 1-2"])
    func rangesThatAreIgnored(range: String) async throws {
        #expect(try await fetch(fields: ["Range: \(range)"]).status == "HTTP/1.1 200 OK")
    }

    @Test(arguments: [
        ("\"v1\"", "206 Partial Content"), ("\"v2\"", "200 OK"), ("W/\"v1\"", "200 OK"),
        (Resource.defaultLastModified, "206 Partial Content"), (Resource.defaultDate, "200 OK"),
    ])
    func ifRange(condition: String, status: String) async throws {
        let answer = try await fetch(fields: ["Range: bytes=10-19", "If-Range: \(condition)"])
        #expect(answer.status == "HTTP/1.1 \(status)")
        #expect(answer.body.count == (status == "200 OK" ? 300_001 : 10))
    }

    @Test func ifRangeWithWeakTagAndRangeOutOfBounds() async throws {
        var resource = Self.resource
        resource.etag = "W/\"v1\""
        #expect(try await fetch(resource, fields: ["Range: bytes=1-2", "If-Range: W/\"v1\""]).status.contains("200"))
        #expect(try await fetch(fields: ["Range: bytes=300001-", "If-Range: \"v2\""]).status == "HTTP/1.1 200 OK")
    }

    @Test func serversThatIgnoreWhatTheyAreTold() async throws {
        var resource = Self.resource
        resource.ignoresIfRange = true
        #expect(try await fetch(resource, fields: ["Range: bytes=1-2", "If-Range: \"v2\""]).status.contains("206"))
        resource.ignoresRange = true
        #expect(try await fetch(resource, fields: ["Range: bytes=1-2", "If-Range: \"v1\""]).status.contains("200"))
    }

    @Test(arguments: [
        ("If-Match: \"v1\"", "206"), ("If-Match: \"x,y\", \"v1\"", "206"), ("If-Match: *", "206"),
        ("If-Match: \"v2\"", "412"), ("If-Match: W/\"v1\"", "412"), ("If-None-Match: W/\"v1\"", "304"),
        ("If-None-Match: \"v2\"", "206"), ("If-None-Match: *", "304"),
    ])
    func preconditions(field: String, status: String) async throws {
        let answer = try await fetch(fields: ["Range: bytes=1-2", field])
        #expect(answer.status.hasPrefix("HTTP/1.1 \(status)"))
        #expect(answer.body.count == (status == "206" ? 2 : 0))
    }

    @Test func limitsBeyondTheBody() async throws {
        let answer = try await OriginServer.withServer { request in
            .file(Self.resource, for: request, cutAfter: .max, pausingAt: .max, for: .pause(milliseconds: 1))
        } _: { server in
            try await RawClient.fetch(fields: ["Range: bytes=5-"], port: server.port)
        }
        #expect(answer.body == Self.content.bytes(in: 5..<300_001))
    }

    @Test func methods() async throws {
        let head = try await fetch(method: "HEAD", fields: ["Range: bytes=1-2"])
        #expect(head.status == "HTTP/1.1 200 OK")
        #expect(head.fields["content-length"] == "300001")
        #expect(head.body.isEmpty)
        let post = try await fetch(method: "POST")
        #expect(post.status == "HTTP/1.1 405 Method Not Allowed")
        #expect(post.fields["allow"] == "GET, HEAD")
    }

    @Test func fieldsThatAreLeftOutAndAdded() async throws {
        var resource = Resource(Content("abc"))
        (resource.date, resource.contentType, resource.acceptRanges) = (nil, nil, nil)
        resource.extraFields = [("Digest", "x")]
        #expect(try await fetch(resource).fields == ["content-length": "3", "digest": "x"])
    }

    @Test func chunkedFramingAndFramingByTheEnd() async throws {
        var resource = Resource(Content("hello, world"))
        resource.framing = .chunked(size: 5)
        let chunked = try await fetch(resource)
        #expect(chunked.fields["content-length"] == nil)
        #expect(String(decoding: chunked.body, as: UTF8.self) == "5\r\nhello\r\n5\r\n, wor\r\n2\r\nld\r\n0\r\n\r\n")
        resource.framing = .untilClose
        let plain = try await fetch(resource)
        #expect(plain.fields["connection"] == "close")
        #expect(plain.body == Array("hello, world".utf8))
    }

    @Test func changedHead() async throws {
        let answer = try await OriginServer.withServer { request in
            .file(Self.resource, for: request).settingStatus("299 Odd")
                .settingField("content-range", to: "bytes 0-1/9").settingField("Date", to: nil)
        } _: { server in
            try await RawClient.fetch(fields: ["Range: bytes=5-6"], port: server.port)
        }
        #expect(answer.status == "HTTP/1.1 299 Odd")
        #expect(answer.fields["content-range"] == "bytes 0-1/9")
        #expect(answer.fields["date"] == nil)
        #expect(answer.body == Self.content.bytes(in: 5..<7))
    }
}
