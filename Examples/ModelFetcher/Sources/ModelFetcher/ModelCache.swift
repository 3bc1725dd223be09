import Foundation
import Resume

/// A folder of files named by their digests, with a link for each model name.
///
/// Several processes may share it.
struct ModelCache: Sendable {
    /// How a file became available.
    enum Outcome {
        case present
        case fetched(Int64, reused: Int64)
    }

    private let folder: String
    private let downloader: Downloader

    /// Opens the cache, creating it if needed, and closes it after `body`.
    static func with<Result: Sendable>(
        folder: String, _ body: @Sendable (ModelCache) async throws -> Result
    ) async throws -> Result {
        let blobs = "\(folder)/blobs"
        try FileManager.default.createDirectory(atPath: blobs, withIntermediateDirectories: true)
        // Models may be larger than the default limit of 16 GiB for partial data.
        let store = DownloadStore.Configuration(maximumSize: 200 << 30)
        return try await withDownloader(storingIn: "\(folder)/.partial", configuration: .init(store: store)) {
            try await body(ModelCache(folder: folder, downloader: $0))
        }
    }

    /// Makes a model available, downloading it if needed.
    func fetch(_ model: Model, onEvent: (DownloadEvent) -> Void) async throws -> Outcome {
        let digest = model.digest.hexadecimal
        let blob = "\(folder)/blobs/\(digest)"
        var outcome = Outcome.present
        // A file with this name is complete and verified, so it need not be read again.
        if !FileManager.default.fileExists(atPath: blob) {
            var request = DownloadRequest(model.url, to: blob)
            request.digest = model.digest
            // The key identifies the download even if the host or the signature in the URL changes.
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

    /// Creates or replaces a link.
    private func link(_ name: String, to target: String) throws {
        let files = FileManager.default
        let path = "\(folder)/\(name)"
        if (try? files.destinationOfSymbolicLink(atPath: path)) == target { return }
        try? files.removeItem(atPath: path)
        try files.createSymbolicLink(atPath: path, withDestinationPath: target)
    }
}
