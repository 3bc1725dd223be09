import TestSupport
import Testing

/// A download that is killed midway and resumes, with common servers.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct CutTests {
    @Test("Killed midway, it resumes at the same offset: right bytes, and a 206", arguments: OriginKind.allCases)
    func goesOn(with kind: OriginKind) async throws {
        let statuses = try await Visit.with(kind, serving: PublishedFile(bytes: Visit.bytes)) { visit in
            try await visit.cut()
            let events = try await visit.delivers(Visit.bytes)
            // SIGKILL loses at most 1 MiB.
            #expect(events.first("resumed")?.offset ?? 0 >= Visit.part / 2, "\(events)")
            #expect(events.restarts.isEmpty)
            #expect(events.last?.reusedBytes == events.first("resumed")?.offset)
        }
        #expect(statuses == [200, 206])
    }

    @Test("Killed three times, it is still one download", arguments: OriginKind.allCases)
    func killedThreeTimes(with kind: OriginKind) async throws {
        let statuses = try await Visit.with(kind, serving: PublishedFile(bytes: Visit.bytes)) { visit in
            for part in 1...3 {
                try await visit.cut(after: part * Visit.part)
            }
            let events = try await visit.delivers(Visit.bytes)
            #expect(events.first("resumed")?.offset ?? 0 >= 3 * Visit.part / 2, "\(events)")
        }
        #expect(statuses == [200, 206, 206, 206])
    }

    @Test("A presigned URL with a new signature names the same download, and no signature is kept or shown")
    func signedAnew() async throws {
        let statuses = try await Visit.with(.s3, serving: PublishedFile(bytes: Visit.bytes)) { visit in
            let (first, second) = (try visit.origin.url(), try visit.origin.url())
            #expect(first != second && first.contains("X-Amz-Signature="))
            try await visit.cut()
            let entries = try await visit.program.run("list", "--json").output
            #expect(entries.split(separator: "\n").count == 1)
            #expect(!entries.contains("X-Amz"), "\(entries)")
            for command in ["show", "log"] {
                let said = try await visit.says(command)
                #expect(!said.isEmpty && !said.contains("X-Amz"), "\(said)")
            }
            #expect(try await visit.delivers(Visit.bytes).first("resumed")?.offset ?? 0 > 0)
            let store = try Files.names(in: visit.folder["store"]).filter { $0.hasPrefix("store.sqlite") }
            for name in store {
                let content = try Files.bytes(visit.folder["store/\(name)"])
                let isClean = !String(decoding: content, as: UTF8.self).contains("X-Amz-Signature")
                #expect(isClean, "\(name) holds a signature")
            }
        }
        #expect(statuses == [200, 206])
    }
}
