import Foundation
import TestSupport
import Testing

/// Offsets that do not fit into 32 bits.
///
/// S3 is left out: moto would keep the file in memory.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct LargeFileTests {
    private static let zeros: Int64 = 4 << 30
    /// Zeros, which cost the origin no space, and then bytes that must be right.
    private static let size = zeros + 64 << 20
    private static let held = zeros + 12 << 20

    // With one server only, because four GiB take half a minute on a slow disk. nginx can send the end slowly;
    // otherwise no run could be killed there reliably.
    @Test("A16: killed beyond 4 GiB, it resumes beyond 4 GiB")
    func killed() async throws {
        let settings = OriginSettings(slowAfter: Self.zeros + 8 << 20)
        let statuses = try await Visit.with(.nginx, serving: nil, settings) { visit in
            let path = try await publish(at: visit)
            _ = try await visit.killed([]) { $0.receivedSinceStart >= Self.held }
            try await visit.origin.configure(OriginSettings())
            // SIGKILL loses at most 1 MiB.
            try await delivers(path, visit, from: (Self.held - 1 << 20)..<Self.size)
        }
        #expect(statuses == [200, 206])
    }

    @Test("A store that holds more than 4 GiB resumes there", arguments: OriginKind.fileServers)
    func prepared(with kind: OriginKind) async throws {
        let statuses = try await Visit.with(kind, serving: nil) { visit in
            let path = try await publish(at: visit)
            try await visit.cut()
            // Simulates more received bytes: the blob gets a hole for the zeros and what follows them, and the row
            // records it.
            let blobs = try Files.names(in: visit.folder["store/blobs"])
            try #require(blobs.count == 1)
            let blob = visit.folder["store/blobs/\(blobs[0])"]
            let (start, count) = (Self.zeros >> 20, (Self.held - Self.zeros) >> 20)
            try await Shell.run(
                "dd", "if=\(path)", "of=\(blob)", "bs=1M", "skip=\(start)", "seek=\(start)", "count=\(count)",
                "conv=notrunc", "status=none")
            try await Shell.run(
                "sqlite3", visit.folder["store/store.sqlite"],
                "UPDATE store SET received = \(Self.held); UPDATE chunk SET received = \(Self.held);")
            try await delivers(path, visit, from: Self.held..<Self.held + 1, comparingFrom: Self.zeros)
        }
        #expect(statuses == [200, 206])
    }

    /// Creates the file.
    ///
    /// - Returns: Its path.
    private func publish(at visit: Visit) async throws -> String {
        let origin = try #require(visit.origin as? FileOrigin)
        try await Shell.run("truncate", "-s", "\(Self.zeros)", origin.path)
        // Not with test code: unoptimised, it would block the tests beside it.
        try await Shell.run(
            "sh", "-c", "head -c \(Self.size - Self.zeros) /dev/urandom >> \"$1\"", "sh", origin.path)
        try await Shell.run("touch", "-d", "2024-01-01", origin.path)
        return origin.path
    }

    private func delivers(
        _ path: String, _ visit: Visit, from offsets: Range<Int64>, comparingFrom start: Int64 = 0
    ) async throws {
        let end = try await visit.finish()
        #expect(end.status == 0, "\(end.errors)")
        #expect(end.events.restarts.isEmpty)
        let offset = end.events.first("resumed")?.offset ?? 0
        #expect(offsets.contains(offset), "resumed at \(offset)")
        let comparison = try await Shell.outcome("cmp", ["-i", "\(start)", path, visit.output])
        #expect(comparison.status == 0, "\(comparison.output)\(comparison.errors)")
    }
}
