import Foundation
import TestSupport
import Testing

/// Presigned URLs that expire, against moto's S3 with verified signatures and a clock that the tests set.
@Suite(
    .timeLimit(.minutes(20)), .serialized, .enabled(if: Example.areBuilt, "make examples builds the programs"))
struct PresignedObjectTests {
    private static let bytes = sampleBytes(6 << 20)
    private static let cut = 4 << 20

    @Test("After the URL has expired midway, the download resumes with another one and If-Match")
    func expired() async throws {
        let answers = try await ObjectStore.with { store in
            try await store.put(Self.bytes)
            try await store.order(.expire, "\(Self.cut)")
            let outcome = try await store.download()
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(
                outcome.errors.contains("the URL was refused with status 403; asking for another one\n"),
                "\(outcome.errors)")
            #expect(outcome.errors.contains("resumed at byte "), "\(outcome.errors)")
            #expect(!outcome.errors.contains("Signature"), "signatures are not shown")
            #expect(try Files.matches(store.output, Self.bytes))
        }
        #expect(answers == ["GET 200", "GET 403", "GET 206"])
    }

    @Test("An object that is replaced between two runs is downloaded from its start", arguments: [false, true])
    func replaced(asksHead: Bool) async throws {
        let answers = try await ObjectStore.with { store in
            try await store.put(Self.bytes)
            try await store.killed()
            let other = Self.bytes.map { ~$0 }
            try await store.put(other)
            let outcome = try await store.download(asksHead ? ["--head"] : [])
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.errors.contains("restarted: "), "\(outcome.errors)")
            #expect(try Files.matches(store.output, other))
        }
        #expect(answers == ["GET 200"] + (asksHead ? ["HEAD 200", "GET 200"] : ["GET 412", "GET 200"]))
    }

    @Test("A killed download resumes in the next run, with other URLs", arguments: [false, true])
    func killed(asksHead: Bool) async throws {
        let answers = try await ObjectStore.with { store in
            try await store.put(Self.bytes)
            try await store.killed()
            let outcome = try await store.download(asksHead ? ["--head"] : [])
            #expect(outcome.status == 0 && outcome.errors.contains("resumed at byte "), "\(outcome.errors)")
            #expect(try Files.matches(store.output, Self.bytes))
        }
        #expect(answers == ["GET 200"] + (asksHead ? ["HEAD 200", "GET 206"] : ["GET 206"]))
    }

    @Test("URLs with a wrong signature are refused, and other URLs are requested three times")
    func wrongSecret() async throws {
        let answers = try await ObjectStore.with { store in
            try await store.put(Self.bytes)
            try await store.order(.secret, "another")
            let outcome = try await store.download()
            #expect(outcome.status == 1, "\(outcome.errors)")
            #expect(!Files.exists(store.output))
        }
        #expect(answers == Array(repeating: "GET 403", count: 4))
    }

    @Test("An object for which the backend signs no URLs is not requested")
    func notSigned() async throws {
        let answers = try await ObjectStore.with { store in
            let outcome = try await store.download(key: "private/object")
            #expect(outcome.status == 1)
            #expect(outcome.errors == "the backend did not sign a URL: status 403\n", "\(outcome.errors)")
        }
        #expect(answers.isEmpty)
    }
}
