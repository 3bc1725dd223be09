internal import ResumeHTTP

extension Lease {
    /// Returns a number for a key without a row, which is different from all row IDs.
    ///
    /// Two keys with the same number would wait for each other. URLs with the same number cannot be constructed without
    /// the store's secret key.
    static func number(of key: String, in store: DownloadStore) -> Int64 {
        let hash = RequestIdentity.code(store.identityKey, Array(key.utf8)).prefix(8).reduce(0 as UInt64) {
            $0 << 8 | UInt64($1)
        }
        return 1 << 61 | Int64(hash >> 3)
    }
}
