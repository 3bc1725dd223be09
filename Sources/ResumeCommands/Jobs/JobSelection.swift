internal import ArgumentParser
internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore

/// The arguments of commands that work on jobs.
struct JobArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("Keys, URLs or destinations of jobs, or parts of these.", valueName: "job"))
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
    /// The jobs of which an argument is a part of the key, URL or destination, by its index.
    private var candidates: [Int: [Job]] = [:]
    /// The number of candidates in a message.
    private static let mostShown = 20

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
            guard isURL || job.key == name.text || job.destination == name.path else {
                let isPart = [job.destination, job.url, job.key].contains { $0.contains(name.text) }
                if isPart, DownloadStore.isPart(name.text), candidates[index, default: []].count <= 2 * Self.mostShown {
                    candidates[index, default: []].append(job)
                }
                continue
            }
            used.insert(index)
            found = (true, isURL ? name.url : found.url)
        }
        return found
    }

    /// Returns the jobs of which arguments are a part of the name, after all jobs were looked at.
    ///
    /// - Throws: ``CommandFailure`` if an argument has named no job, or is a part of several.
    func parts(_ context: CommandContext) throws -> [Job] {
        try names.indices.filter { !used.contains($0) }.map { index in
            let shown = context.shown(names[index].text)
            let all = candidates[index] ?? []
            let left = all.filter(\.state.isLeft)
            let jobs = left.isEmpty ? all : left
            guard let job = jobs.first else {
                throw CommandFailure(
                    .notFound, "there is no job \(shown). Run 'resumectl jobs --all' to show all jobs.")
            }
            guard jobs.count == 1 else {
                var failure = CommandFailure(.notFound, "several jobs match \(shown); name one of them:")
                failure.details = jobs.prefix(Self.mostShown).map(\.destination)
                throw failure
            }
            return job
        }
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
