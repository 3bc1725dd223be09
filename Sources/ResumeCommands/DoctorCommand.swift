import ArgumentParser
import ResumeFiles
import ResumeHTTP
import ResumeMaintenance
import ResumeStore

struct DoctorCommand: ContextCommand {
    static let configuration = CommandConfiguration("doctor")

    @Argument(help: .of("doctor/folder"), completion: .directory) var folders: [String] = []
    @OptionGroup var storeOptions: StoreOptions
    @Flag("rebuild") var rebuild = false
    @Flag("json") var json = false

    func run(_ context: CommandContext) async throws {
        let path = try context.storePath(storeOptions.store)
        if rebuild { return try await rebuild(at: path, context) }
        var checks = [
            Diagnostics.Check(name: "resumectl", value: ResumeCtl.configuration.version),
            Diagnostics.Check(name: "store", value: path),
        ]
        checks += Diagnostics.files(at: path, isShared: storeOptions.storeShared)
        do {
            checks += try await context.withStore(storeOptions) { store in try await store.diagnose() }
        } catch let error as StoreError {
            let check =
                error.code == .noStore
                ? Diagnostics.Check(name: "entries", value: "none (there is no store yet)")
                : Diagnostics.Check(name: "open", value: "failed", problem: error.shown)
            checks += [Diagnostics.library, check]
        }
        checks += folders.map(Self.check)
        if json {
            let members = checks.map { check -> JSONObject in
                ["name": check.name, "value": check.value, "problem": check.shownProblem]
            }
            context.print(["checks": members])
        } else {
            for check in checks {
                let problem = check.shownProblem.map { "   <- \($0)" } ?? ""
                context.print("\(check.name): \(check.value)\(problem)")
            }
        }
        if checks.contains(where: { $0.problem != nil }) { throw CommandFailure(.damaged) }
    }

    /// Tries what files can be in a folder.
    private static func check(_ path: String) -> Diagnostics.Check {
        do {
            let found = FolderAbilities(of: try Folder(path, followsLinks: true))
            let missing = found.missing.map(\.rawValue).joined(separator: ", ")
            let value = missing.isEmpty ? found.fileSystem : "\(found.fileSystem), without \(missing)"
            let problem = found.missing.contains(.files) ? "this user cannot create files in it" : nil
            return .init(name: path, value: value, problem: problem)
        } catch {
            return .init(name: path, value: "unusable", problem: error.description)
        }
    }

    private func rebuild(at path: String, _ context: CommandContext) async throws {
        let report = try await DownloadStore.rebuild(at: path, isShared: storeOptions.storeShared)
        var findings: [Finding] = []
        if report.wasWhole {
            // Even if SQLite finds no damage in the database, its rows may be wrong.
            findings = try await context.withStore(storeOptions) { try await $0.verify(repairing: true) }
        }
        print(report, findings, context)
        let left = findings.count { !$0.isRepaired }
        if left > 0 { throw CommandFailure(.damaged, "\(Rendering.problems(left)) found that could not be repaired") }
    }

    private func print(_ report: RebuildReport, _ findings: [Finding], _ context: CommandContext) {
        guard !json else {
            return context.print([
                "aside": report.asideFolder, "asideBlobs": report.asideBlobs, "lost": report.lost,
                "repaired": findings.count(where: \.isRepaired), "saved": report.saved,
                "savedBytes": report.savedBytes, "wasWhole": report.wasWhole,
            ])
        }
        for finding in findings { context.print(VerifyCommand.line(finding)) }
        guard !report.wasWhole else {
            return context.print(sentence(findings.isEmpty ? "doctor-whole" : "doctor-removed"))
        }
        for key in report.saved { context.print("recovered: \(Redaction.key(key))") }
        for key in report.lost { context.print("lost: \(Redaction.key(key)): none of its bytes could be verified") }
        let (entries, bytes) = (Rendering.entries(report.saved.count), ByteCount.text(report.savedBytes))
        context.print(report.saved.isEmpty ? sentence("doctor-lost") : "\(entries) recovered, \(bytes)")
        if let folder = report.asideFolder {
            context.print(sentence("doctor-aside", Rendering.dataFiles(report.asideBlobs), folder))
        }
    }
}
