import HTTPTypes
import OriginServer
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Files without a validator, fetched with a custom client: what is compared before they are continued.
@Suite(.timeLimit(.minutes(5)))
struct FetchSpotCheckTests {
    private static let length: Int64 = 2_000_000
    private static let held: Int64 = 1_200_000
    private static let old = Resource(Content(length: length, seed: 1))
    private static let block: Int64 = 64 << 10
    private static let allowing = ResumePolicy(allowsUnvalidated: true)

    /// The file with a different first and a different last block.
    private static let new: Resource = {
        var bytes = old.bytes
        for index in Array(0..<Int(block)) + Array(Int(length - block)..<Int(length)) { bytes[index] ^= 0xFF }
        return Resource(Content(bytes))
    }()

    /// Runs a test with the first bytes of a file in a store and a given behaviour of the server.
    private static func holding(
        in place: Place, then handler: @escaping @Sendable (OriginRequest) -> Response,
        _ body: (Visit) async throws -> Void
    ) async throws {
        try await Visit.with(place, { .file(old, for: $0, cutAfter: held) }) { visit in
            #expect(await visit.fetchCut())
            #expect(try await visit.held().length == held)
            visit.server.setHandler(handler)
            try await body(visit)
        }
    }

    @Test(
        "An unchanged file is continued after samples of it were compared",
        arguments: Place.allCases)
    func unchanged(_ place: Place) async throws {
        try await Self.holding(in: place, then: { .file(Self.old, for: $0) }) { visit async throws in
            #expect(try await visit.fetch(policy: Self.allowing) == Self.old.bytes)
            let starts = visit.server.requests.dropFirst().map { $0.byteRange?.first }
            // Blocks that touch are one range.
            #expect((120...140).contains(starts.count))
            #expect(starts.first == 0 && starts.last == Self.held - Self.block)
        }
    }

    @Test("A file that differs only in its first and last block is fetched again", arguments: Place.allCases)
    func changed(_ place: Place) async throws {
        try await Self.holding(in: place, then: { .file(Self.new, for: $0) }) { visit async throws in
            #expect(try await visit.fetch(policy: Self.allowing) == Self.new.bytes)
            #expect(visit.server.requests.dropFirst().map { $0.byteRange?.first } == [0, nil])
        }
    }

    @Test("Nothing is compared if a digest will be, and nothing is continued without the caller's permission")
    func others() async throws {
        var digest = Self.allowing
        digest.digest = HTTPDigest(.sha256, of: Self.old.bytes)
        for (policy, starts) in [(digest, [Self.held - 4096]), (ResumePolicy(), [nil])] as [(ResumePolicy, [Int64?])] {
            try await Self.holding(in: .memory, then: { .file(Self.old, for: $0) }) { visit async throws in
                #expect(try await visit.fetch(policy: policy) == Self.old.bytes)
                #expect(visit.server.requests.dropFirst().map { $0.byteRange?.first } == starts)
            }
        }
    }

    /// How the first comparison fails.
    enum Failure: CaseIterable, Sendable {
        case ignored, short, cut, unavailable, forbidden
    }

    @Test("Answers other than the bytes to compare", arguments: Place.allCases, Failure.allCases)
    func failures(_ place: Place, _ failure: Failure) async throws {
        let handler: @Sendable (OriginRequest) -> Response = { request in
            guard request.number == 2 else { return .file(Self.old, for: request) }
            switch failure {
            case .ignored: return .status("200 OK", fields: [], body: Self.new.bytes)
            case .short:
                return .status(
                    "206 Partial Content", fields: [("Content-Range", "bytes 0-9/2000000")],
                    body: Array(Self.old.bytes[..<10]))
            case .cut: return .file(Self.old, for: request, cutAfter: 100)
            case .unavailable: return .status("503 Service Unavailable")
            case .forbidden: return .status("403 Forbidden")
            }
        }
        try await Self.holding(in: place, then: handler) { visit async throws in
            guard failure != .forbidden else {
                let error = await #expect(throws: DownloadError.self) { try await visit.fetch(policy: Self.allowing) }
                #expect(error?.status == 403)
                #expect(try await visit.held().length == Self.held)
                return
            }
            #expect(try await visit.fetch(retries: 1, policy: Self.allowing) == Self.old.bytes)
            let starts = visit.server.requests.dropFirst(2).map { $0.byteRange?.first }
            switch failure {
            case .ignored, .short: #expect(starts == [nil], "the whole")
            case .cut, .unavailable, .forbidden: #expect(starts.first == 0 && starts.count > 2, "compared again")
            }
        }
    }
}
