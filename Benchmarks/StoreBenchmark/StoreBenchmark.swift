import Foundation
import ResumeHTTP
import ResumeSQLite
import ResumeStore

/// Measures how long opening a store with many entries and looking up one entry take.
@main
enum StoreBenchmark {
    static func main() async throws {
        let count = 100_000
        let path = NSTemporaryDirectory() + "store-benchmark-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let empty = try await DownloadStore.open(at: path)
        await empty.close()
        try fill(path, with: count)

        let clock = ContinuousClock()
        var openings: [Duration] = []
        for _ in 0..<51 {
            let start = clock.now
            let store = try await DownloadStore.open(at: path)
            openings.append(clock.now - start)
            await store.close()
        }
        let store = try await DownloadStore.open(at: path)
        var lookups: [Duration] = []
        for number in 0..<5001 {
            let key = "https://example.org/file/\((number * 7919) % count)"
            let start = clock.now
            guard try await store.entry(for: key) != nil else { throw CocoaError(.fileNoSuchFile) }
            lookups.append(clock.now - start)
        }
        await store.close()
        let (opening, lookup) = (median(openings), median(lookups))
        print("\(count) entries: open in under 10 ms: \(opening < .milliseconds(10) ? "yes" : "NO") (\(opening))")
        print("\(count) entries: lookup in under 100 µs: \(lookup < .microseconds(100) ? "yes" : "NO") (\(lookup))")
    }

    private static func median(_ times: [Duration]) -> Duration { times.sorted()[times.count / 2] }

    private static func fill(_ path: String, with count: Int) throws {
        let connection = try Connection.open(path: path + "/store.sqlite")
        try connection.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(count - 1))
            INSERT INTO download (key, url, etag, complete_length, generation, created_at, used_at, boot_id)
            SELECT 'https://example.org/file/' || i, 'https://example.org/file/' || i, '"v' || i || '"', 1000000, 1, i, i, 'x'
            FROM n;
            INSERT INTO chunk (download, first_byte, path, received)
            SELECT id, 0, printf('blobs/%032x', id), 1000 FROM download;
            UPDATE store SET entries = \(count), received = \(count) * 1000;
            """)
    }
}
