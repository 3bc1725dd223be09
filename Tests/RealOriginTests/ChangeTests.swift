import TestSupport
import Testing

/// A file that has changed when the download resumes.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct ChangeTests {
    @Test(
        "A changed file is fetched again whole; get, show and log give the reason", arguments: OriginKind.allCases)
    func changed(with kind: OriginKind) async throws {
        let new = Array(Visit.otherBytes.dropLast(12_345))
        let statuses = try await Visit.with(kind, serving: PublishedFile(bytes: Visit.bytes)) { visit in
            try await visit.cut()
            try await visit.origin.publish(PublishedFile(bytes: new, modified: "2024-01-01 00:00:02"))
            // Killed again, because a delivered entry can no longer be shown.
            let told = try await visit.cut()
            #expect(told.restarts == ["entity-tag-changed"], "\(told)")
            for command in ["show", "log"] {
                let said = try await visit.says(command)
                #expect(said.contains("the file changed on the server: its ETag was \""), "\(command): \(said)")
            }
            let events = try await visit.delivers(new)
            #expect(events.first("resumed")?.offset ?? 0 > 0, "the new one is resumed as well")
            #expect(events.restarts.isEmpty)
        }
        // moto sends a part of the changed object, whatever If-Range says. Only the part's own tag reveals it.
        #expect(statuses == (kind == .s3 ? [200, 206, 200, 206] : [200, 200, 206]))
    }

    /// How little a replacement reveals.
    enum Replacement: String, CaseIterable, CustomTestStringConvertible {
        case withinTheSecond = "2024-01-01 00:00:00.987654321"
        case atTheSameNanosecond = "2024-01-01 00:00:00.123456789"

        var testDescription: String { self == .withinTheSecond ? "same second" : "same nanosecond" }
    }

    @Test(
        "Other bytes of the same size, written within a second or with the same time: never mixed",
        arguments: OriginKind.allCases, Replacement.allCases)
    func replaced(with kind: OriginKind, _ replacement: Replacement) async throws {
        let statuses = try await Visit.with(kind, serving: PublishedFile(bytes: Visit.bytes)) { visit in
            try await visit.cut()
            try await visit.origin.publish(PublishedFile(bytes: Visit.otherBytes, modified: replacement.rawValue))
            let events = try await visit.delivers(Visit.otherBytes)
            let reason = Self.keepsTag(kind, replacement) ? "held-bytes-differ" : "entity-tag-changed"
            #expect(events.restarts == [reason], "\(events)")
            #expect(events.last?.reusedBytes == 0)
            #expect(try await visit.says("log").contains(reason == "held-bytes-differ" ? "bytes differ" : "ETag was"))
        }
        #expect(statuses == (Self.keepsTag(kind, replacement) || kind == .s3 ? [200, 206, 200] : [200, 200]))
    }

    /// Whether a server gives other bytes the same strong tag.
    ///
    /// S3 derives it from the bytes.
    private static func keepsTag(_ kind: OriginKind, _ replacement: Replacement) -> Bool {
        switch (kind, replacement) {
        case (.nginx, _), (.caddy, _): true
        case (.apache, _), (.lighttpd, _): replacement == .atTheSameNanosecond
        case (.s3, _): false
        }
    }

    @Test("A file that shrank to less than the stored bytes is fetched again whole", arguments: OriginKind.allCases)
    func shrank(with kind: OriginKind) async throws {
        let new = Array(Visit.otherBytes.prefix(16 << 10))
        let statuses = try await Visit.with(kind, serving: PublishedFile(bytes: Visit.bytes)) { visit in
            try await visit.cut()
            try await visit.origin.publish(PublishedFile(bytes: new, modified: "2024-01-01 00:00:02"))
            let events = try await visit.delivers(new)
            #expect(events.restarts.count == 1, "\(events)")
            #expect(events.last?.reusedBytes == 0)
        }
        #expect(statuses == (kind == .s3 ? [200, 416, 200] : [200, 200]))
    }

    @Test(
        "A file that shrank and kept its time, from a server without entity tags: 416, then fetched whole",
        arguments: OriginKind.fileServers)
    func shrankUnnoticed(with kind: OriginKind) async throws {
        var settings = OriginSettings()
        settings.sendsEntityTags = false
        let new = Array(Visit.otherBytes.prefix(16 << 10))
        let file = PublishedFile(bytes: Visit.bytes)
        let statuses = try await Visit.with(kind, serving: file, settings) { visit in
            try await visit.cut()
            try await visit.origin.publish(PublishedFile(bytes: new))
            let events = try await visit.delivers(new)
            #expect(events.restarts.count == 1, "\(events)")
            #expect(try await visit.says("log").contains("(416)"))
        }
        #expect(statuses == [200, 416, 200])
    }
}
