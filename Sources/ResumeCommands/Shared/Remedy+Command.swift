import ResumeHTTP
import ResumeMaintenance
import ResumeStore

extension StoreError.Remedy {
    /// The commands and options that remedy errors of the store, by the names of the cases.
    private static let commands = WordTable(PackageResources.remedies_txt)

    /// What to run.
    var command: String {
        (Self.commands[rawValue] ?? text).replacing("{store}", with: Hint.store)
    }
}

extension StoreError {
    /// What happened, and what to run.
    var shown: String { description(with: remedy?.command) }
}

extension Diagnostics.Check {
    /// What is wrong, and what to run; nil if nothing is.
    var shownProblem: String? {
        problem.map { [$0, remedy?.command ?? ""].filter { !$0.isEmpty }.joined(separator: " ") }
    }
}
