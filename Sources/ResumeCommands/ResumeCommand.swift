import ArgumentParser
import HTTPTypes
import ResumeDownload
import ResumeHTTP
import ResumeStore

struct ResumeCommand: ContextCommand {
    static let configuration = CommandConfiguration("resume")

    @Argument(help: .of("job")) var jobs: [String] = []
    @Option("resume/url") var url: String?
    @Flag("allow-unvalidated") var allowUnvalidated = false
    @OptionGroup var headers: HeaderOptions
    @OptionGroup var load: LoadOptions
    @OptionGroup var programs: ProgramOptions
    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var familiar: FamiliarOptions
    @OptionGroup var messages: GetCommand.Messages
    @OptionGroup var storeOptions: StoreOptions

    func validate() throws {
        guard let url else { return }
        try require(jobs.count == 1, "--url requires exactly one job")
        try Redaction.requireURL(url, of: "--url")
    }

    func run(_ context: CommandContext) async throws {
        let selection = JobSelection(jobs)
        let other = try url.map { try TypedURL.parse($0) }
        let netrc = try familiar.netrc(context.environment)
        var secrets = Secrets(
            fields: familiar.fields + headers.fields, netrc: netrc, given: GivenIdentity(connection, familiar.cookies))
        let chosen = try await context.withExistingStore(storeOptions) { store in
            try await self.chosen(from: try await store.jobTable(), selection, &secrets, at: other, context)
        }
        // There may be no store yet.
        if chosen == nil { _ = try await selection.jobs(on: nil, context) }
        guard let chosen, chosen.count > 0 else {
            if !messages.json, !messages.quiet { context.say("nothing to resume") }
            return
        }
        // The command `get` with the same options runs the downloads.
        var get = try GetCommand.parse(["--input-file", "-"])
        get.familiar = familiar
        get.messages = messages
        get.storeOptions = storeOptions
        get.connection = connection
        get.programs = programs
        get.load = load
        get.pace.connections = min(chosen.connections, DownloadRequest.mostConnections)
        let reporter = GetReporter(command: get, context: context)
        reporter.expect(chosen.count)
        try await get.withDownloader(for: chosen.count, context, reporter) { [get] downloader, spare, rates in
            let table = try await downloader.store.jobTable()
            let run = JobRun(
                get, on: table, with: downloader, limiting: rates, pausingAtMost: spare,
                starting: Programs(programs), reporter)
            for ids in chosen.ids { run.feed.added.yield(ids) }
            let trust = ConnectionTrust(connection)
            try await run.run(selection.isEmpty ? .left : .again) { job in
                try trust.requireSame(for: job, at: other)
                let request = try request(for: job, at: other ?? selection.url(of: job), secrets)
                // The next run continues from there as well.
                if other != nil { try await table.record(request, as: job.position) }
                return request
            } feeding: {
            }
        }
    }

    /// The jobs to run.
    private struct Chosen {
        var ids: [ClosedRange<Int64>]
        var count: Int
        /// The largest number of connections that one of them uses; those behind the first hundreds are not looked at.
        var connections = 1
    }

    /// Returns the jobs to run.
    ///
    /// - Throws: ``CommandFailure`` if one that is named does not exist, or if several servers would get secrets.
    private func chosen(
        from table: JobTable, _ selection: JobSelection, _ secrets: inout Secrets, at other: DownloadURL?,
        _ context: CommandContext
    ) async throws -> Chosen {
        let jobs: [Job]
        var chosen: Chosen
        if selection.isEmpty {
            guard let left = try await table.left(first: 500) else { return Chosen(ids: [], count: 0) }
            let all: ClosedRange<Int64> = 0...max(left.last, 0)
            jobs = left.first
            chosen = Chosen(ids: [all], count: left.count)
            if !secrets.fields.isEmpty { try await table.forEach(onlyLeft: true) { try secrets.permit($0, at: nil) } }
        } else {
            let named = try await selection.jobs(on: table, context)
            jobs = named.filter { job in !named.contains { $0.replaces(job) } }
            for job in named where !messages.json && !messages.quiet && !jobs.contains(where: { $0.id == job.id }) {
                context.say(job.outdated)
            }
            chosen = Chosen(ids: jobs.map { $0.id...$0.id }, count: jobs.count)
            for job in jobs { try secrets.permit(job, at: other) }
        }
        for job in jobs { chosen.connections = max(chosen.connections, JobTerms.request(for: job)?.connections ?? 1) }
        return chosen
    }

    /// Returns the request of a job with the secrets that it needs.
    private func request(for job: Job, at url: DownloadURL?, _ secrets: Secrets) throws -> DownloadRequest {
        guard var request = JobTerms.request(for: job, at: url) else {
            throw CommandFailure(.refused, "its options cannot be read; run \(Hint.run("get")) again")
        }
        var missing: [String] = []
        for need in JobTerms.needs(of: job) {
            if need == JobTerms.url {
                if url == nil { missing.append("the complete URL") }
            } else if need.hasPrefix("--") {
                if !(programs.needs + secrets.given.needs).contains(need) { missing.append(need) }
            } else if !secrets.add(need, to: &request) {
                missing.append("the header field \(need)")
            }
        }
        guard missing.isEmpty else {
            let list = sentence("list-of-digests", Hint.run("get"))
            if missing.contains("--checksums") { throw CommandFailure(.refused, list, isResumable: true) }
            let reason = sentence("secret-needed", missing.joined(separator: " and "), Hint.run("resume"))
            throw CommandFailure(.refused, reason, isResumable: true)
        }
        secrets.netrc?.authorizeRedirects(of: &request)
        programs.apply(to: &request)
        secrets.given.apply(to: &request)
        load.apply(to: &request)
        if let agent = familiar.userAgent { request.headerFields[.userAgent] = agent }
        request.interruption = Interruption(.interrupted)
        if allowUnvalidated { request.allowsUnvalidated = true }
        return request
    }

    /// The header fields that the user gives again.
    private struct Secrets {
        let fields: HTTPFields
        let netrc: Netrc?
        let given: GivenIdentity
        /// The server that the fields are sent to; nil if no job needs them.
        var origin: String?

        /// Permits a job to use the fields that it needs, before any of them is sent.
        ///
        /// - Parameters:
        ///   - job: The job.
        ///   - url: Its URL; nil for the recorded one.
        /// - Throws: ``CommandFailure`` if a job of another server needs fields.
        mutating func permit(_ job: Job, at url: DownloadURL?) throws {
            let needed = JobTerms.needs(of: job).first { need in HTTPField.Name(need).map { fields[$0] != nil } ?? false
            }
            guard let needed, let url = try? url ?? DownloadURL(job.url) else { return }
            guard origin == nil || origin == url.origin else {
                throw CommandFailure(.usage, sentence("several-servers", needed, origin ?? "", url.origin))
            }
            origin = url.origin
        }

        /// Adds a field to a request.
        ///
        /// - Returns: False if it was not given, or was given for another server.
        func add(_ name: String, to request: inout DownloadRequest) -> Bool {
            guard let name = HTTPField.Name(name) else { return false }
            if fields[name] != nil {
                // The job may have been replaced since it was permitted.
                guard request.url.origin == origin else { return false }
                request.headerFields += fields.filter { $0.name == name }
            } else if name == .authorization, let value = netrc?.authorization(for: request.url) {
                request.headerFields[name] = value
            } else {
                return false
            }
            request.secretHeaderFields.insert(name)
            return true
        }
    }
}
