import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// The row of a transfer.
///
/// If a download has no stored bytes, its lease is a lock on its key. The row is created when there is something to
/// record.
extension Transfer {
    /// Calls a closure when there is a row, or at once if there is one already.
    package func whenClaimed(_ body: @escaping @Sendable (isolated Transfer) -> Void) {
        if isClaimed { body(self) } else { onClaim = body }
    }

    /// Creates the row.
    ///
    /// - Throws: ``StoreError``: `superseded`, `noSpace`, `io`, `database`.
    func claim() throws {
        guard !isClaimed else { return }
        guard keyLease != nil else { throw StoreError.closed }
        let store = try store
        let entry = entry
        let url = caller.url.redacted
        // If nil, an earlier release of this program created the row in the meantime, and is using it.
        let claimed = try store.writeRow(durability: .process) { connection in
            try connection.claim(entry, url: url, in: store.folder)
        }
        guard let claimed else { throw StoreError.superseded }
        self.entry = claimed.entry
        own(claimed.lease)
        begin(with: nil)
        onClaim.take()?(self)
    }

    /// Continues with a row that was created.
    func own(_ lease: Lease) {
        self.lease = lease
        isClaimed = true
    }
}
