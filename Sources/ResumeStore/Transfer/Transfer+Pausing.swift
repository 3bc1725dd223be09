extension Transfer {
    /// Protects the entry for a task that intends to continue it, even after this transfer has ended.
    ///
    /// - Returns: The sign; nil if it cannot be created, so that the entry is not protected.
    package var pausedSign: PausedSign? {
        try? PausedSign(entry.id, among: store.pausedEntries, in: store.folder)
    }
}
