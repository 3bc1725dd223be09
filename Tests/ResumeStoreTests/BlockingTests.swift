#if os(Linux)
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// On which threads calls run that may block.
@Suite struct BlockingTests {
    /// What the dispatch library calls the threads of the queue that this one comes from.
    private static func threadName() throws -> String {
        String(decoding: try Files.bytes("/proc/thread-self/comm"), as: UTF8.self)
    }

    @Test("Neither blocking calls nor transfers run on the threads of the cooperative pool, of which there are few")
    func threads() async throws {
        let pool = try await Task.detached { try Self.threadName() }.value
        let blocking = try await Blocking.run { try Self.threadName() }
        #expect(pool != blocking)
        try await TemporaryFolder.with { folder in
            let store = try await DownloadStore.open(at: folder["store"])
            let transfer = try await store.begin(try DownloadURL("http://127.0.0.1/file"))
            let own = try await transfer.run { _ in try Self.threadName() }
            #expect(own != pool && own != blocking)
            try await transfer.close()
            await store.close()
        }
    }
}
#endif
