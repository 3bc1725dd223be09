import Foundation
import ResumeAsyncHTTP
import ResumeDownload
import ResumeStore

/// A folder of files under the names of their digests, with a link for each name; any number of processes may share it.
struct ModelCache: Sendable {
    /// How a file got there.
    enum Outcome {
        case present
        case fetched(Int64, reused: Int64)
    }

    private let folder: String
    private let downloader: Downloader

    /// Opens the cache, making it where there is none, and closes it when `body` is done.
    static func with<Result: Sendable>(
        folder: String, _ body: @Sendable (ModelCache) async throws -> Result
    ) async throws -> Result {
        let blobs = "\(folder)/blobs"
        try FileManager.default.createDirectory(atPath: blobs, withIntermediateDirectories: true)
        // A model may be larger than the 16 GiB that partials have by default.
        let store = try await DownloadStore.open(
            at: "\(folder)/.partial", configuration: .init(maximumSize: 200 << 30))
        let transport = AsyncHTTPTransport()
        do {
            let cache = ModelCache(folder: folder, downloader: Downloader(store: store, transport: transport))
            let result = try await body(cache)
            try await transport.shutdown()
            await store.close()
            return result
        } catch {
            try? await transport.shutdown()
            await store.close()
            throw error
        }
    }

    /// Sees to it that a file is there.
    func fetch(_ model: Model, onEvent: (DownloadEvent) -> Void) async throws -> Outcome {
        let digest = model.digest.hexadecimal
        let blob = "\(folder)/blobs/\(digest)"
        var outcome = Outcome.present
        // It got this name when it was whole and its digest was right: nothing is to be read again.
        if !FileManager.default.fileExists(atPath: blob) {
            var request = DownloadRequest(model.url, to: blob)
            request.digest = model.digest
            // Whatever host or signature the URL has next time, it is the same download.
            request.key = "sha256:\(digest)"
            for try await event in downloader.events(request) {
                onEvent(event)
                guard case .finished(let result) = event else { continue }
                outcome = .fetched(result.fetchedBytes, reused: result.reusedBytes)
            }
        }
        try link(model.name, to: "blobs/\(digest)")
        return outcome
    }

    /// Makes a link, or lets the one that is there lead elsewhere.
    private func link(_ name: String, to target: String) throws {
        let files = FileManager.default
        let path = "\(folder)/\(name)"
        if (try? files.destinationOfSymbolicLink(atPath: path)) == target { return }
        try? files.removeItem(atPath: path)
        try files.createSymbolicLink(atPath: path, withDestinationPath: target)
    }
}
