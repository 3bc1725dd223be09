internal import Foundation
internal import HTTPTypes
internal import ResumeCurl
internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeMaintenance
internal import ResumeStore
internal import TestSupport

/// A program that embeds the library and opens a planted store: every failure must be an error.
package struct LibraryVisit {
    /// The store's folder.
    let store: String
    /// The base URL of the files.
    let origin: String
    /// The folder of delivered files.
    let folder: String
    private var random: SplitMix64
    /// Delivered files that are wrong.
    package private(set) var violations: [String] = []

    /// Creates a visit.
    package init(store: String, origin: String, folder: String, seed: UInt64) {
        (self.store, self.origin, self.folder) = (store, origin, folder)
        random = SplitMix64(seed: seed)
    }

    /// Runs every action once, in an order given by the seed.
    ///
    /// - Throws: An error if the folder cannot be created.
    package mutating func run() async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        guard let opened = try? await DownloadStore.open(at: store, creating: false) else { return }
        let transport = CurlTransport()
        let key = random.pick(PristineStore.keys)
        for part in Array(0..<6).shuffled(using: &random) {
            switch part {
            case 0: await report(opened)
            case 1: await transfer(random.pick(PristineStore.keys), in: opened)
            case 2: await download(key, with: Downloader(store: opened, transport: transport))
            case 3: await queue(with: Downloader(store: opened, transport: transport))
            case 4: await look(opened)
            default: _ = try? await opened.collect(maximumSize: 400_000, dryRun: random.happens(50))
            }
        }
        await opened.close()
        await transport.shutdown()
    }

    private func report(_ store: DownloadStore) async {
        let entries = (try? await store.entries()) ?? []
        for entry in entries { _ = try? await store.entry(for: entry.key) }
        _ = try? await store.events()
        _ = try? await store.totals()
        _ = try? await store.diagnose()
    }

    private mutating func look(_ store: DownloadStore) async {
        _ = try? await store.verify(repairing: random.happens(30))
        _ = try? await store.setPinned(random.happens(50), for: random.pick(PristineStore.keys))
        _ = try? await store.purge(dryRun: true) { _ in true }
    }

    /// Queues are restored but not run: their rows determine where files would go.
    private func queue(with downloader: Downloader) async {
        guard let queue = try? await DownloadQueue.open(downloader) else { return }
        _ = await queue.report()
        await queue.close()
    }

    /// Begins with the store alone, as a program with its own HTTP client does.
    private mutating func transfer(_ key: String, in store: DownloadStore) async {
        guard let url = try? DownloadURL("\(origin)/\(key)"),
            let transfer = try? await store.open(url, headerFields: [:], key: key, waits: false)
        else { return }
        _ = await transfer.resumeData
        for range in await transfer.heldRanges.prefix(10) {
            _ = try? await transfer.read(range.lowerBound..<min(range.upperBound, range.lowerBound + 100_000))
            _ = try? await transfer.read(max(range.lowerBound, range.upperBound - 100_000)..<range.upperBound)
        }
        let version = origin.hasSuffix("1") ? 1 : 2
        let server = HonestServer(
            PristineStore.bytes(of: key, version: version), etag: "\"\(key)-\(version)\"")
        for _ in 0..<3 {
            guard (try? await server.fill(transfer)) != nil else { break }
            guard await transfer.isComplete, let destination = try? Destination("\(folder)/\(key)") else { continue }
            guard (try? await transfer.deliver(to: destination)) != nil else { continue }
            check(destination.path, of: key)
            break
        }
        try? await transfer.close()
    }

    private mutating func download(_ key: String, with downloader: Downloader) async {
        guard let url = try? DownloadURL("\(origin)/\(key)") else { return }
        var request = DownloadRequest(url, to: "\(folder)/\(key)-by-engine")
        request.key = key
        request.retryPolicy.retries = 0
        request.connections = random.pick([1, 4])
        request.allowsUnvalidated = random.happens(30)
        guard (try? await downloader.download(request)) != nil else { return }
        check(request.destination, of: key)
    }

    private mutating func check(_ path: String, of key: String) {
        let bytes = try? Files.bytes(path)
        if !(1...2).contains(where: { PristineStore.bytes(of: key, version: $0) == bytes }) {
            violations.append("the library: \(key): wrong bytes, \(bytes?.count ?? -1) of them")
        }
    }
}
