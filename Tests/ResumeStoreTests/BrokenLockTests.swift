import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// T19: another process changes a row at the worst moment, where locks do not work.
///
/// Each test runs in a separate process, because the hook for that moment is process-wide.
@Suite(.timeLimit(.minutes(10)))
struct BrokenLockTests {
    @Temporary private var folder
    static let url = "http://127.0.0.1/file.bin"
    static let server = HonestServer(sampleBytes(1_000_000), etag: "\"v1\"")

    /// Downloads while a statement is run on the database right after a new blob was committed.
    ///
    /// - Returns: The error, or nil if the file was delivered.
    static func download(in path: String, whileStarting sql: String) async throws -> StoreError? {
        let store = try await DownloadStore.open(at: "\(path)/store")
        let transfer = try await store.begin(url)
        KillPoint.arm(.startedOver) {
            let other = try? Connection.open(path: "\(path)/store/store.sqlite")
            if let other { try? other.execute(sql) }
        }
        do {
            try await server.fill(transfer)
            try await transfer.deliver(to: "\(path)/out")
            return nil
        } catch let error as StoreError {
            return error
        }
    }

    @Test("A blob that no longer belongs to the row is neither recorded nor delivered")
    func startedOverTwice() async throws {
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
            #expect(try await store.totals().receivedBytes == 0, "nothing is claimed of the other one's blob")
        }
        #expect(!Files.exists(folder["out"]))
    }

    @Test("A row that now belongs to another download is not continued: its ranges and key are ignored")
    func another() async throws {
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
