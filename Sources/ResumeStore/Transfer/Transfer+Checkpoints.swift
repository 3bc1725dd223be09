extension Transfer {
    /// Records the received bytes, so that they survive the process, and starts a sync to disk if one is due.
    ///
    /// - Throws: ``StoreError``, with `superseded` if another process restarted the download.
    public func checkpoint() throws {
        if held > 0 { try claim() }
        try main.checkpoint()
        for segment in segments { try segment.checkpoint() }
    }

    /// Waits for the running sync, then makes all received bytes survive a power loss.
    func synchronize() async throws {
        try await sync.finish()
        try checkpoint()
        try await sync.finish()
        try await sync.synchronize()
    }
}
