internal import ArgumentParser
internal import HTTPTypes
internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore

/// The command `resumectl resume`.
struct ResumeCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Continue all downloads that are not done, or those named.",
        discussion: """
            Works from any folder, after any end of the earlier command. Passwords and tokens are not stored: give \
            their header fields again, or the complete URL. They are sent to one server only.

            EXAMPLE:
              resumectl resume
              resumectl resume -H 'Authorization: Bearer TOKEN' https://example.org/image.iso

            EXIT STATUS: as get.
            """)

    @OptionGroup var jobs: JobArguments

    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")],
        help: ArgumentHelp("Header field that a job needs and that was not stored.", valueName: "field"))
    var headers: [String] = []

    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("Downloads at a time.", valueName: "n"))
    var maxConcurrent: Int = 4

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Bytes per second for each download, such as 2M.", valueName: "size"),
        transform: ByteCount.rate)
    var limitRate: ByteCount?

    @Option(
        name: .long,
        help: ArgumentHelp("Trust these certificates (PEM), not the system's.", valueName: "file"), completion: .file())
    var cacert: String?

    @OptionGroup var familiar: FamiliarOptions
    @OptionGroup var messages: MessageOptions
    @OptionGroup var storeOptions: StoreOptions

    func validate() throws {
        try GetCommand.checkConcurrency(maxConcurrent)
        try GetCommand.checkForm(ofHeaders: headers)
    }

    /// The command `get` with the same options, which runs the downloads.
    private func get(connections: Int) throws -> GetCommand {
        var get = try GetCommand.parse(["--input-file", "-"])
        (get.familiar, get.messages, get.storeOptions) = (familiar, messages, storeOptions)
        get.requests.cacert = cacert
        (get.pace.maxConcurrent, get.pace.connections) = (maxConcurrent, connections)
        return get
    }

    func run(_ context: CommandContext) async throws {
        var (count, connections) = (0, 1)
        var selection = JobSelection(jobs.names)
        _ = try await context.withExistingStore(storeOptions.store) { store in
            let board = try await store.openJobs()
            try await board.forEach { job in
                guard isChosen(job, &selection) else { return }
                count += 1
                connections = max(connections, JobTerms.request(for: job)?.connections ?? 1)
            }
        }
        try selection.requireAllFound(context)
        guard count > 0 else {
            if !messages.json, !messages.quiet { context.say("nothing to resume") }
            return
        }
        connections = min(connections, DownloadRequest.mostConnections)
        let get = try get(connections: connections)
        let netrc = try familiar.netrc(context.environment)
        let reporter = GetReporter(command: get, count: count, of: count, context: context)
        try await get.withDownloader(for: count, context) { downloader, spare in
            let board = try await downloader.store.openJobs()
            var secrets = Secrets(familiar.fields, headers.compactMap(GetCommand.field), netrc)
            var number = 0
            var failed: [ExitStatus] = []
            try await get.run(on: board, with: downloader, deliveringAtMost: spare, reporter) { feed in
                var next: Int64? = 0
                while let start = next, !Task.isCancelled {
                    let page = try await board.jobs(after: start)
                    next = page.next
                    var due: [DueJob] = []
                    for job in page.jobs {
                        let (isNamed, url) = selection.find(job)
                        guard isNamed || (selection.isEmpty && job.state.isLeft) else { continue }
                        switch request(for: job, at: url, &secrets) {
                        case .success(let request):
                            due.append(DueJob(id: job.id, number: number, request: request, again: isNamed))
                        case .failure(let failure):
                            let shown = (try? DownloadURL(job.url)).map { DownloadRequest($0, to: job.destination) }
                            if let shown { reporter.report(failure, failure, of: shown, number) }
                            failed.append(failure.status)
                        }
                        number += 1
                    }
                    try await feed(due)
                }
                return failed
            }
        }
    }

    private func isChosen(_ job: Job, _ selection: inout JobSelection) -> Bool {
        selection.isEmpty ? job.state.isLeft : selection.find(job).isNamed
    }

    /// Returns the request of a job with the secrets that it needs.
    private func request(
        for job: Job, at url: DownloadURL?, _ secrets: inout Secrets
    ) -> Result<DownloadRequest, CommandFailure> {
        guard var request = JobTerms.request(for: job, at: url) else {
            return .failure(CommandFailure(.refused, "its options cannot be read; run 'resumectl get' again"))
        }
        var missing: [String] = []
        for need in JobTerms.needs(of: job) {
            if need == JobTerms.url {
                if url == nil { missing.append("the complete URL") }
            } else if !secrets.add(need, to: &request) {
                missing.append("the header field \(need)")
            }
        }
        guard missing.isEmpty else {
            return .failure(
                CommandFailure(
                    .refused,
                    "needs \(missing.joined(separator: " and ")), which was not stored. Name it in "
                        + "'resumectl resume', with -H for header fields.", isResumable: true))
        }
        if let limitRate { request.rateLimit = limitRate.bytes }
        if let agent = familiar.userAgent { request.fields[.userAgent] = agent }
        request.interruption = Interruption(.interrupted)
        request.fulfils(job.id, unless: job.file.flatMap { $0.isInPlace(at: job.destination) ? $0 : nil })
        return .success(request)
    }
}

/// The header fields that the user gives again.
private struct Secrets {
    private let fields: HTTPFields
    private let netrc: Netrc?
    /// The server that they are sent to: that of the first job that needs them.
    private var origin: String?

    init(_ fields: HTTPFields, _ headers: [HTTPField], _ netrc: Netrc?) {
        var fields = fields
        for field in headers { fields.append(field) }
        self.fields = fields
        self.netrc = netrc
    }

    /// Adds a field to a request.
    ///
    /// - Returns: False if it was not given, or was given for another server.
    mutating func add(_ name: String, to request: inout DownloadRequest) -> Bool {
        guard let name = HTTPField.Name(name) else { return false }
        if fields[name] != nil {
            let origin = self.origin ?? "\(request.url.origin)"
            guard "\(request.url.origin)" == origin else { return false }
            self.origin = origin
            for field in fields where field.name == name { request.fields.append(field) }
        } else if name == .authorization, let value = netrc?.authorization(for: request.url) {
            request.fields[name] = value
        } else {
            return false
        }
        request.secretFields.insert(name)
        return true
    }
}
