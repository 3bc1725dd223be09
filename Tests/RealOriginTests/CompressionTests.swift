import TestSupport
import Testing

/// A server that starts to compress during a download.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct CompressionTests {
    /// Compresses well, so that there are many times fewer coded bytes.
    private static let bytes = Array(sampleBytes(64).map { [UInt8](repeating: $0, count: 256 << 10) }.joined())

    @Test("Compression for clients that accept it: the download still resumes", arguments: OriginKind.fileServers)
    func ifAccepted(with kind: OriginKind) async throws {
        let statuses = try await Visit.with(kind, serving: PublishedFile(bytes: Self.bytes)) { visit in
            try await visit.cut()
            try await visit.origin.configure(OriginSettings(compression: .ifAccepted))
            let accepting = try await Shell.run(
                "curl", "-s", "--noproxy", "*", "-o", "/dev/null", "-D", "-", "-H", "Accept-Encoding: gzip",
                try visit.origin.url())
            #expect(accepting.lowercased().contains("content-encoding: gzip"), "it is turned on: \(accepting)")
            #expect(try await visit.delivers(Self.bytes).first("resumed")?.offset ?? 0 > 0)
        }
        // That of curl is the second one.
        #expect(statuses == [200, 200, 206])
    }

    @Test(
        "Forced compression: a clear failure, nothing delivered, and the download resumes afterwards",
        arguments: OriginKind.allCases)
    func always(with kind: OriginKind) async throws {
        try await Visit.with(kind, serving: PublishedFile(bytes: Self.bytes)) { visit in
            try await visit.cut()
            try await visit.origin.configure(OriginSettings(compression: .always))
            let end = try await visit.finish()
            #expect(end.status == 1, "\(end.events)")
            #expect(end.events.last?.event == "failed" && end.events.last?.reason == "content-coded", "\(end.events)")
            #expect(end.errors.contains("compressed"), "\(end.errors)")
            #expect(!Files.exists(visit.output))
            try await visit.origin.configure(OriginSettings())
            let events = try await visit.delivers(Self.bytes)
            // Here the object was uploaded again: it has the same tag, but mostly another date.
            let isPutAnew = kind == .s3 && events.restarts == ["validators-disagree"]
            #expect(isPutAnew || events.first("resumed")?.offset ?? 0 > 0, "\(events)")
        }
    }

    @Test("Compression from the first byte on: a clear failure, and nothing delivered", arguments: OriginKind.allCases)
    func fromTheStart(with kind: OriginKind) async throws {
        try await Visit.with(kind, serving: PublishedFile(bytes: Self.bytes)) { visit in
            try await visit.origin.configure(OriginSettings(compression: .always))
            let end = try await visit.finish()
            #expect(end.status == 1 && end.events.last?.reason == "content-coded", "\(end.events)")
            #expect(!Files.exists(visit.output))
        }
    }
}
