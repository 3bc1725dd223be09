#if os(Linux)
import ResumeFiles
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// The threads on which blocking calls run.
@Suite struct BlockingTests {
    /// The names that libdispatch gives the threads of this queue.
    private static func threadName() throws -> String {
        String(decoding: try Files.bytes("/proc/thread-self/comm"), as: UTF8.self)
    }

    @Test("Neither blocking calls nor transfers run on task threads, at any priority")
    func threads() async throws {
        let priorities: [TaskPriority] = [.high, .medium, .low, .background]
        var pools: Set<String> = []
        for priority in priorities {
            pools.insert(try await Task.detached(priority: priority) { try Self.threadName() }.value)
        }
        let blocking = try await Blocking.run { try Self.threadName() }
        #expect(!pools.contains(blocking))
        let medium = try await Task.detached(priority: .medium) { try Self.threadName() }.value
        for sharesThreads in [false, true] {
            try await TemporaryFolder.with { folder in
                var configuration = DownloadStore.Configuration()
                configuration.sharesThreads = sharesThreads
                let store = try await DownloadStore.open(at: folder["store"], configuration: configuration)
                let transfer = try await store.open(try DownloadURL("http://127.0.0.1/file"))
                let own = try await transfer.run { _ in try Self.threadName() }
                #expect(sharesThreads ? own != medium : !pools.contains(own))
                try await transfer.close()
                await store.close()
            }
        }
    }
}
#endif
