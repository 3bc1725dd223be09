import ResumeHTTP
import TestSupport
import Testing

/// Each kind of condition, with servers that support only some of them.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct ConditionTests {
    @Test("An unchanged file is resumed", arguments: OriginKind.allCases, ResumePolicy.Condition.allCases)
    func unchanged(with kind: OriginKind, _ condition: ResumePolicy.Condition) async throws {
        let options = ["--condition", condition.rawValue]
        let statuses = try await Visit.with(kind, serving: PublishedFile(bytes: Visit.bytes), options: options) {
            try await $0.cut()
            let events = try await $0.delivers(Visit.bytes)
            #expect(events.first("resumed")?.offset ?? 0 > 0, "\(events)")
            #expect(events.restarts.isEmpty)
        }
        #expect(statuses == [200, 206])
    }

    @Test("A changed file is fetched again whole", arguments: OriginKind.allCases, ResumePolicy.Condition.allCases)
    func changed(with kind: OriginKind, _ condition: ResumePolicy.Condition) async throws {
        let options = ["--condition", condition.rawValue]
        let statuses = try await Visit.with(kind, serving: PublishedFile(bytes: Visit.bytes), options: options) {
            try await $0.cut()
            try await $0.origin.publish(PublishedFile(bytes: Visit.otherBytes, modified: "2024-01-01 00:00:02"))
            let events = try await $0.delivers(Visit.otherBytes)
            #expect(events.restarts == ["entity-tag-changed"] && events.last?.reusedBytes == 0, "\(events)")
        }
        #expect(statuses == Self.answersToChanged(kind, condition))
    }

    /// A server's answers when the file has changed.
    ///
    /// lighttpd does not support If-Match, and moto not If-Range: both send a part of the other file, and only its tag
    /// reveals that.
    private static func answersToChanged(_ kind: OriginKind, _ condition: ResumePolicy.Condition) -> [Int] {
        switch (condition, kind) {
        case (.ifRange, .s3), (.ifMatch, .lighttpd): [200, 206, 200]
        case (.ifMatch, _): [200, 412, 200]
        // After a HEAD no part is requested.
        case (.ifRange, _), (.head, _): [200, 200]
        }
    }

    @Test(
        "Other bytes with the same tag, which no condition detects: never mixed",
        arguments: OriginKind.fileServers, [ResumePolicy.Condition.ifMatch, .head])
    func replaced(with kind: OriginKind, _ condition: ResumePolicy.Condition) async throws {
        let options = ["--condition", condition.rawValue]
        let statuses = try await Visit.with(kind, serving: PublishedFile(bytes: Visit.bytes), options: options) {
            try await $0.cut()
            try await $0.origin.publish(PublishedFile(bytes: Visit.otherBytes))
            let events = try await $0.delivers(Visit.otherBytes)
            #expect(events.restarts == ["held-bytes-differ"], "\(events)")
        }
        #expect(statuses == [200, 206, 200])
    }
}
