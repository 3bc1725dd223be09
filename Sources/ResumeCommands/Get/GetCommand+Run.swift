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
        let list = try list(context)
        var items: [DownloadList.Item] = []
        var skipped: [DownloadList.Item] = []
        for item in list.items {
            // A name given by the server is not known yet.
            if files.skipExisting, !files.remoteHeaderName, Self.hasFile(item.path) {
                skipped.append(item)
            } else {
                items.append(item)
            }
        }
        let reporter = GetReporter(command: self, count: items.count, of: list.count, context: context)
        for item in skipped { reporter.skipped(request(for: item)) }
        for failure in list.rejected { reporter.rejected(failure) }
        let failures =
            list.rejected.map(\.status)
            + list.clashes.map { clash in
                let error = error(for: clash, context)
                let failure = CommandFailure(error)
                reporter.report(failure, error, of: request(for: clash.item))
                return failure.status
            }
        guard !items.isEmpty else {
            reporter.finish(failed: failures.count)
            return try Self.throwWorst(of: failures)
        }
        guard !writesToOutput || context.outputWidth == nil else {
            throw CommandFailure(
                .usage, "--output - writes a file to standard output, which is a terminal; redirect it, or name a file")
        }
        try makeDirectory()
        // All destinations are checked before the first connection is made.
        let terms = terms(items[0].url)
        for item in items where !writesToOutput {
            let request = terms.request(for: item)
            do {
                _ = try request.checkedDestination()
            } catch {
                let failure = CommandFailure(error)
                if messages.json { context.print(GetReporter.json(failure, error, of: request).text) }
                throw failure
            }
        }
        try await withDownloader(for: items.count, context) { downloader, spare in
            if writesToOutput, let item = items.first {
                return try await write(item, with: downloader, reporter, context)
            }
            try await download(items, with: downloader, deliveringAtMost: spare, after: failures, reporter)
        }
    }

    /// Opens the store and a transport for a number of downloads, and closes both.
    ///
    /// - Parameters:
    ///   - count: The number of downloads.
    ///   - context: The streams and the environment.
    ///   - body: Receives how many small files may be waiting for their delivery.
    /// - Throws: The errors of `body`; ``CommandFailure`` if there is no transport.
    func withDownloader(
        for count: Int, _ context: CommandContext, _ body: (Downloader, _ mostDelivered: Int) async throws -> Void
    ) async throws {
        if let cacert = requests.cacert, !AsyncHTTPTransport.hasCertificates(at: cacert) {
            throw CommandFailure(.notFound, "\(Printable.escaped(cacert)) contains no certificates in PEM format")
        }
        let proxies: ProxySettings
        do {
            proxies = try ProxySettings(environment: familiar.environment(context.environment))
        } catch {
            var error = error
            if familiar.proxy != nil { error.variable = "--proxy" }
            throw CommandFailure(.usage, "\(error)")
        }
        let downloads = min(pace.maxConcurrent, count)
        let need = OpenFileNeed(downloads: downloads, connections: pace.connections)
        let threads = try OpenFileLimit.threads(atMost: min(downloads * pace.connections, Self.mostThreads), for: need)
        let spare = OpenFileLimit.spare(beside: need.files(threads: threads), atMost: DownloadSlots.most.files)
        let transport = AsyncHTTPTransport(
            .init(
                connectTimeout: PaceOptions.limit(pace.connectTimeout), trustedCertificates: requests.cacert,
                threads: threads,
                connectionsPerHost: downloads * pace.connections, proxies: proxies, usesHTTP2: requests.usesHTTP2))
        do {
            try await context.withStore(storeOptions.store, creating: true) { store in
                try await body(Downloader(store: store, transport: transport), spare)
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
    private static let mostThreads = max(2, ProcessInfo.processInfo.activeProcessorCount)
}
