import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeStore
import TestSupport

/// `promoter STORE OLD NEW`: leaves `OLD` bytes of a version on disk, then moves `NEW` bytes of another one from memory
/// there.
///
/// A separate process, whose calls to the file system are traced.
@main
struct Promoter {
    static func main() async {
        do {
            try await run()
        } catch {
            print(error)
            exit(1)
        }
    }

    private static func run() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let old = Int(arguments[2]), let new = Int(arguments[3]) else { return }
        let url = try DownloadURL("http://127.0.0.1/file")
        let disk = try await DownloadStore.open(at: arguments[1])
        if old > 0 {
            let transfer = try await disk.open(url, headerFields: [:])
            try await HonestServer(sampleBytes(3_000_000), etag: "\"v1\"").fill(transfer, upTo: old)
            try await transfer.close()
        }
        let memory = MemoryStore()
        let transfer = try await memory.open(url, headerFields: [:])
        try await HonestServer(sampleBytes(3_000_000, seed: 2), etag: "\"v2\"").fill(transfer, upTo: new)
        try await transfer.promote(to: disk).close()
        await disk.close()
    }
}
