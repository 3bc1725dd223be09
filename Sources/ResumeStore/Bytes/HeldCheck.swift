internal import ResumeFiles
internal import ResumeSQLite

/// Compares bytes that were stored before this transfer with their checksums.
///
/// It runs in parallel with the transfer, and must finish before anything is delivered. It is a class, so that it stops
/// when the transfer is released.
final class HeldCheck: Sendable {
    private let task: Task<[Block], any Error>
    private let flag = CancellationFlag()

    /// Starts reading.
    init(of blob: OpenFile, blocks: [Block]) {
        task = Task { [flag] in
            try await Blocking.runLater {
                try StoreError.wrapping { try blob.damaged(among: blocks) { flag.value } }
            }
        }
    }

    /// The blocks whose bytes do not match the recorded checksums.
    ///
    /// - Throws: ``StoreError``
    var damaged: [Block] {
        get async throws { try await task.value }
    }

    deinit { flag.set() }
}
