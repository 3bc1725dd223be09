import ResumeFiles
import ResumeSQLite

/// Compares bytes that were stored before this transfer with their checksums.
///
/// It runs in parallel with the transfer, and must finish before anything is delivered. It is a class, so that it stops
/// when the transfer is released.
final class HeldCheck: Sendable {
    /// Returns the blocks whose bytes do not match the recorded checksums, or throws a ``StoreError``.
    let damaged: Task<[Block], any Error>
    private let flag = CancellationFlag()

    /// Starts reading.
    init(of blob: OpenFile, blocks: [Block]) {
        damaged = Task { [flag] in
            try await Blocking.run(later: true) {
                try StoreError.wrapping { try blob.damaged(among: blocks) { flag.value } }
            }
        }
    }

    deinit { flag.set() }
}
