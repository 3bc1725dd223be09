import ArgumentParser
import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeMaintenance
import ResumeStore

struct VerifyCommand: ContextCommand {
    static let configuration = CommandConfiguration("verify")

    @OptionGroup var storeOptions: StoreOptions
    @Argument(help: .of("entries/entry")) var entries: [String] = []
    @Flag("repair") var repair = false
    @Flag("verify/dry-run") var dryRun = false
    @Flag("remote") var remote = false
    @Option("verify/checksums", completion: .file()) var checksums: String?
    @OptionGroup var digests: DigestOptions
    @OptionGroup var headers: HeaderOptions
    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var familiar: FamiliarOptions
    @Flag("verify/json") var json = false

    func validate() throws {
        try refuse(remote && (repair || entries.isEmpty), sentence("verify-remote"))
        try exclude(comparesFiles && (remote || repair), "--checksums and --sha256", with: "--remote or --repair")
        try refuse(comparesFiles && entries.isEmpty, sentence("verify-what"))
        try refuse(checksums?.contains("://") == true, sentence("verify-url"))
        try exclude(checksums != nil && digests.digest != nil, "--checksums", with: "--sha256 or --sha512")
        try refuse(digests.digest != nil && entries.count > 1, sentence("verify-one"))
        try refuse(!headers.headers.isEmpty && !remote, "--header requires --remote")
        try refuse(dryRun && !repair, sentence("verify-dry"))
    }

    /// Whether the arguments are files, which are compared without a store.
    private var comparesFiles: Bool { checksums != nil || digests.digest != nil }

    func run(_ context: CommandContext) async throws {
        guard !remote else { return try await compareRemotely(context) }
        if comparesFiles { return try await compareFiles(context) }
        do {
            try await compareStore(context)
        } catch let error as StoreError where error.code == .noStore {
            for name in entries { try await Self.requireNoFile(name) }
            throw error
        }
    }

    /// Checks the store, or entries of it, and files that were delivered.
    private func compareStore(_ context: CommandContext) async throws {
        let repairs = repair && !dryRun
        var found = 0
        var left = 0
        var comparison = Comparison()
        try await context.withStore(storeOptions) { store in
            var names: Set<String> = []
            for name in entries {
                do {
                    names.insert(try await entry(name, in: store, context).key)
                } catch let error as CommandFailure where error.status == .notFound {
                    // A delivered file is compared with the digest that it had.
                    guard let (record, file) = try await store.delivered(named: name), let digest = file.digest
                    else { throw error }
                    try await compare(record.path, with: digest, in: &comparison, context)
                }
            }
            if names.isEmpty, !entries.isEmpty { return }
            try await store.verify(keys: names.isEmpty ? nil : names, repairing: repairs) { finding in
                context.print(Self.json(finding), if: json, or: Self.line(finding))
                found += 1
                if !finding.isRepaired { left += 1 }
            }
        }
        try comparison.finish()
        if found == 0 && !json { context.print("no problems found") }
        guard left > 0 else { return }
        let advice = sentence("advice-repair", Hint.run("verify", "--repair"))
        let end = repairs ? " that could not be repaired" : advice
        throw CommandFailure(.damaged, "\(Rendering.problems(left)) found\(end)")
    }

    /// Returns the entry that the user names.
    ///
    /// - Throws: ``CommandFailure`` for another file, which says how to check it.
    func entry(_ name: String, in store: DownloadStore, _ context: CommandContext) async throws -> Entry {
        do {
            return try await store.entry(matching: name, context)
        } catch let error as StoreError where error.code == .noEntry {
            try await Self.requireNoFile(name)
            throw error
        }
    }

    static func line(_ finding: Finding) -> String {
        let key = finding.key.map { " \(Redaction.key($0)):" } ?? ""
        return "\(finding.kind.rawValue):\(key) \(finding.detail)\(finding.isRepaired ? " (repaired)" : "")"
    }

    private static func json(_ finding: Finding) -> JSONObject {
        [
            "detail": finding.detail, "key": finding.key, "kind": finding.kind.rawValue,
            "repaired": finding.isRepaired,
        ]
    }
}
