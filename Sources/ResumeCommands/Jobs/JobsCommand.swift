internal import ArgumentParser
internal import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeStore

/// The command `resumectl jobs`.
struct JobsCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "List the downloads that are not done.",
        discussion: """
            Each line has the state, the received bytes of the total, the URL and the destination, in columns \
            separated by two or more spaces, and the reason of the last failure.

            EXAMPLE:
              resumectl jobs
              resumectl jobs --all --json
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Flag(name: .long, help: "Also those that are done or cancelled.")
    var all = false

    @Flag(name: .long, help: "Print one JSON object per job.")
    var json = false

    func run(_ context: CommandContext) async throws {
        _ = try await context.withExistingStore(storeOptions.store) { store in
            let board = try await store.openJobs()
            try await board.forEach { job in
                guard all || job.state.isLeft else { return }
                context.print(json ? job.json(on: board).text : Self.line(job, board))
            }
        }
    }

    private static func line(_ job: Job, _ board: JobBoard) -> String {
        let total = job.totalBytes.map { " of \(ByteCount.text($0))" } ?? ""
        var line =
            "\(job.state(on: board).rawValue)  \(ByteCount.text(job.receivedBytes))\(total)  \(Redaction.key(job.url))"
            + "  \(Printable.escaped(job.destination))"
        let needs = JobTerms.needs(of: job) + ConnectionTrust.options(for: job)
        if !needs.isEmpty { line += "  [needs \(needs.joined(separator: ", "))]" }
        if let failure = job.failure { line += "  [\(Printable.escaped(failure.text))]" }
        return line
    }
}

/// The command `resumectl cancel`.
struct CancelCommand: EndingCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Exclude downloads from resume; their partial data is kept.",
        discussion: "EXAMPLE:\n  resumectl cancel https://example.org/image.iso")
    static let word = "cancelled"

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var jobs: JobArguments

    @Flag(name: .long, help: "All downloads that are not done.")
    var all = false

    func isMeant(_ job: Job) -> Bool { !job.state.isEnded }

    func end(_ job: Job, on board: JobBoard) async throws { try await board.set([job.id], to: .cancelled) }
}

/// The command `resumectl forget`.
struct ForgetCommand: EndingCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Remove downloads from the list of jobs; their partial data is kept.",
        discussion: "EXAMPLE:\n  resumectl forget --all")
    static let word = "forgotten"

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var jobs: JobArguments

    @Flag(name: .long, help: "All downloads that are done, cancelled, or have failed permanently.")
    var all = false

    func isMeant(_ job: Job) -> Bool { job.state.isEnded }

    func end(_ job: Job, on board: JobBoard) async throws { try await board.forget([job.id]) }
}

/// A command that ends jobs which no process runs.
protocol EndingCommand: ContextCommand {
    /// What happened to a job.
    static var word: String { get }
    var storeOptions: StoreOptions { get }
    var jobs: JobArguments { get }
    var all: Bool { get }

    /// Whether a job is meant by `--all`.
    func isMeant(_ job: Job) -> Bool
    func end(_ job: Job, on board: JobBoard) async throws
}

extension EndingCommand {
    func validate() throws {
        guard jobs.names.isEmpty == all else { throw ValidationError("name jobs, or use --all") }
    }

    func run(_ context: CommandContext) async throws {
        var running = 0
        try await context.withStore(storeOptions.store) { store in
            let board = try await store.openJobs()
            var selection = JobSelection(jobs.names)
            var chosen: [Job] = []
            try await board.forEach { job in
                if all ? isMeant(job) : selection.find(job).isNamed { chosen.append(job) }
            }
            try selection.requireAllFound(context)
            for job in chosen {
                let name = Redaction.key(job.url)
                if case .busy = try await board.claim([job.id], again: true).first {
                    running += 1
                    context.say("resumectl: \(name): runs in another process, which must be stopped first")
                    continue
                }
                defer { board.release(job.id) }
                try await end(job, on: board)
                context.say("\(Self.word): \(name)")
            }
        }
        if running > 0 { throw CommandFailure(.refused) }
    }
}
