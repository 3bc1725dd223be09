import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// T19: what another process does to a row at the worst moment, where locks do not work.
///
/// Each in a process of its own, since such a moment is of the whole process.
@Suite(.timeLimit(.minutes(10)))
struct BrokenLockTests {
    static let url = "http://127.0.0.1/file.bin"
    static let server = HonestServer(sampleBytes(1_000_000), etag: "\"v1\"")

    /// Downloads while something is done to the database right after a new blob was committed.
    ///
    /// - Returns: How it failed; nil where it was delivered.
    static func download(in path: String, whileStarting sql: String) async throws -> StoreError? {
        let store = try await DownloadStore.open(at: "\(path)/store")
        let transfer = try await store.begin(try DownloadURL(url), headerFields: [:])
        KillPoint.arm(.startedOver) {
            let other = try? Connection.open(path: "\(path)/store/store.sqlite")
            if let other { try? other.execute(sql) }
        }
        do {
            try await server.fill(transfer)
            try await transfer.deliver(to: Destination(checking: "\(path)/out"))
            return nil
        } catch let error as StoreError {
            return error
        }
    }

    @Test("A blob that is not the row's any more is neither recorded nor delivered as what the row names")
    func startedOverTwice() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            let other = String(repeating: "ab", count: 16)
            let failure = try await BrokenLockTests.download(
                in: path,
                whileStarting: """
                    UPDATE download SET generation = 77, etag = '"v2"';
                    UPDATE chunk SET generation = 77, path = 'blobs/\(other)';
                    """)
            #expect(failure == StoreError(.superseded, ""))
            let store = try await DownloadStore.open(at: "\(path)/store")
            let received = try await store.totals().receivedBytes
            #expect(received == 0, "nothing is claimed of the other one's blob")
        }
        #expect(!Files.exists(folder["out"]))
    }

    @Test("A row that has become another download's is not gone on with: neither its ranges nor its key count")
    func another() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            let failure = try await BrokenLockTests.download(
                in: path,
                whileStarting: """
                    UPDATE download SET key = key || '#bytes=0-9', selection = 'bytes=0-9', generation = 77;
                    UPDATE chunk SET generation = 77;
                    """)
            #expect(failure == StoreError(.superseded, ""))
        }
        #expect(!Files.exists(folder["out"]))
    }
}
