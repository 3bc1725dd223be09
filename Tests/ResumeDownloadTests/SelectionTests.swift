import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Ranges chosen by the caller, on the wire.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct SelectionTests {
    private static func bytes(_ ranges: Range<Int64>...) -> [UInt8] {
        ranges.flatMap { Resource.old.content.bytes(in: $0) }
    }

    private static let cases: [(String, [UInt8])] = [
        ("bytes=1000-1999", bytes(1000..<2000)), ("bytes=99000-", bytes(99_000..<100_000)),
        ("bytes=-500", bytes(99_500..<100_000)), ("bytes=0-0", bytes(0..<1)), ("-200000", bytes(0..<100_000)),
        ("90000-200000", bytes(90_000..<100_000)),
        ("bytes=50-59,0-9,-3", bytes(50..<60, 0..<10, 99_997..<100_000)),
    ]

    @Test(
        "C22: the ranges become the file, one after the other, whether or not the server serves ranges",
        arguments: cases)
    func delivered(text: String, expected: [UInt8]) async throws {
        for ignoresRange in [false, true] {
            let handler: Origin.Handler = { request in
                var resource = Resource.old
                resource.ignoresRange = ignoresRange
                return .file(resource, for: request)
            }
            try await Origin.with(handler) { origin in
                let result = try await origin.get { $0.selection = RangeSelection(text) }
                #expect(result.totalBytes == Int64(expected.count))
                #expect(try Files.bytes(origin.folder["out"]) == expected)
                // Never several in one request.
                let ranges = origin.server.requests.map { $0.field("Range") ?? "" }
                #expect(ranges.allSatisfy { !$0.contains(",") })
                #expect(try await origin.store.entries().isEmpty)
            }
        }
    }

    @Test("Each range is resumed like a whole file, even in the second range", arguments: [(20_000, 1), (45_000, 2)])
    func resumed(held: Int64, requests: Int) async throws {
        let selection = RangeSelection("bytes=10000-39999,60000-89999")
        let expected = Self.bytes(10_000..<40_000, 60_000..<90_000)
        let cutting: Origin.Handler = { request in
            .file(.old, for: request, cutAfter: request.number == 1 ? held : held - 30_000)
        }
        try await Origin.with(cutting) { origin in
            _ = await origin.failure { request in
                request.selection = selection
                request.retryPolicy.retries = 0
            }
            let entry = try #require(try await origin.store.entries().first)
            #expect(entry.receivedBytes == held)
            #expect(entry.totalBytes == 60_000)
            #expect(entry.key.hasSuffix("#bytes=10000-39999,60000-89999"))
            let before = origin.server.requests.count
            #expect(before == requests)
            origin.server.setHandler { .file(.old, for: $0) }
            let result = try await origin.get { $0.selection = selection }
            #expect(result.reusedBytes == held)
            #expect(try Files.bytes(origin.folder["out"]) == expected)
            let first = try #require(origin.requests(after: before).first)
            #expect(first.field("If-Range") == "\"a\"")
            #expect(first.byteRange?.first == (held == 20_000 ? 25_904 : 70_904))
        }
    }

    @Test("A file that changed between two ranges is restarted, not mixed")
    func changed() async throws {
        let handler: Origin.Handler = { request in
            .file(request.number == 1 ? .old : .new, for: request)
        }
        try await Origin.with(handler) { origin in
            _ = try await origin.get { $0.selection = RangeSelection("0-999,5000-5999") }
            let content = Resource.new.content
            #expect(
                try Files.bytes(origin.folder["out"]) == content.bytes(in: 0..<1000) + content.bytes(in: 5000..<6000))
            #expect(try await origin.reasons().contains("entity-tag-changed"))
        }
    }

    @Test("T31: the same tag with other bytes is detected within a range as well")
    func disguised() async throws {
        let selection = RangeSelection("10000-89999")
        try await Origin.afterCut(configure: { $0.selection = selection }) { origin in
            origin.server.setHandler { .file(.disguised, for: $0) }
            try await origin.get(.disguised, part: 10_000..<90_000) { $0.selection = selection }
        }
    }

    @Test("A range beyond the end is refused with a message, and so is one that needs an unknown length")
    func beyond() async throws {
        try await Origin.with({ .file(.old, for: $0) }) { origin in
            let error = await origin.failure { $0.selection = RangeSelection("100000-") }
            #expect(error?.reason.code.rawValue == "range-beyond-end")
            let second = await origin.failure { $0.selection = RangeSelection("0-9,100000-") }
            #expect(second?.reason.code.rawValue == "range-beyond-end")
        }
        let unknown: Origin.Handler = { request in
            Response.file(.old, for: request).settingField("Content-Range", to: "bytes 5-99999/*")
        }
        try await Origin.with(unknown) { origin in
            let error = await origin.failure { $0.selection = RangeSelection("5-") }
            #expect(error?.reason.code.rawValue == "complete-length-unknown")
        }
    }

    @Test("The whole file and a range of it are two downloads")
    func separate() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { .file(.old, for: $0) }
            _ = try await origin.get { $0.selection = RangeSelection("0-9") }
            #expect(try Files.bytes(origin.folder["out"]).count == 10)
            #expect(try await origin.store.entries().map(\.receivedBytes) == [60_000])
        }
    }
}
