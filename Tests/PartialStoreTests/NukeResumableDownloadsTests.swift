import HTTPTypes
import OriginServer
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// "Resumable Downloads" (kean.blog), step by step, in memory as in Nuke, and on disk.
@Suite(.timeLimit(.minutes(10)))
struct NukeResumableDownloadsTests {
    static let file = Resource(Content(length: 60_000, seed: 1), etag: "\"v1\"")
    static let changed = Resource(Content(length: 60_000, seed: 2), etag: "\"v2\"")

    /// A first request that is cut, and later ones that are not.
    static func cutOnce(_ resource: Resource, then other: Resource? = nil) -> @Sendable (OriginRequest) -> Response {
        { .file($0.number == 1 ? resource : other ?? resource, for: $0, cutAfter: $0.number == 1 ? 20_000 : nil) }
    }

    @Test("The data is kept when the request fails", arguments: Place.allCases)
    func keptAfterFailure(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0, cutAfter: 20_000) }) { visit in
            #expect(await visit.fetchCut())
            let held = try await visit.held()
            #expect(held.length == 20_000)
            #expect(held.representation?.validator?.fieldValue == Array("\"v1\"".utf8))
        }
    }

    @Test("The data is kept when the request is cancelled", arguments: Place.allCases)
    func keptAfterCancellation(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0, cutAfter: 20_000, stall: true) }) { visit in
            let received = Counter()
            let task = Task { try await visit.fetch { received.add($0) } }
            try await wait { received.value >= 20_000 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await visit.held().length == 20_000)
        }
    }

    @Test(
        "The next request has Range and If-Range, and resumes where the previous one stopped",
        arguments: Place.allCases)
    func resumed(_ place: Place) async throws {
        try await Visit.with(place, Self.cutOnce(Self.file)) { visit in
            #expect(await visit.fetchCut())
            let bytes = try await visit.fetch()
            #expect(bytes == Self.file.bytes)
            #expect(visit.request?.field("Range") == "bytes=\(20_000 - 4096)-")
            #expect(visit.request?.field("If-Range") == "\"v1\"")
            #expect(visit.request?.field("If-Match") == nil)
            #expect(visit.server.requests.count == 2)
            let held = try await visit.held()
            #expect(held.isEmpty, "what was handed over is not held any more")
        }
    }

    @Test("206 confirms that the data may be used: the rest is appended to it", arguments: Place.allCases)
    func appended(_ place: Place) async throws {
        try await Visit.with(place, Self.cutOnce(Self.file)) { visit in
            #expect(await visit.fetchCut())
            let transfer = try await visit.store.open(
                try visit.url, headerFields: [:], key: nil, selection: nil, policy: ResumePolicy(), waits: true)
            let plan = await transfer.plan()
            let (head, body) = try await SmallClient.get(port: visit.server.port, plan.fields)
            #expect(head.status.code == 206)
            let verdict = try await transfer.receive(head, to: plan)
            guard case .append(let continuation) = verdict else {
                Issue.record("\(verdict)")
                return
            }
            #expect(continuation.offset == 20_000)
            for try await part in body { try await transfer.write(Array(part)) }
            #expect(try await transfer.endBody(.whole))
            #expect(try await transfer.takeData(upTo: 60_000) == Self.file.bytes)
        }
    }

    @Test("200 instead: the data is discarded, and the new file is complete", arguments: Place.allCases)
    func discarded(_ place: Place) async throws {
        try await Visit.with(place, Self.cutOnce(Self.file, then: Self.changed)) { visit async throws in
            #expect(await visit.fetchCut())
            #expect(try await visit.fetch() == Self.changed.bytes)
            #expect(visit.server.requests.count == 2, "If-Range gets the new file in one request; If-Match gets 412")
        }
    }

    @Test("Without a validator nothing is resumed", arguments: Place.allCases)
    func noValidator(_ place: Place) async throws {
        let resource = Resource(Content(length: 60_000, seed: 1))
        try await Visit.with(place, Self.cutOnce(resource)) { visit async throws in
            #expect(await visit.fetchCut())
            #expect(try await visit.fetch() == resource.bytes)
            #expect(visit.request?.field("Range") == nil)
        }
    }

    @Test("If the server says that it serves no ranges, one is requested all the same", arguments: Place.allCases)
    func noRanges(_ place: Place) async throws {
        var resource = Self.file
        resource.acceptRanges = "none"
        let file = resource
        try await Visit.with(place, Self.cutOnce(file)) { visit in
            #expect(await visit.fetchCut())
            let bytes = try await visit.fetch()
            #expect(bytes == file.bytes)
            #expect(visit.request?.field("Range") == "bytes=15904-")
        }
    }

    // Nuke requires `Accept-Ranges: bytes` first. This package examines the answer instead: a server need not send that
    // field (RFC 9110, 14.3), and one that ignores `Range` answers 200.
    @Test("If the server does not mention ranges, one is requested, and the answer decides", arguments: Place.allCases)
    func silentAboutRanges(_ place: Place) async throws {
        for ignoresRange in [false, true] {
            var resource = Self.file
            resource.acceptRanges = nil
            resource.ignoresRange = ignoresRange
            let file = resource
            try await Visit.with(place, Self.cutOnce(file)) { visit async throws in
                #expect(await visit.fetchCut())
                #expect(try await visit.fetch() == file.bytes)
                #expect(visit.request?.field("Range") != nil)
            }
        }
    }

    @Test("Last-Modified is used if there is no entity tag", arguments: Place.allCases)
    func lastModified(_ place: Place) async throws {
        let resource = Resource(Content(length: 60_000, seed: 1), lastModified: Resource.defaultLastModified)
        try await Visit.with(place, Self.cutOnce(resource)) { visit async throws in
            #expect(await visit.fetchCut())
            #expect(try await visit.fetch() == resource.bytes)
            #expect(visit.request?.field("If-Range") == Resource.defaultLastModified)
        }
    }

    @Test("A weak entity tag is not used, even with a date beside it", arguments: Place.allCases)
    func weakEntityTag(_ place: Place) async throws {
        let resource = Resource(
            Content(length: 60_000, seed: 1), etag: "W/\"v1\"", lastModified: Resource.defaultLastModified)
        try await Visit.with(place, Self.cutOnce(resource)) { visit async throws in
            #expect(await visit.fetchCut())
            #expect(try await visit.fetch() == resource.bytes)
            #expect(visit.request?.field("Range") == nil)
        }
    }

    @Test("Field names are case-insensitive (SR-2429)", arguments: Place.allCases, ["Etag", "etag", "ETAG"])
    func fieldNames(_ place: Place, _ name: String) async throws {
        var resource = Resource(Content(length: 60_000, seed: 1))
        resource.extraFields = [(name, "\"v1\"")]
        let file = resource
        try await Visit.with(place, { .file(file, for: $0, cutAfter: 20_000) }) { visit async throws in
            #expect(await visit.fetchCut())
            #expect(try await visit.held().representation?.validator != nil)
        }
    }

    @Test("Two files are never mixed, whatever the server answers", arguments: Place.allCases)
    func neverMixed(_ place: Place) async throws {
        var liar = Self.changed
        liar.ignoresIfRange = true
        // 206 with another entity tag; 206 with the same one for other bytes.
        for tag in ["\"v2\"", "\"v1\""] {
            liar.etag = tag
            let other = liar
            try await Visit.with(place, Self.cutOnce(Self.file, then: other)) { visit async throws in
                #expect(await visit.fetchCut())
                #expect(try await visit.fetch() == other.bytes, "\(tag)")
                #expect(visit.server.requests.count == 3)
                #expect(visit.request?.field("Range") == nil)
            }
        }
    }

    @Test("A second interruption keeps the bytes of both requests", arguments: Place.allCases)
    func secondInterruption(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0, cutAfter: $0.number < 3 ? 20_000 : nil) }) { visit in
            #expect(await visit.fetchCut())
            #expect(await visit.fetchCut())
            #expect(try await visit.held().length == 40_000 - 4096)
            let bytes = try await visit.fetch()
            #expect(bytes == Self.file.bytes)
            #expect(visit.request?.field("Range") == "bytes=\(40_000 - 2 * 4096)-")
        }
    }

    @Test("If no byte was received, nothing is kept", arguments: Place.allCases)
    func nothingCame(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0, cutAfter: $0.number == 1 ? 0 : nil) }) {
            visit async throws in
            #expect(await visit.fetchCut())
            #expect(try await visit.held().isEmpty)
            #expect(try await visit.fetch() == Self.file.bytes)
            #expect(visit.request?.field("Range") == nil)
        }
    }

    @Test("An empty file is complete", arguments: Place.allCases)
    func emptyFile(_ place: Place) async throws {
        try await Visit.with(place, { .file(Resource(Content([]), etag: "\"v1\""), for: $0) }) { visit async throws in
            #expect(try await visit.fetch().isEmpty)
            #expect(try await visit.held().representation == nil)
        }
    }
}
