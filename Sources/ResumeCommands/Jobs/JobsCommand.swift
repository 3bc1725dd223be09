import ArgumentParser
import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore

/// The command `resumectl jobs`.
struct JobsCommand: ContextCommand {
    static let configuration = CommandConfiguration("jobs")

    @OptionGroup var storeOptions: StoreOptions
    @Flag("jobs/all") var all = false
    @Flag("jobs/json") var json = false

    func run(_ context: CommandContext) async throws {
        var count = 0
        _ = try await context.withExistingStore(storeOptions) { store in
            let table = try await store.jobTable()
            try await table.forEach { job in
                guard all || job.state.isLeft else { return }
                count += 1
                if json { return context.print(job.json(on: table)) }
                guard let width = context.outputWidth else { return context.print(Self.line(job, table)) }
                if count == 1 { context.print(Job.row("FILE", "STATE", ("RECEIVED", "%"), "URL", width)) }
                for line in job.rows(on: table, width) { context.print(line) }
            }
        }
        guard !json, context.outputWidth != nil else { return }
        guard count > 0 else { return context.print("no unfinished downloads") }
        let forget = Hint.run("forget", "NAME")
        context.print(sentence("jobs-hint", Hint.run("resume"), forget))
    }

    private static func line(_ job: Job, _ table: JobTable) -> String {
        let facts = [job.state(on: table).rawValue, job.received, Redaction.key(job.url), job.destination]
        return (facts + job.remarks.map { "[\($0)]" }).joined(separator: "  ")
    }
}

extension Job {
    /// The stored bytes, and their total if it is known.
    fileprivate var received: String {
        state == .done && totalBytes == nil ? "all" : ByteCount.text(receivedBytes, of: totalBytes)
    }

    /// What it needs, and why it failed.
    fileprivate var remarks: [String] {
        (needs.isEmpty ? [] : ["needs \(needs.joined(separator: ", "))"])
            + (failure.map { [$0.text] } ?? [])
    }
}

/// A job in a terminal.
extension Job {
    /// The columns of "1023.9 KiB of 1023.9 KiB".
    private static let longestBytes = 24

    /// Returns a row with its file, and rows with its remarks.
    fileprivate func rows(on table: JobTable, _ width: Int) -> [String] {
        let name = destination.pieces(at: "/").last ?? destination
        let shown =
            switch state(on: table) {
            // A process takes several at a time.
            case .running: receivedBytes == 0 && totalBytes == nil ? "queued" : "running"
            case .waiting, .paused: "stopped"
            case let other: other.rawValue
            }
        let percent = totalBytes.map { Rendering.percent(receivedBytes, of: $0) } ?? "?"
        let row = Self.row(Printable.escaped(name), shown, (received, percent), Redaction.key(url), width)
        return [row] + remarks.map { "  \($0)" }
    }

    /// Returns the columns for which there is room, which depends on the width only.
    fileprivate static func row(
        _ name: String, _ state: String, _ received: (long: String, short: String), _ url: String, _ width: Int
    ) -> String {
        let name = Terminal.fitted(name, to: max(min(width / 3, 30), 8))
        let start = "\(name)  \(Terminal.padded(state, to: 9))"
        let room = width - Terminal.columns(start) - 2
        guard room >= 4 else { return "\(name)  \(state)" }
        guard room >= longestBytes else { return "\(start)  \(received.short)" }
        let left = room - longestBytes - 2
        guard left >= EntryTable.leastURL else { return "\(start)  \(received.long)" }
        let long = Terminal.padded(received.long, to: longestBytes)
        return "\(start)  \(long)  \(Terminal.shortened(url, to: left))"
    }
}

/// The command `resumectl cancel`.
struct CancelCommand: EndingCommand {
    static let configuration = CommandConfiguration("cancel")
    static let end: Job.State? = .cancelled

    @OptionGroup var storeOptions: StoreOptions
    @Argument(help: .of("job")) var jobs: [String] = []
    @Flag("cancel/all") var all = false
}

/// The command `resumectl forget`.
struct ForgetCommand: EndingCommand {
    static let configuration = CommandConfiguration("forget")
    static let end: Job.State? = nil

    @OptionGroup var storeOptions: StoreOptions
    @Argument(help: .of("job")) var jobs: [String] = []
    @Flag("forget/all") var all = false
    @Flag("forget/dry-run") var dryRun = false
}

/// A command that ends jobs which no process runs.
protocol EndingCommand: ContextCommand {
    /// The state of a job afterwards, which makes it one that has ended; nil if an ended job is removed.
    static var end: Job.State? { get }
    var storeOptions: StoreOptions { get }
    var jobs: [String] { get }
    var all: Bool { get }
    /// Whether nothing is changed.
    var dryRun: Bool { get }
}

extension EndingCommand {
    var dryRun: Bool { false }

    func validate() throws {
        try require(jobs.isEmpty == all, "name jobs, or use --all")
    }

    func run(_ context: CommandContext) async throws {
        var running = 0
        let word = Self.end?.rawValue ?? "forgotten"
        try await context.withStore(storeOptions) { store in
            let table = try await store.jobTable()
            var chosen: [Job] = []
            if all {
                try await table.forEach { if $0.state.isEnded == (Self.end == nil) { chosen.append($0) } }
            } else {
                chosen = try await JobSelection(jobs).jobs(on: table, context)
            }
            for var job in chosen {
                let name = Redaction.key(job.url)
                let place = "\(name) (\(job.destination))"
                let claim = try await table.claim([job.id], again: true, lookingForFiles: false).first
                if case .busy = claim {
                    running += 1
                    context.say(sentence("job-running", place))
                    continue
                }
                defer { table.release(job.id) }
                // It may have ended, or begun again, since it was read.
                guard case .taken(let now) = claim, !all || now.state.isEnded == (Self.end == nil) else { continue }
                job.state = now.state
                guard Self.end == nil || ![.done, Self.end].contains(job.state) else {
                    context.say(sentence("nothing-to-do", place, job.state.rawValue))
                    continue
                }
                guard !dryRun else {
                    context.say("would be \(word): \(place)")
                    continue
                }
                if let end = Self.end {
                    try await table.set([job.id], to: end)
                } else {
                    try await table.forget([job.id])
                }
                // The key may be abbreviated.
                let purge = Hint.run("purge", ShellWord.quoted(name == job.key ? name : job.destination))
                // The store has nothing of a file that was delivered.
                let isKept = job.receivedBytes > 0 && job.state != .done
                let kept = Reason("kept-of-job", with: ByteCount.text(job.receivedBytes), purge)
                context.say("\(word): \(place)\(isKept ? kept.text : "")")
            }
        }
        if running > 0 { throw CommandFailure(.refused) }
    }
}
