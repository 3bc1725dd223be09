extension StoreError {
    /// What removes the cause of an error, if it is more than trying again.
    ///
    /// The command line names the command or option for it in place of these words.
    package enum Remedy: String, Sendable, CaseIterable {
        case rebuild = "Rebuild the store to recover all data that can be verified, or move the folder away."
        case rebuildAgain = "Rebuild the store again to finish it."
        case repair = "Repair the store to remove it, or move the folder away."
        case verify = "Verify the store."
        case freeSpace = "Free some space."
        case limit = "Remove entries, or raise the size limit."
        case localDisk = "Choose a folder on a local disk."
        case otherDisk = "Free some space, or choose a store on another disk."
        case writableStore = "Choose another store, or run as a user who may write there."
        case shareStore = "Choose a folder for the store where only this user and root may write."
        case createStore = "Choose another folder, or create a store."
        case continueOrRemove = "Continue with them, or remove them first."
    }
}
