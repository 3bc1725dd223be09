import ResumeHTTP
import ResumeStore
import Synchronization

/// Compares a file in place with the bytes that arrive.
final class FileComparison: Sendable {
    /// How many new bytes are compared at a time.
    private static let stride: Int64 = 64 << 10

    let destination: Destination
    let size: Int64
    private let compared = Mutex<Int64>(0)

    init(with destination: Destination, size: Int64) { (self.destination, self.size) = (destination, size) }

    /// Compares the bytes up to an offset that were not compared before.
    ///
    /// - Parameters:
    ///   - end: The offset.
    ///   - bytes: The received bytes.
    ///   - isLast: Whether no more follow.
    /// - Throws: `StoreError` with `destinationExists` at the first difference.
    func advance(to end: Int64, of bytes: HeldBytes, isLast: Bool = false) throws {
        try compared.withLock { start in
            guard end > start, isLast || end - start >= Self.stride else { return }
            if let offset = try destination.firstDifference(from: bytes, in: start..<end) {
                throw destination.isRefused(.differs(at: offset))
            }
            start = end
        }
    }
}
