import ResumeHTTP
import ResumeStore

extension StreamState {
    /// The position of a reader of a ``DownloadStream``, which decides what it may read next.
    struct Cursor {
        /// What the reader must do.
        enum Action: Hashable {
            /// Wait until something changes.
            case wait
            /// Check whether the bytes returned so far are still the beginning of the file.
            case compare
            case read(Range<Int64>)
            /// All bytes were returned.
            case end
            /// Fail, since the bytes returned so far are no longer the beginning of the file.
            case fail
        }

        /// The maximum number of bytes returned at once.
        static let pieceSize: Int64 = 256 << 10

        /// How many bytes at the end are withheld until everything has been verified.
        private let withheld: Int64
        /// The offset of the first byte to return.
        let start: Int64
        /// The offset of the next byte to return.
        private(set) var offset: Int64
        /// The hash of the bytes returned so far.
        private(set) var hash: RunningHash
        /// The epoch that the bytes returned so far are known to belong to.
        var epoch: Int?

        init(from start: Int64, expecting digest: HTTPDigest?) {
            withheld = digest == nil ? 1 : 64 << 10
            self.start = max(start, 0)
            offset = self.start
            hash = RunningHash(digest?.algorithm ?? .sha256)
        }

        /// Whether bytes were returned.
        var hasReturned: Bool { offset > start }

        /// Decides what the reader must do.
        ///
        /// - Parameters:
        ///   - view: The received bytes.
        ///   - isConfirmed: Whether the server has confirmed that it has the file to which the bytes belong.
        ///   - isVerified: Whether the whole file was verified and delivered.
        /// - Returns: What to do.
        func action(for view: HeldView, isConfirmed: Bool, isVerified: Bool) -> Action {
            if hasReturned, epoch != view.epoch {
                if view.held >= offset { return .compare }
                let canCome = !isVerified && view.totalLength ?? .max >= offset
                return canCome ? .wait : .fail
            }
            // If the total length is unknown, the last bytes received are withheld.
            let end = isVerified ? view.held : min(view.held, max(view.totalLength ?? 0, view.held) - withheld)
            if isConfirmed || isVerified, offset < end {
                return .read(offset..<min(end, offset + Self.pieceSize))
            }
            return isVerified ? .end : .wait
        }

        /// Records bytes that are about to be returned.
        mutating func advance(over bytes: [UInt8], hash: RunningHash, in epoch: Int) {
            offset += Int64(bytes.count)
            self.hash = hash
            self.epoch = epoch
        }

        /// Whether the bytes returned so far match a digest; true if it uses another algorithm, or if they are not the whole.
        func agrees(with digest: HTTPDigest?) -> Bool {
            start > 0 || digest?.algorithm != hash.algorithm || digest == hash.digest
        }
    }
}
