import HTTPTypes
import OriginServer
import ResumeCurl
import ResumeDownload
import ResumeHTTP
@testable import ResumeStore
import TestSupport
import Testing

/// Bytes fetched with one request, and a caller that sends a different one.
@Suite(.timeLimit(.minutes(5)))
struct IdentityTests {
    static let file = Resource(Content(length: 300_000, seed: 11), etag: "\"private\"")
    static let other = Resource(Content(length: 300_000, seed: 12), etag: "\"other\"")

    /// Serves a file to clients that have one of two tokens.
    private static let guarded: Origin.Handler = { request in
        ["Bearer one", "Bearer two"].contains(request.field("Authorization"))
            ? .file(file, for: request) : .status("401 Unauthorized")
    }

    private static func fields(_ token: String?) -> HTTPFields { token.map { [.authorization: "Bearer \($0)"] } ?? [:] }

    /// Leaves the first bytes, or all, of a file that was fetched with a token and not delivered.
    private static func leave(
        _ length: Int64, of resource: Resource = file, as fields: HTTPFields = fields("one"),
        selection: RangeSelection? = nil, vary: String? = nil, _ origin: Origin
    ) async throws {
        let transfer = try await origin.store.open(
            DownloadURL(origin.url), headerFields: fields, selection: selection)
        let server = HonestServer(resource.bytes, etag: resource.etag ?? "")
        let plan = await transfer.plan()
        var (head, body) = server.answer(plan.fields)
        if let vary { head.headerFields[.vary] = vary }
        _ = try await transfer.receive(head, to: plan)
        try await transfer.write(Array(server.content[body.lowerBound..<Int(length)]))
        _ = try await transfer.endBody(length == Int64(server.content.count) ? .whole : .cut)
        try await transfer.close()
    }

    @Test(
        "Another caller's complete download is refused if the server refuses, and stays", arguments: [nil, "x"])
    func refused(token: String?) async throws {
        try await Origin.with(Self.guarded) { origin in
            try await Self.leave(300_000, origin)
            let before = try await origin.store.entries()
            let failure = await origin.failure { $0.headerFields = Self.fields(token) }
            #expect(failure?.code == .refused && failure?.status == 401 && failure?.resumeData == nil)
            #expect(origin.server.requests.count == 1)
            #expect(origin.server.requests.last?.field("If-Range") == "\"private\"")
            let after = try await origin.store.entries()
            #expect(after.map(\.chunks) == before.map(\.chunks) && after.map(\.url) == before.map(\.url))
            // The owner of the bytes is still recorded.
            try await origin.get(Self.file) { $0.headerFields = Self.fields("one") }
            #expect(origin.server.requests.count == 1)
        }
    }

    @Test("An identical request gets the complete file without a request to the server")
    func same() async throws {
        try await Origin.with(Self.guarded) { origin in
            try await Self.leave(300_000, origin)
            let result = try await origin.get { $0.headerFields = Self.fields("one") }
            #expect(origin.server.requests.isEmpty)
            #expect(result.reusedBytes == 300_000 && result.fetchedBytes == 0)
        }
    }

    @Test(
        "Another token in a later run costs samples, or with a digest one small request, not the bytes",
        arguments: [150_000, 300_000])
    func renewed(held: Int64) async throws {
        try await Origin.with(Self.guarded) { origin in
            try await Self.leave(held, origin)
            try await origin.get(Self.file, reusing: held, isProved: false) { $0.headerFields = Self.fields("two") }
            let count = origin.server.requests.count
            try await Self.leave(held, origin)
            let result = try await origin.get(Self.file, isProved: true) {
                $0.headerFields = Self.fields("two")
                $0.digest = HTTPDigest(.sha256, of: Self.file.bytes)
            }
            #expect(origin.server.requests.count == count + 1)
            #expect(result.fetchedBytes == 300_000 - held + 4096)
        }
    }

    @Test("Bytes that the server confirms to a caller become that caller's")
    func confirmed() async throws {
        try await Origin.with(Self.guarded) { origin in
            try await Self.leave(300_000, origin)
            let url = try DownloadURL(origin.url)
            let transfer = try await origin.store.open(url, headerFields: Self.fields("two"))
            #expect(await !transfer.isComplete)
            try await HonestServer(Self.file.bytes, etag: "\"private\"").fill(transfer)
            #expect(await transfer.isComplete)
            try await transfer.close()
            _ = try await origin.get { $0.headerFields = Self.fields("two") }
            #expect(origin.server.requests.isEmpty)
        }
    }

    @Test("Each part of the request counts, and random fields do not cost a partial")
    func parts() async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            let all: [@Sendable (inout DownloadRequest) -> Void] = [
                { $0.headerFields[.accept] = "image/webp" }, { $0.headerFields[.cookie] = "session=2" },
                { $0.acceptEncoding = "gzip" }, { $0.headerFields = [HTTPField.Name("X-Request-Id")!: "17"] },
                { $0.url = (try? DownloadURL(origin.server.baseURL + "/file?token=two")) ?? $0.url },
                {
                    let authority = origin.server.baseURL.dropFirst("http://".count)
                    $0.url = (try? DownloadURL("http://user:password@\(authority)/file")) ?? $0.url
                },
            ]
            for configure in all {
                for held: Int64 in [100_000, 300_000] {
                    let count = origin.server.requests.count
                    try await Self.leave(held, as: [:], origin)
                    try await origin.get(Self.file, reusing: held, isProved: false, configure)
                    #expect(origin.server.requests.count > count)
                }
            }
        }
    }

    @Test("A caller that waits for another caller's download asks the server too")
    func waits() async throws {
        let isWaiting = Flag()
        try await Origin.with({ request in
            let response = Self.guarded(request)
            return request.field("Authorization") == "Bearer one"
                ? response.holding(after: 100_000, until: { isWaiting.isSet }) : response
        }) { origin in
            async let first = origin.get { $0.headerFields = Self.fields("one") }
            try await wait { try await origin.store.entries().first?.isInUse == true }
            let outcomes = await withTaskGroup(of: (String, String?).self) { group in
                for token in ["two", "none"] {
                    group.addTask {
                        do {
                            let path = origin.folder[token]
                            _ = try await Engine.get(origin.url, to: path, store: origin.store) {
                                $0.headerFields = Self.fields(token)
                            } onEvent: {
                                if $0 == .waiting, token == "none" { isWaiting.set() }
                            }
                            return (token, nil)
                        } catch {
                            return (token, (error as? DownloadError)?.code.rawValue ?? "\(error)")
                        }
                    }
                }
                return await group.reduce(into: [String: String?]()) { $0[$1.0] = .some($1.1) }
            }
            _ = try await first
            #expect(outcomes["two"] == .some(nil))
            #expect(outcomes["none"] == .some("refused"))
            #expect(try Files.bytes(origin.folder["two"]) == Self.file.bytes)
            #expect(!Files.exists(origin.folder["none"]))
            let asked = origin.server.requests.compactMap { $0.field("Authorization") }
            #expect(Set(asked) == ["Bearer one", "Bearer two", "Bearer none"])
        }
    }

    @Test("Another representation for another request has a separate entry; the first one stays")
    func ownEntry() async throws {
        try await Origin.with({ .file($0.field("Accept") == "b" ? Self.other : Self.file, for: $0, cutAfter: 200_000) })
        {
            origin in
            try await Self.leave(300_000, as: [:], origin)
            _ = await origin.failure {
                $0.headerFields[.accept] = "b"
                $0.retryPolicy.retries = 0
            }
            let entries = try await origin.store.entries().sorted { $0.variant < $1.variant }
            #expect(entries.map(\.variant) == [1, 2])
            #expect(entries.map(\.key) == [origin.url, origin.url + "#variant=2"])
            #expect(entries.map(\.receivedBytes) == [300_000, 200_000])
            origin.server.setHandler { .file($0.field("Accept") == "b" ? Self.other : Self.file, for: $0) }
            // Each caller continues its own entry.
            try await origin.get(Self.other, reusing: 200_000) { $0.headerFields[.accept] = "b" }
            let count = origin.server.requests.count
            try await origin.get(Self.file)
            #expect(origin.server.requests.count == count)
            #expect(try await origin.store.entries().isEmpty)
        }
    }

    @Test("Fields named by Vary create two partials side by side; random fields do not")
    func varies() async throws {
        try await Origin.with({ request in
            var resource = request.field("Accept") == "b" ? Self.other : Self.file
            resource.extraFields = [("Vary", "Accept")]
            return .file(resource, for: request)
        }) { origin in
            try await Self.leave(100_000, as: [.accept: "a"], vary: "Accept", origin)
            origin.server.setHandler { request in
                var resource = Self.other
                resource.extraFields = [("Vary", "Accept")]
                return .file(resource, for: request, cutAfter: 100_000)
            }
            _ = await origin.failure {
                $0.headerFields[.accept] = "b"
                $0.retryPolicy.retries = 0
            }
            #expect(try await origin.store.entries().map(\.receivedBytes) == [100_000, 100_000])
            #expect(try await origin.store.entries().map(\.representation?.vary) == ["accept", "accept"])
            origin.server.setHandler { .file($0.field("Accept") == "b" ? Self.other : Self.file, for: $0) }
            for (accept, resource) in [("a", Self.file), ("b", Self.other)] {
                try await origin.get(resource, reusing: 100_000) {
                    $0.headerFields = [.accept: accept, HTTPField.Name("X-Request-Id")!: "\(accept)17"]
                }
            }
        }
    }

    @Test("A renewed token continues although the answer varies with it")
    func variesWithToken() async throws {
        try await Origin.with(Self.guarded) { origin in
            try await Self.leave(100_000, vary: "Authorization", origin)
            let result = try await origin.get { $0.headerFields = Self.fields("two") }
            #expect(result.reusedBytes == 100_000)
        }
    }

    @Test("The same strong tag for other bytes: the other caller's stay as they are", arguments: [100_000, 300_000])
    func sameTag(held: Int64) async throws {
        var personal = Self.other
        personal.etag = Self.file.etag
        let mine = personal
        try await Origin.with({ .file($0.field("Cookie") == nil ? Self.file : mine, for: $0) }) { origin in
            try await Self.leave(held, as: [:], origin)
            try await origin.get(mine) { $0.headerFields[.cookie] = "me" }
            try await origin.get(Self.file, reusing: held)
        }
    }

    @Test("There are at most four variants; the next one replaces another")
    func atMostFour() async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            let url = try DownloadURL(origin.url)
            for number in 1...6 {
                let transfer = try await origin.store.open(url, headerFields: [.accept: "\(number)"])
                let server = HonestServer(sampleBytes(9000, seed: UInt64(number)), etag: "\"\(number)\"")
                while try await !server.fill(transfer) {}
                try await transfer.close()
            }
            let entries = try await origin.store.entries()
            #expect(entries.map(\.variant).sorted() == [1, 2, 3, 4])
            let tags = Set(entries.compactMap { $0.representation?.entityTag?.rawValue })
            #expect(tags.count == 4 && tags.contains("\"6\""))
            #expect(try await origin.store.totals() == Totals(entries: 4, receivedBytes: 36_000))
            #expect(try Files.names(in: origin.folder["store/blobs"]).count == 4)
        }
    }

    @Test("A limit applies to complete files and to waiting callers")
    func limit() async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            for fields in [HTTPFields(), [.accept: "b"]] {
                try await Self.leave(300_000, as: [:], origin)
                await origin.fails(.tooLarge) {
                    $0.headerFields = fields
                    $0.maximumLength = 299_999
                }
                #expect(try await origin.store.entries().map(\.receivedBytes) == [300_000])
            }
            _ = try await origin.get { $0.maximumLength = 300_000 }
        }
    }

    @Test("A caller that permits only some locations always asks")
    func permits() async throws {
        try await Origin.with({ .file(Self.file, for: $0) }) { origin in
            try await Self.leave(300_000, as: [:], origin)
            await origin.fails(.refused) { $0.permits = { _ in false } }
            #expect(origin.server.requests.isEmpty)
            try await Self.leave(300_000, as: [:], origin)
            let transport = CurlTransport.Configuration(
                connectTimeout: Engine.patience, threads: 1, permitsAddress: { _ in false })
            if TransportKind.current == .curl {
                _ = await origin.failure(transport: transport)
                #expect(origin.server.requests.isEmpty)
            }
            try await origin.get(Self.file) { $0.permits = { _ in true } }
            #expect(origin.server.requests.count == 1)
        }
    }

    @Test(
        "A stream shows none of another caller's bytes before the server has answered", arguments: [100_000, 300_000])
    func stream(held: Int64) async throws {
        let isAsked = Flag()
        try await Desk.with({ request in
            isAsked.set()
            return .status("403 Forbidden")
        }) { desk in
            try await Self.leave(held, desk.origin)
            let stream = desk.downloader.makeStream(try desk.request())
            await #expect(throws: StoreError.self) {
                while true {
                    // Refused with `notHeld` on every read.
                    _ = try await stream.read(0..<10)
                }
            }
            #expect(await stream.heldRanges.isEmpty)
            await #expect(throws: DownloadError.self) { for try await _ in stream {} }
            #expect(isAsked.isSet)
            #expect(try await desk.origin.store.entries().first?.receivedBytes == held)
        }
    }

    @Test("A stream continues with another caller's bytes once the server has answered", arguments: [100_000, 300_000])
    func streamConfirmed(held: Int64) async throws {
        try await Desk.with(Self.guarded) { desk in
            try await Self.leave(held, desk.origin)
            let request = try desk.request { $0.headerFields = Self.fields("two") }
            let stream = desk.downloader.makeStream(request)
            var bytes: [UInt8] = []
            for try await piece in stream { bytes += piece }
            #expect(bytes == Self.file.bytes)
            #expect(desk.origin.server.requests.count > 1, "samples were compared")
        }
    }

    @Test("Restarting, or requesting the file itself, leaves another caller's bytes alone")
    func leavesAlone() async throws {
        try await Origin.with({ .file(Self.other, for: $0) }) { origin in
            try await Self.leave(300_000, origin)
            try await origin.get(Self.other) { $0.restarts = true }
            #expect(try await origin.store.entries().map(\.receivedBytes) == [300_000])
            try await origin.get(Self.file) { $0.headerFields = Self.fields("one") }
        }
    }

    @Test("Cancelling and dropping partial data leaves another caller's bytes alone", arguments: [false, true])
    func cancelled(isAnswered: Bool) async throws {
        try await Desk.with({ request in
            isAnswered ? .file(Self.other, for: request, cutAfter: 100_000, stall: true) : .status("403 Forbidden")
        }) { desk in
            try await Self.leave(300_000, desk.origin)
            let task = desk.downloader.makeTask(try desk.request())
            if isAnswered {
                await task.resume(untilReceived: 100_000)
                #expect(try await desk.origin.store.entries().count == 2)
            } else {
                task.resume()
                await #expect(throws: DownloadError.self) { _ = try await task.value }
            }
            try await task.cancelDiscarding()
            #expect(try await desk.origin.store.entries().map(\.receivedBytes) == [300_000])
        }
    }

    @Test("A key that looks like that of a variant is the download's own")
    func variantKey() async throws {
        try await Origin.with({ .file(Self.other, for: $0, cutAfter: 100_000) }) { origin in
            try await Self.leave(300_000, origin)
            _ = await origin.failure { $0.retryPolicy.retries = 0 }
            #expect(try await origin.store.entries().count == 2)
            origin.server.setHandler { .file(Self.other, for: $0) }
            let result = try await origin.get { $0.key = origin.url + "#variant=2" }
            #expect(result.reusedBytes == 100_000)
            #expect(try await origin.store.entries().map(\.receivedBytes) == [300_000])
        }
    }

    @Test("A renewal in mid-download: the bytes belong to the renewed request's caller")
    func renewedInTheMiddle() async throws {
        try await Origin.with({ request in
            switch request.field("Authorization") {
            case "Bearer two": .file(Self.file, for: request)
            case "Bearer one" where request.number == 1: .file(Self.file, for: request, cutAfter: 100_000)
            default: .status("401 Unauthorized")
            }
        }) { origin in
            try await Self.leave(100_000, origin)
            let configure: (inout DownloadRequest) -> Void = {
                $0.headerFields = Self.fields("old")
                $0.refresh = { _ in RefreshedRequest(headerFields: Self.fields("two")) }
                $0.digest = HTTPDigest(.sha256, of: Self.other.bytes)
            }
            // Kept because the digest is wrong: complete, and owned by the last caller.
            await origin.fails(.digestMismatch, configure)
            let count = origin.server.requests.count
            #expect(await origin.failure { $0.headerFields = Self.fields("old") }?.status == 401)
            #expect(origin.server.requests.count == count + 1)
            // Without the digest, its owner's request only asks whether the server still has the file.
            let result = try await origin.get { $0.headerFields = Self.fields("two") }
            #expect(result.fetchedBytes <= 4096 && origin.server.requests.count == count + 2)
        }
    }

    @Test("Ranges, several connections and redirects on the way")
    func otherWays() async throws {
        let selection = try RangeSelection(parsing: "1000-1999,200000-299999")
        try await Origin.with({ request in
            guard request.path != "/file" else {
                return .status("302 Found", fields: [("Location", "/moved")])
            }
            return Self.guarded(request)
        }) { origin in
            try await Self.leave(300_000, origin)
            try await origin.get(Self.file) { $0.headerFields = Self.fields("two") }

            try await Self.leave(100_000, origin)
            try await origin.get(Self.file, reusing: 100_000) {
                $0.headerFields = Self.fields("two")
                $0.connections = 4
            }

            _ = try await origin.get {
                $0.headerFields = Self.fields("two")
                $0.selection = selection
            }
            let wanted = Self.file.content.bytes(in: 1000..<2000) + Self.file.content.bytes(in: 200_000..<300_000)
            #expect(try Files.bytes(origin.folder["out"]) == wanted)
        }
    }

    @Test("The store contains no secret of a request")
    func nothingStored() async throws {
        try await Origin.with({ .file(Self.file, for: $0, cutAfter: 100_000) }) { origin in
            _ = await origin.failure {
                $0.headerFields = [.authorization: "Bearer kept-secret", .cookie: "kept-secret"]
                $0.retryPolicy.retries = 0
            }
            await origin.store.close()
            let names = try Files.names(in: origin.folder["store"]).filter { $0.hasPrefix("store.sqlite") }
            #expect(!names.isEmpty)
            for name in names {
                let bytes = try Files.bytes(origin.folder["store/\(name)"])
                #expect(bytes.firstRange(of: Array("kept-secret".utf8)) == nil)
            }
        }
    }
}
