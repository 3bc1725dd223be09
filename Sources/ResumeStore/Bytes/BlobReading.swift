extension BlobWriter {
    /// What may be read of a blob while it is being written, as a value.
    ///
    /// Stored bytes do not change unless they are discarded: for a new blob with another representation, or for an end that
    /// was found to be wrong and is written again. The epoch changes each time, before a byte is overwritten. So bytes that
    /// were read are valid if the epoch is still the same afterwards.
    struct Reading {
        /// The result of reading a range.
        enum Outcome {
            case bytes([UInt8])
            /// Some of the bytes have been discarded since.
            case givenUp
            /// A block of the range does not match its checksum.
            case damaged(Block)
        }

        /// The file, kept open after the delivery, when its name was removed or belongs to the user.
        private(set) var blob: (any BodyStorage)?
        private(set) var epoch = 0
        var totalLength: Int64?
        /// The blocks that were stored before the transfer and have not been compared with their checksums yet.
        var unread: [Block]
        private(set) var isClosed = false
        /// Whether reading is not allowed yet, since the bytes were fetched for another caller.
        var isWithheld: Bool
        var onChange: (@Sendable () -> Void)?

        /// Returns the blob if the epoch is still the same.
        func blob(in epoch: Int, evenIfWithheld: Bool = false) -> (any BodyStorage)? {
            self.epoch == epoch && (evenIfWithheld || !isWithheld) ? blob : nil
        }

        /// Continues with a blob, or without one.
        ///
        /// - Parameters:
        ///   - blob: The blob.
        ///   - totalLength: The number of requested bytes.
        ///   - givesUp: Whether bytes that could be read are no longer valid.
        ///   - blocks: The blocks of another blob that have not been compared with their checksums yet.
        mutating func begin(
            with blob: (any BodyStorage)?, totalLength: Int64?, givesUp: Bool, unread blocks: [Block] = []
        ) {
            let isOther = self.blob !== blob
            if isOther { unread = blocks }
            if isOther || givesUp { epoch &+= 1 }
            self.blob = blob
            self.totalLength = totalLength
        }

        /// Records that all bytes were compared with their checksums and that wrong ones were discarded.
        mutating func confirm(givesUp: Bool) {
            unread = []
            if givesUp { epoch &+= 1 }
        }

        /// Ends reading, since another transfer may write to the blob from now on.
        mutating func close() {
            blob = nil
            epoch &+= 1
            isClosed = true
        }
    }
}

/// The state of a transfer as seen by a reader that follows it.
package struct HeldView: Sendable, Hashable {
    /// A number that changes whenever readable bytes are discarded.
    package var epoch: Int
    /// The number of bytes that can be read, from offset 0.
    package var held: Int64
    /// The number of requested bytes; nil if it is not known yet.
    package var totalLength: Int64?
}
