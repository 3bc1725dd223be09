import ResumeCurl
import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore

extension GetCommand {
    func run(_ context: CommandContext) async throws {
        let context = stream.map { self.context(context, writingTo: $0) } ?? context
        let list = try await Blocking.run { try DownloadList(self, context) }
        let first = try await list.next(most: Enlister.most)
        let reporter = GetReporter(command: self, context: context)
        guard !first.items.isEmpty || !first.isLast else { return try reject(first, reporter) }
        guard !writesToOutput || context.outputWidth == nil else {
            throw CommandFailure(.usage, sentence("output-is-terminal"))
        }
        try makeDirectory()
        // Before the first connection is made. One of several that cannot be written does not stop the others, and what is
        // skipped is not tried.
        for item in first.items where !writesToOutput {
            if files.skipExisting, (try? Destination(item.path))?.existingBytes != nil { break }
            let request = list.request(for: item)
            do {
                _ = try await Blocking.run {
                    if let folder = item.folder { try Self.makeFolder(folder) }
                    return try request.checkedDestination()
                }
                break
            } catch  where first.isLast && item.place == first.items.last?.place {
                let failure = CommandFailure(error)
                if messages.json { context.print(GetReporter.json(failure, error, of: request)) }
                throw failure
            } catch {}
        }
        // Before a job is recorded, which would fetch the whole file without it.
        if let from = files.from { try InputFile.requireReadable(from) }
        if first.isLast, first.items.count <= 16, !isQuiet, !messages.json {
            mentionPartials(of: first.items, context)
        }
        let count = first.isLast ? first.items.count : .max
        if writesToOutput {
            guard storesOutput else {
                return try await withTransport(for: 1, context) { transport, _ in
                    let rates = RateControl(each: load.limitRate, total: load.totalRate, store: nil)
                    try await rates.watching {
                        try await write(list, first, reporter, context, over: transport, limiting: rates)
                    }
                }
            }
            return try await withDownloader(for: 1, context, reporter) { downloader, _, rates in
                try await write(
                    list, first, reporter, context, over: downloader.transport, through: downloader, limiting: rates)
            }
        }
        try await withDownloader(for: count, context, reporter) { downloader, spare, rates in
            let programs = Programs(self.programs)
            let start = try await list.fetchChecksums(
                for: first, with: programs, limiting: rates, over: downloader.transport)
            let run = JobRun(
                self, on: try await downloader.store.jobTable(), with: downloader, limiting: rates,
                pausingAtMost: spare, starting: programs, reporter)
            // Each is recorded as a job before its first request.
            let enlister = try await Enlister(list, to: run)
            try await enlister.add(start)
            try await run.run(.given) { job in
                try list.request(for: job, as: run.feed.take(job.id))
            } feeding: {
                if !start.isLast { await enlister.addRest() }
            }
            try? await run.table.pruneSometimes()
        }
    }

    /// Reports that none of the first downloads can start.
    func reject(_ part: DownloadList.Part, _ reporter: GetReporter) throws {
        guard !part.rejected.isEmpty else {
            throw CommandFailure(.refused, sentence("list-empty", files.inputFile ?? ""))
        }
        reporter.expect(part.rejected.count)
        for failure in part.rejected { reporter.rejected(failure) }
        reporter.finish(failed: part.rejected.count)
        try Self.throwWorst(of: part.rejected.map(\.status))
    }

    /// Opens the store and a transport for a number of downloads, and closes both.
    ///
    /// - Parameters:
    ///   - count: The number of downloads.
    ///   - context: The streams and the environment.
    ///   - reporter: Reports what is removed to make room; nil if nothing else is reported.
    ///   - body: Receives how many downloads may wait, such as small files for their delivery, and the rate limits.
    /// - Throws: The errors of `body`; ``CommandFailure`` if there is no transport.
    func withDownloader(
        for count: Int, _ context: CommandContext, _ reporter: GetReporter? = nil,
        _ body: (Downloader, _ mostPaused: Int, RateControl) async throws -> Void
    ) async throws {
        try await withTransport(for: count, context) { transport, spare in
            try await context.withStore(
                storeOptions, creating: true,
                configuring: { configuration in
                    configuration.eviction = storeOptions.storeMaxSize == nil ? .stale : .staleWithinLimit
                    let say = reporter?.mention ?? context.say
                    configuration.onCollection = { report, _ in Rendering.losses(in: report).forEach(say) }
                    configuration.onWaitForSpace = { key in
                        let reason = Reason("store-limit")
                        reporter?.waits(for: reason, of: DownloadURL.shownKey(key))
                        reporter?.note("\(Redaction.key(key)): \(reason.text)")
                    }
                }
            ) { store in
                try await Collector(store).makeRoomForRecords()
                let rates = RateControl(each: load.limitRate, total: load.totalRate, store: store.path)
                let downloader = Downloader(store: store, transport: transport)
                try await rates.watching { try await body(downloader, spare, rates) }
            }
        }
    }

    /// Opens a transport for a number of downloads, and closes it.
    private func withTransport(
        for count: Int, _ context: CommandContext,
        _ body: (CurlTransport, _ mostPaused: Int) async throws -> Void
    ) async throws {
        guard !requests.usesHTTP3 || CurlTransport.supportsHTTP3 else {
            throw CommandFailure(.usage, sentence("http3-missing"))
        }
        var configuration = try connection.configuration(context.environment)
        configuration.usesHTTP3 = requests.usesHTTP3
        configuration.cookies = familiar.cookies.jar()
        let downloads = min(load.maxConcurrent, count)
        let (threads, spare) = try OpenFileLimit.room(
            for: downloads, connections: pace.connections,
            // Waking more threads would take longer than the work of a small file on each.
            threads: min(downloads * pace.connections, configuration.threads), besides: Slots.mostPaused)
        configuration.threads = threads
        configuration.connectTimeout = Pace.limit(pace.connectTimeout)
        // While a body waits, samples may be requested.
        configuration.keptConnections = max(downloads * pace.connections, 4)
        configuration.connectionsPerHost = load.perHost ?? configuration.keptConnections
        configuration.usesHTTP2 = requests.usesHTTP2
        if connection.insecure, !isQuiet {
            context.say(sentence("insecure-warning"))
        }
        let transport = CurlTransport(configuration)
        let result = await Result { try await body(transport, spare) }
        await transport.shutdown()
        let number = configuration.cookies.map(familiar.cookies.save) ?? 0
        if number != 0 {
            let place = familiar.cookies.cookieJar ?? ""
            context.say(sentence("cookies-not-written", place, SystemError.reason(number)))
        }
        try result.get()
    }
}
