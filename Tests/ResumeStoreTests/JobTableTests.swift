import HTTPTypes
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// How the jobs of a list are recorded and taken, many at a time.
@Suite(.timeLimit(.minutes(5)))
struct JobTableTests {
    private static func job(_ name: String, as file: String? = nil, at position: Int64) throws -> JobTable.NewJob {
        let url = try DownloadURL("http://h/\(name)")
        return JobTable.NewJob(
            key: url.redacted, url: url.redacted, destination: "/out/\(file ?? name)", terms: "{}", position: position,
            isNamedByServer: false
        ) { RequestIdentity(url, [:]) }
    }

    private static func jobs(_ numbers: some Sequence<Int>) throws -> [JobTable.NewJob] {
        try numbers.map { try job("\($0)", at: Int64($0)) }
    }

    private static let listing = JobTable.Listing(renames: false, unfinished: []) { _, _ in false }

    /// What became of jobs, in words.
    private static func texts(_ enlisted: [JobTable.Enlisted]) -> [String] {
        enlisted.map { result in
            switch result {
            case .due(let id, let destination): "\(id) \(destination)"
            case .done(let job): "done \(job.id)"
            case .repeated: "repeated"
            case .clash(let position, _): "clash \(position)"
            }
        }
    }

    @Test("Jobs of a new list get IDs that follow one another, in the order of the list", arguments: [1, 4, 85, 500])
    func new(count: Int) async throws {
        try await DownloadStore.with { store, _ in
            let table = try await store.jobTable()
            let results = try await table.enlist(try Self.jobs(1...count), as: Self.listing)
            #expect(Self.texts(results) == (1...count).map { "\($0) /out/\($0)" })
            var found: [String] = []
            try await table.forEach { found.append("\($0.id) \($0.url) \($0.destination) \($0.position) \($0.state)") }
            #expect(found == (1...count).map { "\($0) http://h/\($0) /out/\($0) \($0) waiting" })
        }
    }

    @Test("Jobs of an earlier list keep their IDs between new ones")
    func again() async throws {
        try await DownloadStore.with { store, folder in
            let first = try await store.jobTable()
            _ = try await first.enlist(try Self.jobs(stride(from: 2, through: 80, by: 2)), as: Self.listing)
            let second = try await store.jobTable()
            let results = try await second.enlist(try Self.jobs(1...80), as: Self.listing)
            var ids: [String: Int64] = [:]
            try await second.forEach { ids[$0.destination] = $0.id }
            #expect(ids.count == 80)
            #expect(Self.texts(results) == (1...80).map { "\(ids["/out/\($0)"] ?? 0) /out/\($0)" })
            #expect((1...40).allSatisfy { ids["/out/\($0 * 2)"] == Int64($0) })
            #expect(try folder.integer("SELECT count(DISTINCT list) FROM queued") == 1)
        }
    }

    @Test("A destination is that of the first job, in the same part of a list and in a later one")
    func clashes() async throws {
        try await DownloadStore.with { store, _ in
            let table = try await store.jobTable()
            let first = [
                try Self.job("a", at: 1), try Self.job("b", as: "a", at: 2), try Self.job("a", at: 3),
                try Self.job("c", at: 4),
            ]
            let results = Self.texts(try await table.enlist(first, as: Self.listing))
            #expect(results == ["1 /out/a", "clash 1", "repeated", "2 /out/c"])
            let later = [try Self.job("d", at: 5), try Self.job("c", at: 6), try Self.job("e", as: "c", at: 7)]
            #expect(Self.texts(try await table.enlist(later, as: Self.listing)) == ["3 /out/d", "repeated", "clash 4"])
            let last = [try Self.job("f", as: "d", at: 8)]
            #expect(Self.texts(try await table.enlist(last, as: Self.listing)) == ["clash 5"])
        }
    }

    @Test("Of jobs that follow one another, those that others run are busy, and the rest is locked")
    func claims() async throws {
        try await DownloadStore.with { store, _ in
            let (one, other) = (try await store.jobTable(), try await store.jobTable())
            _ = try await one.enlist(try Self.jobs(1...6), as: Self.listing)
            func texts(_ claims: [JobTable.Claim]) -> [String] {
                claims.map { claim in
                    switch claim {
                    case .taken(let job): "taken \(job.id)"
                    case .busy(let job): "busy \(job?.id ?? 0)"
                    case .done(let job): "done \(job.id)"
                    case .gone: "gone"
                    }
                }
            }
            #expect(texts(try await other.claim([3, 4])) == ["taken 3", "taken 4"])
            let claims = try await one.claim([1, 2, 3, 4, 5, 6, 7])
            #expect(texts(claims) == ["taken 1", "taken 2", "busy 3", "busy 4", "taken 5", "taken 6", "gone"])
            other.release(3)
            #expect(texts(try await one.claim([3, 4])) == ["taken 3", "busy 4"])
            for id in 1...6 { #expect(other.isRunning(Int64(id)) == (id != 4), "\(id)") }
            #expect(!other.isRunning(7))
            for id in 1...6 { one.release(Int64(id)) }
            for id in 1...6 { #expect(!other.isRunning(Int64(id)), "\(id)") }
        }
    }
}
