extension Transfer {
    /// Records what is held, so that it survives the process; starts a sync to disk where one is due.
    ///
    /// - Throws: ``StoreError``, with `superseded` where somebody else started the entry over.
    public func checkpoint() throws {
        try telling {
            let recorded = try recorder.record()
            if synchronizer.advance(to: recorded) { writer.sealTail(at: recorded) }
        }
    }

    /// Does what ``checkpoint()`` does, now where that is due and else when it is.
    nonisolated func recordIfDue() throws {
        try telling {
            let recorded = try recorder.recordIfDue { [weak self] in try await self?.checkpoint() != nil }
            if let recorded, synchronizer.advance(to: recorded) { writer.sealTail(at: recorded) }
        }
    }

    /// Tells of a sync that failed, which ends the generation, rather than of somebody else.
    nonisolated func telling(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as StoreError where error.code == .superseded {
            _ = try synchronizer.keepsUp(with: held)
            throw error
        }
    }

    /// Waits for a sync that is slower than the network.
    ///
    /// - Throws: What one failed with.
    package func catchUp() async throws {
        if try !synchronizer.keepsUp(with: held) { try await synchronizer.finish() }
    }

    /// Waits for the sync that runs, and makes everything that is held survive a power loss.
    func synchronize() async throws {
        try await synchronizer.finish()
        try await synchronizer.synchronize(upTo: try recorder.record())
    }
}
