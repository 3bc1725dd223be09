#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeAsyncHTTP
internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore

extension GetCommand {
    func run(_ context: CommandContext) async throws {
        let reporter = GetReporter(command: self, context: context)
        let all = try items(context)
        let items = all.filter { item in
            // A name given by the server is not known yet.
            guard skipExisting, !remoteHeaderName, Self.hasFile(item.path) else { return true }
            reporter.skipped(request(for: item))
            return false
        }
        reporter.begin(items.count, of: all.count)
        guard !items.isEmpty else { return }
        // All destinations are checked before the first connection is made.
        for item in items {
            let request = request(for: item)
            do {
                _ = try request.checkedDestination()
            } catch {
                let failure = CommandFailure(error)
                if json { context.print(GetReporter.json(failure, error, of: request).text) }
                throw failure
            }
        }
        if let cacert, !AsyncHTTPTransport.hasCertificates(at: cacert) {
            throw CommandFailure(.notFound, "\(Printable.escaped(cacert)) contains no certificates in PEM format")
        }
        let proxies: ProxySettings
        do {
            proxies = try ProxySettings(environment: context.environment)
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
        let downloads = min(maxConcurrent, items.count)
        let need = OpenFileNeed(downloads: downloads, connections: connections)
        let threads = try OpenFileLimit.threads(atMost: min(downloads * connections, Self.mostThreads), for: need)
        let spare = OpenFileLimit.spare(beside: need.files(threads: threads), atMost: DownloadSlots.most.files)
        let transport = AsyncHTTPTransport(
            .init(
                connectTimeout: Self.seconds(connectTimeout), trustedCertificates: cacert, threads: threads,
                connectionsPerHost: downloads * connections, proxies: proxies, usesHTTP2: usesHTTP2))
        do {
            try await context.withStore(storeOptions.store, creating: true) { store in
                let downloader = Downloader(store: store, transport: transport)
                try await download(items, with: downloader, deliveringAtMost: spare, reporter)
            }
        } catch {
            try? await transport.shutdown()
            throw error
        }
        try await transport.shutdown()
    }

    /// Whether there is a file or a link to one; other kinds of items are reported when the destination is checked.
    private static func hasFile(_ path: String) -> Bool {
        let path = URL(filePath: path).resolvingSymlinksInPath().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return attributes?[.type] as? FileAttributeType == .typeRegular
    }

    /// The maximum number of threads; waking more of them would take longer than the work of a small file on each.
    private static let mostThreads = max(4, ProcessInfo.processInfo.activeProcessorCount)

    /// One download of a list, whose request is made when it starts, since a request uses much more memory.
    struct Item: Sendable {
        let url: DownloadURL
        /// The path to which it is delivered.
        let path: String
    }

    /// Returns all downloads with their destinations.
    private func items(_ context: CommandContext) throws -> [Item] {
        var items: [Item] = []
        /// Indices of items by name.
        var taken: [String: Int] = [:]
        let listed = try inputFile.map(InputFile.lines) ?? []
        for (text, line) in urls.map({ ($0, nil) }) + listed.map({ ($0.text, $0.number) }) {
            let url: DownloadURL
            do {
                url = try DownloadURL(text)
            } catch {
                let place =
                    line.map { "\(Printable.escaped(inputFile ?? "")), line \($0)" } ?? context.position(of: text)
                throw CommandFailure(.usage, "\(place): \(Redaction.problem(error, with: text))")
            }
            let path = try output ?? defaultPath(for: url)
            // If servers name the files, URLs with the same last component do not conflict.
            let name = remoteHeaderName ? url.absoluteString : path
            if let other = taken[name].map({ items[$0].url }) {
                // Repeated URLs are one download.
                if other == url { continue }
                let (one, two) = (Redaction.url(other), Redaction.url(url))
                let both =
                    one == two ? "two URLs shown as \(one), which differ in a hidden parameter," : "\(one) and \(two)"
                throw CommandFailure(
                    .usage,
                    "\(both) would both be written to \(Printable.escaped(path)). "
                        + "Download them one at a time with --output, or use --remote-header-name."
                )
            }
            taken[name] = items.count
            items.append(Item(url: url, path: path))
        }
        return items
    }

    private func defaultPath(for url: DownloadURL) throws -> String {
        guard let name = url.lastPathComponent ?? (remoteHeaderName ? "download" : nil) else {
            throw CommandFailure(
                .usage, "\(Redaction.url(url)) does not contain a file name. Specify one with --output.")
        }
        return directory.map { $0.hasSuffix("/") ? "\($0)\(name)" : "\($0)/\(name)" } ?? name
    }
}
