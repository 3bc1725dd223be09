import Foundation
import TestSupport
import Testing

/// Presigned URLs that end, against moto's S3 with signatures and times that are verified.
@Suite(
    .timeLimit(.minutes(5)), .serialized, .enabled(if: Example.areBuilt, "make examples builds the programs"))
struct PresignedObjectTests {
    private static let bytes = sampleBytes(6 << 20)
    private static let cut = 4 << 20

    @Test("A URL that expires in the middle is signed anew, and the object goes on by If-Match")
    func expired() async throws {
        let told = try await ObjectStore.with { store in
            try await store.put(Self.bytes)
            try await store.cutNext(after: Self.cut)
            let outcome = try await store.download(lifetime: 5)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.errors.contains("refused with 403; signing anew\n"))
            #expect(outcome.errors.contains("goes on at "))
            #expect(!outcome.errors.contains("Signature"), "signatures are told to nobody")
            let isRight = try Files.bytes(store.output) == Self.bytes
            #expect(isRight)
        }
        #expect(told == ["GET 200", "GET 403", "GET 206"])
    }

    @Test("An object that is replaced meanwhile comes new and whole", arguments: [false, true])
    func replaced(asksHead: Bool) async throws {
        let told = try await ObjectStore.with { store in
            try await store.put(Self.bytes)
            try await store.killed(lifetime: 600)
            let other = Self.bytes.map { ~$0 }
            try await store.put(other)
            let outcome = try await store.download(lifetime: 600, options: asksHead ? ["--head"] : [])
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.errors.contains("starts over: "))
            let isRight = try Files.bytes(store.output) == other
            #expect(isRight)
        }
        #expect(told == ["GET 200"] + (asksHead ? ["HEAD 200", "GET 200"] : ["GET 412", "GET 200"]))
    }

    @Test("Killed, and run again with other URLs: it goes on", arguments: [false, true])
    func killed(asksHead: Bool) async throws {
        let told = try await ObjectStore.with { store in
            try await store.put(Self.bytes)
            try await store.killed(lifetime: 600)
            let outcome = try await store.download(lifetime: 600, options: asksHead ? ["--head"] : [])
            #expect(outcome.status == 0 && outcome.errors.contains("goes on at "), "\(outcome.errors)")
            let isRight = try Files.bytes(store.output) == Self.bytes
            #expect(isRight)
        }
        #expect(told == ["GET 200"] + (asksHead ? ["HEAD 200", "GET 206"] : ["GET 206"]))
    }

    @Test("A secret that is wrong is refused for good")
    func wrongSecret() async throws {
        let told = try await ObjectStore.with { store in
            try await store.put(Self.bytes)
            let outcome = try await store.download(lifetime: 600, secret: "another")
            #expect(outcome.status == 1)
            #expect(!Files.exists(store.output))
        }
        #expect(!told.isEmpty && told.allSatisfy { $0 == "GET 403" }, "\(told)")
    }
}
