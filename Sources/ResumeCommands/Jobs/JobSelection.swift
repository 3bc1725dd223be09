import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore

/// The jobs that a user names.
struct JobSelection {
    /// One argument.
    private struct Name {
        let text: String
        /// The URL as given, with its secrets; nil if the argument is not a URL.
        let url: DownloadURL?
        let path: String?

        /// Returns how it names a job: with its whole key, URL or destination (0), or with a part of one of these, by
        /// whether the job is left to do (1) or not (2); nil if it does not.
        func rank(of job: Job) -> Int? {
            if url?.redacted == job.url || job.key == text || job.destination == path { return 0 }
            guard DownloadStore.isPart(text),
                [job.destination, job.url, job.key].contains(where: { $0.contains(text) })
            else { return nil }
            return job.state.isLeft ? 1 : 2
        }
    }

    private let names: [Name]

    /// Whether no job is named, so that all are meant.
    var isEmpty: Bool { names.isEmpty }

    init(_ names: [String]) {
        self.names = names.map { text in
            Name(text: text, url: try? TypedURL.parse(text), path: try? Destination(text).path)
        }
    }

    /// Returns the URL of a job with its secrets; nil if it was not given.
    func url(of job: Job) -> DownloadURL? { names.last { $0.url?.redacted == job.url }?.url }

    /// Returns the jobs that the arguments name, each once, in the order of their IDs.
    ///
    /// - Parameters:
    ///   - table: The jobs of the store; nil if there is no store.
    ///   - context: The arguments.
    /// - Returns: The jobs.
    /// - Throws: ``CommandFailure`` if an argument names no job, or is a part of several; `StoreError`.
    func jobs(on table: JobTable?, _ context: CommandContext) async throws -> [Job] {
        var matches: [[Int: [Job]]] = names.map { _ in [:] }
        try await table?.forEach { job in
            for (index, name) in names.enumerated() {
                // Of those with a part, no more than a message shows.
                guard let rank = name.rank(of: job), rank == 0 || matches[index][rank]?.count ?? 0 < 20 else {
                    continue
                }
                matches[index][rank, default: []].append(job)
            }
        }
        var chosen: [Int64: Job] = [:]
        for (name, found) in zip(names, matches) {
            let jobs = found[0] ?? found[1] ?? found[2] ?? []
            let shown = context.shown(name.text)
            guard !jobs.isEmpty else {
                throw CommandFailure(.notFound, sentence("no-job", shown, Hint.run("jobs", "--all")))
            }
            guard found[0] != nil || jobs.count == 1 else {
                var failure = CommandFailure(.notFound, "several jobs match \(shown); name one of them:")
                failure.details = jobs.map(\.destination)
                throw failure
            }
            for job in jobs { chosen[job.id] = job }
        }
        return chosen.values.sorted { $0.id < $1.id }
    }
}

extension Job {
    /// Whether this job, which is left to do, writes to the same path as one of an earlier command.
    func replaces(_ other: Job) -> Bool {
        destination == other.destination && list > other.list && !state.isEnded && !isNamedByServer
            && !other.isNamedByServer
    }

    /// Whether the server names the file: the destination is not its path then.
    private var isNamedByServer: Bool { JobTerms.request(for: self)?.usesServerFilename == true }

    /// Failures for which the server was not the cause, or received all.
    private static let ownFailures: Set = [
        "failed", "destination", "destination-exists", "digest-mismatch", "announced-digest-mismatch",
        "named-digest-mismatch", "content-digest-mismatch", Programs.completionFailed.rawValue,
    ]

    /// Whether the server has refused it permanently before anything was received: a wrong URL, most likely.
    var neverBegan: Bool {
        guard state == .failed, receivedBytes == 0, file == nil, let code = failure?.code.rawValue else {
            return false
        }
        return !Self.ownFailures.contains(code)
    }

    /// Says why it does not run.
    var outdated: String {
        sentence("outdated", Redaction.key(url), destination)
    }

    /// Why it is left out.
    var leftOut: String {
        sentence("left-out", Redaction.key(url), failure?.text ?? "", waysOn)
    }

    /// How to try it again, or to give it up.
    var waysOn: String {
        sentence("ways-on", Hint.run("forget", ShellWord.quoted(destination)))
    }

    /// What must be given again to continue it.
    var needs: [String] { JobTerms.needs(of: self) + ConnectionTrust.options(in: key) }

    /// The state as shown: a job runs as long as a process has locked it.
    func state(on table: JobTable) -> Job.State {
        guard state.isLeft else { return state }
        return table.isRunning(id) ? .running : state == .running ? .waiting : state
    }

    /// The job in the format of `jobs --json`.
    func json(on table: JobTable) -> JSONObject {
        [
            "attempts": attempts, "destination": destination, "id": id, "key": key, "message": failure?.text,
            "needs": needs, "reason": failure?.code.rawValue, "receivedBytes": receivedBytes,
            "state": state(on: table).rawValue, "totalBytes": totalBytes, "url": url,
        ]
    }
}
