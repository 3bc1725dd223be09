import Foundation
import ResumeAsyncHTTP
import ResumeDownload
import ResumeStore

/// Downloads an object by URLs that live shorter than the download takes.
@main
struct PresignedObjects {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        // An object store compares by If-Match with the GET itself, or answers a HEAD that is signed for itself.
        let asksHead = arguments.first == "--head"
        if asksHead { arguments.removeFirst() }
        let environment = ProcessInfo.processInfo.environment
        guard arguments.count == 3, let signer = URLSigner(environment: environment) else {
            say(
                """
                usage: PresignedObjects [--head] BUCKET KEY FILE
                with AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; URL_LIFETIME is in seconds
                """)
            exit(64)
        }
        let object = S3Object(bucket: arguments[0], key: arguments[1])
        let lifetime = environment["URL_LIFETIME"].flatMap(Int.init) ?? 900

        var request = DownloadRequest(try signer.url(for: "GET", object, lifetime: lifetime), to: arguments[2])
        // The URL is another one each time; the object is what is downloaded.
        request.key = "s3://\(object.bucket)/\(object.key)"
        request.condition = asksHead ? .head : .ifMatch
        request.headURL = try signer.url(for: "HEAD", object, lifetime: lifetime)
        // Asked when a URL is refused, as it is after its time; what came stays, and the download goes on by the new one.
        // A program whose server signs asks that here.
        request.renewal = { refusal in
            say("refused with \(refusal.status); signing anew")
            return Renewal(url: try signer.url(for: "GET", object, lifetime: lifetime))
        }
        exit(try await download(request) ? 0 : 1)
    }

    private static func download(_ request: DownloadRequest) async throws -> Bool {
        let store = try await DownloadStore.open(at: "\(request.destination).partial")
        let transport = AsyncHTTPTransport()
        let downloader = Downloader(store: store, transport: transport)
        var isThere = false
        do {
            let result = try await downloader.download(request) { event in
                switch event {
                case .resumed(let offset, _): say("goes on at \(offset)")
                case .restarted(let reason, _): say("starts over: \(reason)")
                case .retrying(let reason, _): say("\(reason)")
                case .progress(let received, let total): say("\(received) of \(total ?? 0)")
                default: break
                }
            }
            print("\(result.path): fetched \(result.fetchedBytes), reused \(result.reusedBytes) bytes")
            isThere = true
        } catch let error as DownloadError {
            // No URL in it, so it may go to a log.
            say("\(error)")
        }
        try await transport.shutdown()
        await store.close()
        return isThere
    }

    /// Talks on standard error; data goes to standard output.
    static func say(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}
