import Synchronization

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

/// The accounts of the parts.
extension BlobSync {
    /// Changes the account of a part; see ``BlobLedger/update(_:_:)``.
    @discardableResult
    func update<Result: Sendable>(_ offset: Int64?, _ change: (inout PartLedger) -> Result) -> Result? {
        ledger.withLock { $0.update(offset, change) }
    }
}
