/// Decides what follows from a complete file that does not have the expected digest, as a value.
package struct DigestCourse: Sendable {
    /// What follows.
    package enum Step: Sendable, Hashable {
        /// Ask the server whether it has these bytes.
        case ask
        /// Fetch the whole file beside these bytes, which may be wrong.
        case fetchAgain
        /// Keep the bytes, and end: the file was fetched again, and is wrong again.
        case giveUp
        /// Keep the bytes, and end: it is the digest that is wrong, or another one may prove them.
        case refuse
    }

    /// Whether a response in this run has shown that the server has these bytes.
    package var hasResponse = false
    /// Whether all stored bytes were received in a single response.
    package var isOfOneResponse = false
    private var hasFetchedAgain = false

    /// Has seen no response.
    package init() {}

    /// Records that a response brings bytes, or confirms those that are stored.
    ///
    /// - Parameter verdict: The verdict on it.
    package mutating func receive(_ verdict: Verdict) {
        switch verdict {
        case .complete: hasResponse = true
        case .append, .startOver, .startRange: (hasResponse, isOfOneResponse) = (true, verdict.replaces)
        case .askForWhole, .retry, .refuse: break
        }
    }

    /// Decides about a file with another digest than the expected one.
    ///
    /// - Parameters:
    ///   - isNamed: Whether the caller names the digest; otherwise the server has sent it.
    ///   - isMarked: Whether only this digest could prove some of the bytes.
    ///   - isProved: Whether a validator shows that the bytes are those of the server's file.
    /// - Returns: What follows.
    package mutating func next(isNamed: Bool, isMarked: Bool, isProved: Bool) -> Step {
        // What carries the mark is set aside: another digest may prove it. The next attempt begins a new blob.
        if isNamed, isMarked { return .refuse }
        // If the server has exactly these bytes, the caller's digest is not that of the server's file.
        if isNamed, isProved || isOfOneResponse { return hasResponse ? .refuse : .ask }
        defer { hasFetchedAgain = true }
        return hasFetchedAgain ? .giveUp : .fetchAgain
    }
}
