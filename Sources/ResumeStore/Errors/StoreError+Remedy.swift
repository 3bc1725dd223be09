import ResumeHTTP

extension StoreError {
    /// What removes the cause of an error, if it is more than trying again.
    ///
    /// The command line names the command or option for it in place of these words.
    package enum Remedy: String, Sendable, CaseIterable {
        case rebuild, rebuildAgain, repair, verify, freeSpace, limit, localDisk, otherDisk, writableStore, shareStore
        case createStore, continueOrRemove

        /// What to do.
        package var text: String { sentence("remedy-\(rawValue)") }
    }
}
