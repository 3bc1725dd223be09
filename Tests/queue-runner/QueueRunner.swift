import ResumeCurl
import ResumeDownload
import ResumeHTTP
import ResumeStore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// `queue-runner STORE FOLDER ORIGIN COUNT RUNNING`: downloads `ORIGIN/0` and so on with a queue until all are
/// complete.
///
/// It resumes the downloads of an earlier process; with 0 for the count it has nothing else to do.
@main
struct QueueRunner {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 6, let count = Int(arguments[4]), let running = Int(arguments[5]) else { exit(64) }
        let store = try await DownloadStore.open(at: arguments[1])
        let transport = CurlTransport(.init(threads: 1))
        let queue = try await DownloadQueue.open(
            Downloader(store: store, transport: transport),
            configuration: .init(maximumRunning: running) { key, result in
                if case .failure(let error) = result { print("failed \(key): \(error)") }
            })
        try await queue.resumeRestored()
        try await queue.add(
            try (0..<count).map { number in
                let url = try DownloadURL("\(arguments[3])/\(number)")
                var request = DownloadRequest(url, to: "\(arguments[2])/\(number)")
                // The origin holds back answers, for long on a slow machine.
                request.stallTimeout = .seconds(3600)
                return request
            })
        await queue.waitUntilIdle()
        let left = await queue.report()
        print("left \(left.items.count)")
        await queue.close()
        await store.close()
        await transport.shutdown()
        exit(left.items.isEmpty ? 0 : 1)
    }
}
