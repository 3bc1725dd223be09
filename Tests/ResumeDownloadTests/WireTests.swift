import Foundation
import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// The table of cases on the wire, as far as a single answer shows.
///
/// The scenarios and the other suites cover the rest.
@Suite(.timeLimit(.minutes(10)), .eachTransportAndHTTP2)
struct WireTests {
    @Test(
        "A01: the first request; the request after a cut, and how its answer is judged", arguments: WireCase.all)
    func table(_ row: WireCase) async throws {
        try await Origin.with(row.cut) { origin in
            _ = await origin.failure { $0.retryPolicy.retries = 0 }
            let first = try #require(origin.server.requests.first)
            Self.expectPlain(first)
            origin.server.setHandler(row.odd)
            let result = try await origin.get { $0.retryPolicy.time = .seconds(60) }
            #expect(result.reusedBytes == (row.ending == .resumes ? 60_000 : 0), "\(row.id)")
            #expect(try origin.hasDelivered(row.truth), "\(row.id)")
            Self.expect(origin.requests(after: 1).first, asks: row.condition)
        }
    }

    private static func expectPlain(_ request: OriginRequest) {
        #expect(request.field("Range") == nil)
        #expect(request.field("If-Range") == nil)
        #expect(request.fields("Accept-Encoding") == ["identity"])
    }

    private static func expect(_ request: OriginRequest?, asks condition: String?) {
        #expect(request?.fields("Range") == (condition == nil ? [] : ["bytes=55904-"]))
        #expect(request?.fields("If-Range") == condition.map { [$0] } ?? [])
        #expect(request?.fields("Accept-Encoding") == ["identity"])
    }

    @Test("A14: nothing stored, no range")
    func nothingHeld() async throws {
        try await Origin.with({ .file(.old, for: $0, cutAfter: 0) }) { origin in
            _ = await origin.failure { $0.retryPolicy.retries = 1 }
            #expect(origin.server.requests.count == 2)
            #expect(origin.server.requests.allSatisfy { $0.field("Range") == nil })
        }
    }

    @Test("A15, T7: everything stored and undelivered: no request")
    func complete() async throws {
        try await Origin.with({ _ in .status("500 Internal Server Error") }) { origin in
            let server = HonestServer(sampleBytes(300_000))
            let transfer = try await origin.store.open(try DownloadURL(origin.url), headerFields: [:])
            try await server.fill(transfer)
            try await transfer.close()
            #expect(try await origin.get().reusedBytes == 300_000)
            #expect(origin.server.requests.isEmpty)
            #expect(try Files.bytes(origin.folder["out"]) == server.content)
        }
    }

    @Test(
        "A17: a stored validator with line breaks is not sent",
        arguments: ["\"a\"\r\nX-Bad: 1", "\"a\u{0}\"", "\"a\nb\""])
    func plantedValidator(tag: String) async throws {
        try await Origin.afterCut { origin in
            let hex = tag.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            try await Shell.run(
                "sqlite3", origin.folder["store/store.sqlite"],
                "UPDATE download SET etag = CAST(x'\(hex)' AS TEXT)")
            origin.server.setHandler { .file(.old, for: $0) }
            #expect(try await origin.get().reusedBytes == 0)
            let request = try #require(origin.requests(after: 1).first)
            #expect(request.field("X-Bad") == nil)
            #expect(request.field("If-Range") == nil)
        }
    }

    @Test("A18, A19: neither a fragment nor the caller's own range and condition is sent")
    func callers() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { .file(.old, for: $0) }
            let result = try await Engine.get(origin.url + "#part", to: origin.folder["out"], store: origin.store) {
                request in
                request.headerFields[.range] = "bytes=0-1"
                request.headerFields[.ifRange] = "\"z\""
                request.headerFields[.ifNoneMatch] = "*"
                request.headerFields[.acceptEncoding] = "gzip"
            }
            #expect(result.reusedBytes == 60_000)
            let request = try #require(origin.requests(after: 1).first)
            #expect(request.target == "/file")
            Self.expect(request, asks: "\"a\"")
            #expect(request.field("If-None-Match") == nil)
        }
    }

    @Test("A22, A23: the blob's length decides if it is shorter than its row, and not if it is longer")
    func blobLengths() async throws {
        for (size, start) in [(50_000, 45_904), (90_000, 55_904)] {
            try await Origin.afterCut { origin in
                let blob = try #require(try Files.names(in: origin.folder["store/blobs"]).first)
                try await Shell.run("truncate", "-s", "\(size)", origin.folder["store/blobs/\(blob)"])
                origin.server.setHandler { .file(.old, for: $0) }
                try await origin.get(.old)
                #expect(origin.requests(after: 1).first?.field("Range") == "bytes=\(start)-")
            }
        }
    }

    @Test("C23, E07, J01: an empty file is complete, however range requests for it are answered")
    func empty() async throws {
        let nothing = Resource(Content(length: 0, seed: 1), etag: "\"a\"")
        try await Origin.with({ .file(nothing, for: $0) }) { origin async throws in
            #expect(try await origin.get().totalBytes == 0)
            #expect(try Files.bytes(origin.folder["out"]).isEmpty)
            #expect(origin.server.requests.count == 1)
            #expect(await Self.refusal(of: "-5", origin)?.reason.code.rawValue == "range-beyond-end")
        }
        let odd = Response.status(
            "206 Partial Content", fields: [("Content-Range", "bytes 0--1/0"), ("ETag", "\"a\"")])
        try await Origin.with({ _ in odd }) { origin in
            #expect(await Self.refusal(of: "-5", origin)?.reason.code.rawValue == "content-range-invalid")
        }
    }

    private static func refusal(of range: String, _ origin: Origin) async -> DownloadError? {
        try? FileManager.default.removeItem(atPath: origin.folder["out"])
        return await origin.failure { $0.selection = RangeSelection(range) }
    }

    @Test("D09: a download whose server always sends and cuts the whole file fails")
    func neverWhole() async throws {
        let handler: Origin.Handler = { _ in
            Response.file(.old, for: .whole, cutAfter: 60_000).settingField("ETag", to: nil)
        }
        try await Origin.with(handler) { origin in
            await origin.fails(.unstable) { $0.retryPolicy.retries = 20 }
            #expect(origin.server.requests.count <= 10)
        }
    }

    @Test("E01, E7: 416 with the stored length to a range that begins inside the file is not its end")
    func unsatisfied() async throws {
        let handler: Origin.Handler = { request in
            var chunked = Resource.old
            chunked.framing = .chunked(size: 6000)
            let fields = [("Content-Range", "bytes */60000"), ("ETag", "\"a\"")]
            return request.field("Range") == nil
                ? .file(chunked, for: request, cutAfter: 60_000)
                : .status("416 Range Not Satisfiable", fields: fields)
        }
        try await Origin.with(handler) { origin async throws in
            await origin.fails(.unreachable)
            #expect(try await origin.store.totals().receivedBytes == 60_000)
            origin.server.setHandler { .file(.old, for: $0) }
            try await origin.get(.old, reusing: 60_000)
        }
    }

    @Test(
        "G07: an unknown word in Content-Encoding is no coding: the file is stored as sent",
        .curlOnly("FoundationNetworking decodes, and ends a body whose coding it does not know"))
    func unknownCoding() async throws {
        try await Origin.with({ Response.file(.old, for: $0).settingField("Content-Encoding", to: "x-own") }) {
            origin in
            try await origin.get(.old)
        }
    }

    @Test(
        "G07: codings that were not requested are refused with advice", arguments: ["br", "zstd", "gzip, br"])
    func codings(coding: String) async throws {
        let handler: Origin.Handler = { Response.file(.old, for: $0).settingField("Content-Encoding", to: coding) }
        try await Origin.with(handler) { origin async throws in
            #expect(await origin.failure()?.reason.code.rawValue == "content-coded")
            #expect(try Files.names(in: origin.folder["store/blobs"]).isEmpty)
        }
    }

    @Test(
        "H09, H13: locations are resolved, and their user information is not stored",
        arguments: [
            "other", "/other", "?q=1", "./a/../other", "//127.0.0.1:PORT/other",
            "http://user:secret@127.0.0.1:PORT/other",
        ])
    func locations(location: String) async throws {
        try await Origin.with({ .file(.old, for: $0) }) { origin in
            let place = location.replacing("PORT", with: "\(origin.server.port)")
            origin.server.setHandler { request in
                request.target == "/file"
                    ? .status("302 Found", fields: [("Location", place)])
                    : .file(.old, for: request, cutAfter: request.number == 2 ? 60_000 : nil)
            }
            _ = await origin.failure { $0.retryPolicy.retries = 0 }
            let entry = try #require(try await origin.store.entries().first)
            #expect(entry.url == origin.url)
            _ = try await origin.get()
            let login = location.contains("@") ? "Basic dXNlcjpzZWNyZXQ=" : nil
            #expect(
                origin.server.requests.allSatisfy { request in
                    request.field("Authorization") == (request.target == "/file" ? nil : login)
                })
            #expect(try origin.hasDelivered(.old))
        }
    }

    @Test("H16, D06: a login page behind a redirect is not the file, and stored bytes stay")
    func portal() async throws {
        try await Origin.afterCut { origin async throws in
            origin.server.setHandler { request in
                request.path == "/file"
                    ? .status("302 Found", fields: [("Location", "/login")])
                    : .status("200 OK", fields: [("Content-Type", "text/html")], body: Array("<html>".utf8))
            }
            #expect(await origin.failure()?.reason.code.rawValue == "portal-suspected")
            origin.server.setHandler { .file(.old, for: $0) }
            #expect(try await origin.get().reusedBytes == 60_000)
        }
    }

    @Test(
        "L01, L02: the server's name for the file has no effect",
        arguments: ["../../x", "/etc/x", "a\\b", "..", "x;y"])
    func disposition(name: String) async throws {
        let value = "attachment; filename=\"\(name)\"; filename*=UTF-8''%2e%2e%2fy"
        try await Origin.with({ Response.file(.old, for: $0).settingField("Content-Disposition", to: value) }) {
            origin in
            #expect(try await origin.get().path == origin.folder["out"])
            let names = try Files.names(in: origin.folder.path).filter { $0 != "store" }
            #expect(names == ["out"])
        }
    }
}
