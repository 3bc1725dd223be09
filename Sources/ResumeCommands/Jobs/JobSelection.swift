internal import ArgumentParser
internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore

/// The arguments of commands that work on jobs.
struct JobArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("Keys, URLs or destinations of jobs.", valueName: "job"))
    var names: [String] = []
}

/// The jobs that a user names.
struct JobSelection {
    /// One argument.
    private struct Name {
        let text: String
        /// The URL as given, with its secrets; nil if the argument is not a URL.
        let url: DownloadURL?
        let path: String?
    }

    private let names: [Name]
    /// The indices of arguments that have named a job.
    private var used: Set<Int> = []

    /// Whether no job is named, so that all are meant.
    var isEmpty: Bool { names.isEmpty }

    init(_ names: [String]) {
        self.names = names.map { text in
            Name(text: text, url: try? TypedURL.parse(text), path: try? Destination(text).path)
        }
    }

    /// Whether a job is named, and its URL with secrets if that was given.
    mutating func find(_ job: Job) -> (isNamed: Bool, url: DownloadURL?) {
        var found: (isNamed: Bool, url: DownloadURL?) = (false, nil)
        for (index, name) in names.enumerated() {
            let isURL = name.url?.redacted == job.url
            guard isURL || job.key == name.text || job.destination == name.path else { continue }
            used.insert(index)
            found = (true, isURL ? name.url : found.url)
        }
        return found
    }

    /// Throws if an argument has named no job.
    func requireAllFound(_ context: CommandContext) throws {
        guard let index = names.indices.first(where: { !used.contains($0) }) else { return }
        throw CommandFailure(
            .notFound,
            "there is no job \(context.shown(names[index].text)). Run 'resumectl jobs --all' to show all jobs.")
    }
}

extension Job {
    /// The state as shown: a job runs as long as a process has locked it.
    func state(on board: JobBoard) -> Job.State {
        guard state.isLeft else { return state }
        return board.isRunning(id) ? .running : state == .running ? .waiting : state
    }

    /// The job in the format of `jobs --json`.
    func json(on board: JobBoard) -> JSON {
        .object([
            "attempts": .integer(attempts), "destination": .string(destination),
            "id": .integer(id), "key": .string(key), "message": .optional(failure?.text),
            "needs": .array((JobTerms.needs(of: self) + ConnectionTrust.options(for: self)).map(JSON.string)),
            "reason": .optional(failure?.code.rawValue), "receivedBytes": .integer(receivedBytes),
            "state": .string(state(on: board).rawValue), "totalBytes": .optional(totalBytes), "url": .string(url),
        ])
    }
}
