import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// The write-ahead log stays short even if a new transaction has always just begun.
@Suite(.timeLimit(.minutes(10)))
struct LogGrowthTests {
    @Test("Many short downloads at a time, without a pause between them")
    func crowd() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(10_000), etag: "\"v1\"")
            let limit: Int64 = 16 << 20
            let longest = try await withThrowingTaskGroup(of: Int64.self) { group in
                for worker in 0..<12 {
                    group.addTask {
                        var longest: Int64 = 0
                        for number in 0..<150 {
                            let url = try DownloadURL("http://127.0.0.1/\(worker)/\(number)")
                            let transfer = try await store.open(url, headerFields: [:])
                            try await server.fill(transfer)
                            try await transfer.deliver(to: folder["\(worker)-\(number)"])
                            let log = try FileManager.default.attributesOfItem(atPath: folder["store/store.sqlite-wal"])
                            longest = max(longest, (log[.size] as? Int64) ?? 0)
                        }
                        return longest
                    }
                }
                return try await group.reduce(0) { max($0, $1) }
            }
            #expect(longest < limit, "\(longest)")
        }
    }
}
