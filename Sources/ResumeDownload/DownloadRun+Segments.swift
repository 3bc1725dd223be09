internal import ResumeHTTP
internal import ResumeStore

extension DownloadRun {
    /// Ends what several connections brought, and tells what follows from it.
    ///
    /// - Parameters:
    ///   - outcome: How they ended.
    ///   - before: How many bytes were held before.
    /// - Returns: What to do next.
    /// - Throws: What ends the download.
    mutating func finish(_ outcome: SegmentedBody.Outcome, before: Int64) async throws -> Step {
        count(outcome.bytes)
        connections = outcome.connections
        budget = outcome.budget
        let held = await transfer.receivedBytes
        do {
            _ = try await transfer.endBody(outcome.first)
        } catch {
            throw outcome.failure ?? error
        }
        switch outcome.failure {
        case let error as StoreError where error.code == .heldBytesDiffer:
            return .discard(.heldBytesDiffer(error))
        case let error?: throw error
        case nil: break
        }
        try Task.checkCancellation()
        return .ended(progressed: held > before, failure: outcome.interruption)
    }
}
