import ResumeMaintenance
import ResumeStore

/// The commands and options that remedy errors of the store.
extension StoreError.Remedy {
    /// What to run.
    var command: String {
        switch self {
        case .rebuild:
            "Run 'resumectl doctor --rebuild' to recover all data that can be verified, or move the folder away."
        case .rebuildAgain: "Run 'resumectl doctor --rebuild' again to finish it."
        case .repair: "Run 'resumectl verify --repair' to remove it and keep the rest, or move the folder away."
        case .verify: "Run 'resumectl verify' to check the database."
        case .freeSpace: "Free some space. 'resumectl list --sort size' shows what the store contains."
        case .limit:
            "'resumectl purge KEY' removes the data of one download, 'resumectl gc --max-size SIZE' that of the least "
                + "recently used ones, and --store-max-size sets the limit."
        case .localDisk: "Choose a folder on a local disk with --store or RESUMECTL_STORE."
        case .otherDisk:
            "Free some space: 'resumectl purge KEY' removes the data of one download, 'resumectl gc --max-size SIZE' "
                + "that of the least recently used ones. Or choose a store on another disk with --store."
        case .writableStore: "This user may not write there. Run as the owner, or choose another store with --store."
        case .createStore: "Choose another folder with --store, or create a store with 'resumectl get'."
        case .continueOrRemove:
            "To continue with them, run 'resumectl resume' or get the URL; to remove them first, purge the URL."
        }
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
