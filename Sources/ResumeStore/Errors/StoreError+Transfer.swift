import ResumeHTTP

/// Errors of transfers that are thrown in several places.
extension StoreError {
    static let closed = StoreError(.misuse, "the transfer is closed")
    static let superseded = StoreError(.superseded, Reason("lost"))
    static let incomplete = StoreError(.misuse, "the download is not complete")
    static let blobShort = StoreError(.io, Reason.blobShort.text)

    /// Creates the error for a destination that could not be written.
    init(writingDestination error: any Error) {
        self.init(wrapping: error)
        guard code == .io else { return }
        code = .destination
        guard remedy == .writableStore else { return }
        // Another store would not help.
        remedy = nil
        advice = sentence("advice-place")
    }

    /// Returns a key as shown in messages.
    package static func shown(_ key: String) -> String { Printable.escaped(DownloadURL.shownKey(key)) }

    static func inUse(_ key: String) -> StoreError {
        StoreError(.inUse, Reason("in-use", with: shown(key)))
    }

    static func nothingHeld(_ key: String) -> StoreError {
        StoreError(.noEntry, Reason("nothing-held", with: shown(key)))
    }

    static func notHeld(_ range: Range<Int64>) -> StoreError {
        StoreError(.notHeld, Reason("not-held", with: range.lowerBound, range.upperBound &- 1))
    }

    /// Returns the error for bytes that exceed a limit, if the total length is unknown.
    static func tooLarge(receiving received: Int64, limit: Int64) -> StoreError {
        StoreError(.tooLarge, Reason("outgrows-memory", with: limit, received))
    }

    static func tooLarge(_ length: Int64, limit: Int64) -> StoreError {
        StoreError(.tooLarge, Reason("beyond-memory", with: length, limit))
    }
}
