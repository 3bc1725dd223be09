package import ResumeHTTP

/// The reasons of the store's own decisions.
extension Reason {
    static let blobMissing = Reason("blob-missing")
    static let blobShort = Reason("blob-short")
    static let expired = Reason("expired")
    static let gapNotCompared = Reason("gap-not-compared")
    static let gone = Reason("gone")
    static let otherRepresentationHeld = Reason("other-representation-held")
    static let partialGone = Reason("partial-gone")
    static let promoted = Reason("promoted")
    static let purged = Reason(.purged)
    static let superseded = Reason("superseded")
    static let tooManyVariants = Reason("too-many-variants")
    static let unsyncedLost = Reason("unsynced-lost")
    package static let digestInsisted = Reason("digest-insisted")

    static func blockDamaged(_ range: Range<Int64>) -> Reason {
        Reason("block-damaged", with: range.lowerBound, range.upperBound - 1)
    }

    static func delivered(to place: String, isProved: Bool) -> Reason {
        isProved ? Reason("delivered", with: place) : Reason("delivered", sentence("delivered-unproved", place))
    }

    /// Creates the reason that an error of the store is.
    package init(_ error: StoreError) {
        self.init(Code(rawValue: error.code.description), error.message)
    }

    /// Says what has become of bytes that do not have the expected digest; those that were passed on are written already.
    package static func rest(isKept: Bool, isPassedOn: Bool = false) -> String {
        sentence(isPassedOn ? "output-wrong" : "nothing-written") + (isKept ? sentence("and-kept") : "")
    }

    package static func digestMismatch(_ expected: HTTPDigest, _ found: HTTPDigest?, _ rest: String) -> Reason {
        let found = found == expected ? nil : found
        let name = expected.algorithm.rawValue.uppercased()
        let received = found?.hexadecimal ?? "another one"
        return Reason(.digestMismatch, sentence("other-digest", name, expected.hexadecimal, received, rest))
    }
}
