internal import ArgumentParser
internal import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeMaintenance
internal import ResumeStore

/// The command `resumectl verify`.
struct VerifyCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare rows with files, and bytes with checksums.",
        usage: "resumectl verify [<options>] [<entry> ...]    (--help-hidden shows all options)",
        discussion: """
            Without entries, the whole store is checked. A delivered file is read, and compared with the digest that it \
            had, or with a list of checksums. Exits with status 65 if a problem was found and not repaired.

            EXAMPLE:
              resumectl verify
              resumectl verify --repair
              resumectl verify --checksums SHA256SUMS image.iso
              resumectl verify --remote https://example.org/image.iso
            """)

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var entries: EntryArguments

    @Flag(name: .long, help: "Remove damaged data and keep the rest.")
    var repair = false

    @Flag(name: .long, help: "With --repair, print what would be removed without removing it.")
    var dryRun = false

    @Flag(name: .long, help: "Compare samples of these entries with the server's files.")
    var remote = false

    @Option(
        name: .long, help: ArgumentHelp("Compare files with this list, like sha256sum's.", valueName: "file"),
        completion: .file())
    var checksums: String?

    @OptionGroup var headers: HeaderOptions
    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var familiar: FamiliarOptions

    @Flag(name: .long, help: "Print one JSON object per problem.")
    var json = false

    func validate() throws {
        if remote, repair || entries.names.isEmpty {
            throw ValidationError("--remote requires entries, and cannot be combined with --repair")
        }
        if checksums != nil, remote || repair || entries.names.isEmpty {
            throw ValidationError("--checksums requires files, and cannot be combined with --remote or --repair")
        }
        if !headers.headers.isEmpty && !remote { throw ValidationError("--header requires --remote") }
        if dryRun && !repair { throw ValidationError("--dry-run requires --repair; without it, nothing is removed") }
    }

    func run(_ context: CommandContext) async throws {
        guard !remote else { return try await compareRemotely(context) }
        if let checksums { return try await compareFiles(with: checksums, context) }
        var (found, left, wrong) = (0, 0, 0)
        try await context.withStore(storeOptions.store) { store in
            var names: Set<String> = []
            for name in entries.names {
                do {
                    names.insert(try await entry(name, in: store, context).key)
                } catch let error as CommandFailure where error.status == .notFound {
                    guard let isRight = try await compareDelivered(name, in: store, context) else { throw error }
                    if !isRight { wrong += 1 }
                }
            }
            if names.isEmpty, !entries.names.isEmpty { return }
            try await store.verify(keys: names.isEmpty ? nil : names, repairing: repair && !dryRun) { finding in
                context.print(json ? Self.json(finding).text : Self.line(finding))
                found += 1
                if !finding.isRepaired { left += 1 }
            }
        }
        try Self.requireNone(wrong)
        if found == 0 && !json { context.print("no problems found") }
        guard left == 0 else {
            let advice =
                repair && !dryRun ? "" : ". Run 'resumectl verify --repair' to remove damaged data and keep the rest."
            throw CommandFailure(
                .damaged,
                "\(Rendering.problems(left)) found\(repair && !dryRun ? " that could not be repaired" : "")\(advice)"
            )
        }
    }

    /// Returns the entry that the user names.
    ///
    /// - Throws: ``CommandFailure`` for a file that was delivered, which says how to check it.
    func entry(_ name: String, in store: DownloadStore, _ context: CommandContext) async throws -> Entry {
        do {
            return try await store.entry(matching: name, context)
        } catch let error as StoreError where error.code == .noEntry {
            guard let destination = try? Destination(name),
                try await Blocking.run({ destination.existingBytes }) != nil
            else { throw error }
            throw CommandFailure(
                .notFound,
                "\(Printable.escaped(name)) is a complete file, not an entry of the store. "
                    + (try await Self.advice(for: destination.path, in: store)))
        }
    }

    /// Says how to check a file that is not in the store any more.
    private static func advice(for path: String, in store: DownloadStore) async throws -> String {
        let word = ShellWord.quoted(path)
        var delivered: Job?
        try await store.openJobs().forEach { if $0.destination == path, $0.file != nil { delivered = $0 } }
        let comparison = "To check it, compare 'sha256sum \(word)' with the digest at its source"
        guard let job = delivered else { return "\(comparison)." }
        if let digest = JobTerms.request(for: job)?.digest {
            let program = digest.algorithm == .sha512 ? "sha512sum" : "sha256sum"
            let line = "\(digest.hexadecimal)  \(path)"
            // Quotes are easier to read, but a shell interprets some characters inside them.
            let shown = word == path ? "\"\(line)\"" : ShellWord.quoted(line)
            return "To compare it with the digest of its download again, run 'echo \(shown) | \(program) -c'."
        }
        // Only a command that asks for the same file with the same terms leaves it in place.
        let url = Redaction.key(job.url)
        guard url == job.key, JobTerms.needs(of: job).isEmpty, job.file?.isInPlace(at: path) == true,
            JobTerms.request(for: job)?.acceptEncoding == "identity"
        else { return "\(comparison)." }
        return "\(comparison), or run 'resumectl get \(ShellWord.quoted(url)) -o \(word)', which asks the server "
            + "whether the file has changed."
    }

    static func line(_ finding: Finding) -> String {
        let key = finding.key.map { " \(Redaction.key($0)):" } ?? ""
        return
            "\(finding.kind.rawValue):\(key) \(Printable.escaped(finding.detail))\(finding.isRepaired ? " (repaired)" : "")"
    }

    private static func json(_ finding: Finding) -> JSON {
        .object([
            "detail": .string(finding.detail), "key": .optional(finding.key), "kind": .string(finding.kind.rawValue),
            "repaired": .bool(finding.isRepaired),
        ])
    }
}
