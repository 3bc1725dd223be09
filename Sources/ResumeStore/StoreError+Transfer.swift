internal import ResumeHTTP

/// The errors of transfers that are told in more than one place.
extension StoreError {
    static let closed = StoreError(.misuse, "The transfer is closed.")
    static let incomplete = StoreError(.misuse, "Bytes of the download are still missing.")
    static let blobShort = StoreError(.io, Reason.blobShort.text)

    static func inUse(_ key: String) -> StoreError {
        StoreError(.inUse, "Somebody else is downloading \(Printable.escaped(key)).", advice: "Try again later.")
    }

    static func nothingHeld(_ key: String) -> StoreError {
        StoreError(.noEntry, "Nothing is held of \(Printable.escaped(key)).")
    }

    static func tooLarge(_ length: Int64, limit: Int64) -> StoreError {
        StoreError(
            .tooLarge, "The download has \(length) bytes, and no more than \(limit) may be held in memory.",
            advice: "Take it into a file, with a store on disk.")
    }
}
