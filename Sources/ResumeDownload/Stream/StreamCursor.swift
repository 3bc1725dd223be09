internal import ResumeHTTP
internal import ResumeStore

/// How far a reader of a ``DownloadStream`` is, and what he may do next.
struct StreamCursor: Sendable {
    /// What to do.
    enum Action: Sendable, Hashable {
        /// Wait until something changes.
        case wait
        /// See whether the bytes that were handed out are what is held now.
        case compare
        /// Hand out this range.
        case read(Range<Int64>)
        /// Everything was handed out.
        case end
        /// What was handed out cannot be the beginning of the file any more.
        case fail
    }

    /// The most bytes that are handed out at once.
    static let pieceSize: Int64 = 256 << 10

    /// How many bytes were handed out.
    private(set) var offset: Int64 = 0
    /// Over the bytes that were handed out.
    private(set) var hash: RunningHash
    /// The epoch that the bytes handed out are known to belong to.
    private var epoch: Int?

    init(_ algorithm: HTTPDigest.Algorithm) {
        hash = RunningHash(algorithm)
    }

    /// Decides what to do.
    ///
    /// - Parameters:
    ///   - view: What is held.
    ///   - isConfirmed: Whether the server has the file that the bytes are of, which may be of an earlier time.
    ///   - isVerified: Whether the whole was verified and delivered.
    /// - Returns: What to do.
    func action(for view: HeldView, isConfirmed: Bool, isVerified: Bool) -> Action {
        if offset > 0, epoch != view.epoch {
            if view.held >= offset { return .compare }
            let canCome = !isVerified && view.totalLength.map { $0 >= offset } ?? true
            return canCome ? .wait : .fail
        }
        // The last byte stays back until everything before it was verified, the last one that came where nobody knows
        // how many there will be.
        let isLast = view.totalLength.map { view.held >= $0 } ?? true
        let end = isVerified || !isLast ? view.held : view.held - 1
        if isConfirmed || isVerified, offset < end {
            return .read(offset..<min(end, offset + Self.pieceSize))
        }
        return isVerified ? .end : .wait
    }

    /// Takes note that what was handed out is the beginning of what is held in an epoch.
    mutating func follow(_ epoch: Int) {
        self.epoch = epoch
    }

    /// Takes note of bytes that are handed out.
    mutating func advance(over bytes: [UInt8], hash: RunningHash, in epoch: Int) {
        offset += Int64(bytes.count)
        self.hash = hash
        self.epoch = epoch
    }

    /// Whether the bytes that were handed out have a digest; true where that is one of another kind.
    func agrees(with digest: HTTPDigest?) -> Bool {
        digest.map { $0.algorithm != hash.algorithm || hash.digest == $0 } ?? true
    }
}
