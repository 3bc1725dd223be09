internal import Synchronization

/// The bytes that may be written before room is made for more.
extension BlobSync: Receiver {
    var held: Int64 {
        ledger.withLock { $0.parts.reduce(0) { $0.addingSaturating($1.length) } }
    }

    /// Whether more bytes may be written before room is made for them.
    var hasRoom: Bool { allowance.load(ordering: .relaxed) > 0 }

    /// Permits more bytes to be written.
    func allow(_ bytes: Int64) {
        allowance.add(bytes, ordering: .relaxed)
    }

    /// Counts bytes that were written.
    func spend(_ bytes: Int) {
        allowance.subtract(Int64(bytes), ordering: .relaxed)
    }
}
