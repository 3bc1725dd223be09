extension Transfer {
    /// How many bytes may be lost with the process, less what one write may add.
    private static let unrecordedLimit: Int64 = 512 << 10

    var isCheckpointDue: Bool {
        let unrecorded = held - committed
        guard unrecorded > 0 else { return false }
        if unrecorded >= Self.unrecordedLimit { return true }
        let elapsed = ContinuousClock.now - lastCommit
        // Early where it is cheap beside the transfer, so that less is fetched twice; late at the promised bound.
        return elapsed >= .milliseconds(200) || (unrecorded >= 128 << 10 && elapsed >= .milliseconds(10))
    }

    /// Records what is held, so that it survives the process; starts a sync to disk where one is due.
    ///
    /// - Throws: ``StoreError``, with `superseded` where somebody else started the entry over.
    public func checkpoint() async throws {
        lastCommit = ContinuousClock.now
        let target = held
        guard target > committed else { return }
        KillPoint.reached(.bytesWritten)
        let (id, generation) = (entry.id, entry.generation)
        let isCurrent = try await store.write { connection in
            try connection.checkpoint(id: id, generation: generation, received: target, durable: 0)
        }
        guard isCurrent else { throw Self.superseded }
        KillPoint.reached(.checkpointCommitted)
        // Somebody may have begun with another blob while this was committed.
        guard generation == entry.generation else { return }
        committed = max(committed, target)
        // A disk that is slower than the network is waited for, so that the bound on a power loss holds.
        if held - synchronizer.durable >= store.configuration.durableInterval { try await synchronizer.finish() }
        if let blob { synchronizer.startIfDue(held: committed, blob: blob, entry: entry, store: store) }
    }

    /// Starts what ``checkpoint()`` does, so that the network need not wait for it; waits for the one before.
    ///
    /// - Throws: What the one before failed with.
    package func startCheckpoint() async throws {
        try await settle()
        commit = Task { try await checkpoint() }
    }

    /// Waits for the commit that runs.
    func settle() async throws {
        guard let running = commit else { return }
        commit = nil
        try await running.value
    }

    /// Waits for the sync that runs, and makes everything that is held survive a power loss.
    func synchronize() async throws {
        try await synchronizer.finish()
        guard let blob else { return }
        try await synchronizer.run(to: held, blob: blob, entry: entry, store: store)
    }
}
