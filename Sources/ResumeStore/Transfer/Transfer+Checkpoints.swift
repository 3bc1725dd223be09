extension Transfer {
    /// Records what is held, so that it survives the process; starts a sync to disk where one is due.
    ///
    /// - Throws: ``StoreError``, with `superseded` where somebody else started the entry over.
    public func checkpoint() throws {
        if held > 0 { try claim() }
        try main.checkpoint()
        for segment in segments { try segment.checkpoint() }
    }

    /// Waits for the sync that runs, and makes everything that is held survive a power loss.
    func synchronize() async throws {
        try await sync.finish()
        try checkpoint()
        try await sync.finish()
        try await sync.synchronize()
    }
}
