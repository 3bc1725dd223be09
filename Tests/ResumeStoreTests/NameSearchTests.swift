import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// The names that a shell completes.
@Suite(.timeLimit(.minutes(20)))
struct NameSearchTests {
    /// Makes entries: their keys are URLs of forty hosts, and each tenth one is pinned.
    private static func rows(_ count: Int) -> String {
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
        INSERT INTO download (key, url, generation, state, created_at, used_at, boot_id, destination, pinned, received)
        SELECT 'https://h' || (i % 40) || '.example/' || (i * 7919 % 13) || '/f' || i || '.iso', 'http://127.0.0.1/' || i, 1,
            'partial', i, i, 'x', '/srv/f' || i, i % 10 = 0, i FROM n;
        UPDATE store SET entries = \(count);
        """
    }

    private static func withStore(
        _ rows: String, _ body: (_ path: String, _ names: [String]) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            await (try DownloadStore.open(at: folder["store"])).close()
            try folder.sql(rows)
            let names = try Connection.open(path: folder["store/store.sqlite"])
                .rows("SELECT key FROM download ORDER BY key") { $0.text(0) ?? "" }
            try await body(folder["store"], names)
        }
    }

    private static func matches(
        _ path: String, _ prefix: String, _ column: NameSearch.Column = .key, pinned: Bool? = nil
    ) async throws -> [NameSearch.Match] {
        try await NameSearch(.entries(pinned: pinned), column, prefix: prefix).matches(at: path)
    }

    @Test("Of a few names, all that begin with the text are found, with their bytes")
    func few() async throws {
        try await Self.withStore(Self.rows(45)) { path, names in
            #expect(try await Self.matches(path, "").map(\.text) == names)
            let one = try await Self.matches(path, "https://h7.example/")
            #expect(one.map(\.text) == names.filter { $0.hasPrefix("https://h7.example/") } && one.count == 1)
            #expect(one.first?.receivedBytes == 7 && one.first?.totalBytes == nil && one.first?.isWhole == true)
            #expect(try await Self.matches(path, "", pinned: true).map(\.receivedBytes) == [40, 10, 20, 30])
            #expect(try await Self.matches(path, "", pinned: false).count == 41)
            let paths = try await Self.matches(path, "/srv/f4", .destination).map(\.text)
            #expect(paths == ["/srv/f4"] + (40...45).map { "/srv/f\($0)" })
            #expect(try await Self.matches(path, "http://127.0.0.1/45", .url).map(\.text) == ["http://127.0.0.1/45"])
            #expect(try await Self.matches(path, "none").isEmpty)
        }
    }

    @Test("Many names are combined by component, and no name is left out", arguments: [900, 3000])
    func many(count: Int) async throws {
        try await Self.withStore(Self.rows(count)) { path, names in
            for prefix in ["", "h", "https:/", "https://h1", "https://h12.example", "https://h12.example/", names[700]]
            {
                let meant = names.filter { $0.hasPrefix(prefix) }
                let found = try await Self.matches(path, prefix)
                #expect(found.map(\.text) == found.map(\.text).sorted() && Set(found).count == found.count, "\(prefix)")
                #expect(found.allSatisfy { match in meant.contains { $0.hasPrefix(match.text) } }, "\(prefix)")
                #expect(meant.allSatisfy { name in found.contains { name.hasPrefix($0.text) } }, "\(prefix)")
                #expect(found.allSatisfy { $0.isWhole == names.contains($0.text) }, "\(prefix)")
                // A shell that inserts what all have in common inserts something that all names begin with.
                #expect(found.allSatisfy { $0.text.hasPrefix(prefix) }, "\(prefix)")
                #expect(meant.count <= 50 ? found.count == meant.count : found.count <= 40, "\(prefix)")
            }
            let first = try await Self.matches(path, "").first
            #expect(first?.text == "https://h0.example/" && first?.isWhole == false)
            #expect(first?.receivedBytes == nil && first?.totalBytes == nil)
            // Among a thousand entries, those that are pinned are still found.
            let start = "https://h10.example/1/"
            let pinned = try await Self.matches(path, start, pinned: true)
            #expect(pinned.map(\.text) == names.filter { $0.hasPrefix(start) } && !pinned.isEmpty)
            #expect(try await Self.matches(path, start, pinned: false).isEmpty)
        }
    }

    @Test("Where too many names begin with the text, the last one is found as well", arguments: [900, 3000])
    func tooMany(count: Int) async throws {
        try await Self.withStore(Self.rows(count)) { path, _ in
            let paths = (1...count).map { "/srv/f\($0)" }.sorted()
            let found = try await Self.matches(path, "/srv/", .destination).map(\.text)
            #expect(found == paths.prefix(200) + [paths[count - 1]])
        }
    }

    @Test("A store of an older release is neither converted nor searched, and none is created")
    func older() async throws {
        try await Self.withStore(Self.rows(10)) { path, _ in
            try Connection.open(path: "\(path)/store.sqlite").execute("PRAGMA user_version = 3")
            await #expect(throws: StoreError.self) { try await Self.matches(path, "") }
            let version = try Connection.open(path: "\(path)/store.sqlite").integer("PRAGMA user_version")
            #expect(version == 3)
            await #expect(throws: StoreError.self) { try await Self.matches("\(path)-other", "") }
            #expect(!Files.exists("\(path)-other"))
        }
    }
}
