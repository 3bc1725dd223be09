import Foundation
import ResumeCurl
import ResumeDownload
import ResumeStore

/// Downloads an object by presigned URLs that expire before the download is complete.
@main
struct PresignedObjects {
    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        // Object stores evaluate If-Match in the GET request, or answer a HEAD request, which needs a separately signed
        // URL.
        let asksHead = arguments.first == "--head"
        if asksHead { arguments.removeFirst() }
        guard arguments.count == 3, let backend = Backend(arguments[0]) else {
            say("usage: PresignedObjects [--head] SIGNING-URL KEY FILE")
            exit(64)
        }
        do {
            let request = try await request(for: arguments[1], to: arguments[2], from: backend, asksHead: asksHead)
            try await download(request)
        } catch {
            // A DownloadError contains no URL, so it may go to a log.
            say("\(error)")
            exit(1)
        }
    }

    private static func request(
        for key: String, to file: String, from backend: Backend, asksHead: Bool
    ) async throws -> DownloadRequest {
        var request = DownloadRequest(try await backend.url(for: "GET", key), to: file)
        // The URL differs each time; the key names what is downloaded.
        request.key = "object:\(key)"
        request.condition = asksHead ? .head : .ifMatch
        if asksHead { request.headURL = try await backend.url(for: "HEAD", key) }
        // Called when the store refuses a URL, as it does once the URL has expired. The received bytes are kept, and the
        // download continues with the new URL.
        request.refresh = { challenge in
            say("the URL was refused with status \(challenge.status); asking for another one")
            return RefreshedRequest(url: try await backend.url(for: "GET", key))
        }
        return request
    }

    private static func download(_ request: DownloadRequest) async throws {
        let store = try await DownloadStore.open(at: "\(request.destination).partial")
        let transport = CurlTransport()
        let downloader = Downloader(store: store, transport: transport)
        let result: Result<DownloadResult, any Error>
        do {
            result = .success(try await downloader.download(request, onEvent: report))
        } catch {
            result = .failure(error)
        }
        await transport.shutdown()
        await store.close()
        let file = try result.get()
        print("\(file.path): fetched \(file.fetchedBytes) bytes, reused \(file.reusedBytes) bytes")
    }

    private static func report(_ event: DownloadEvent) {
        switch event {
        case .resumed(let offset, _): say("resumed at byte \(offset)")
        case .restarted(let reason, _): say("restarted: \(reason)")
        case .retrying(let reason, _): say("\(reason)")
        case .progress(let received, let total): say("\(received) of \(total.map(String.init) ?? "unknown") bytes")
        default: break
        }
    }

    /// Writes messages to standard error; results go to standard output.
    private static func say(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}
