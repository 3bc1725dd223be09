package import HTTPTypes

/// Decides, as a value, how far a download of which nothing is stored goes without a row in the store.
///
/// A short file that arrives at once is delivered without one. Everything else is handed over with its response: an
/// interruption must not cost more than this.
package struct SmallFetch: Sendable {
    /// The greatest length of a file without a row, all of which may be lost with the process.
    package static let longest: Int64 = 768 << 10
    /// How long it may take to receive it.
    package static let patience = Duration.milliseconds(250)

    /// A body that may be received without a row.
    package struct Body: Sendable {
        package let representation: Representation
        /// Why it is received from its first byte on.
        package let reason: Reason
        package let length: Int64
        /// The digests that the whole body must have.
        package let digests: [HTTPDigest]
    }

    /// When it began.
    package let begin: Duration
    /// The digest that the caller names; nil for none.
    private let digest: HTTPDigest?
    private let policy: ResumePolicy
    private let limit: Int64

    /// Begins.
    ///
    /// - Parameters:
    ///   - policy: The conditions for resuming.
    ///   - digest: The digest that the caller names; nil for none.
    ///   - maximum: The greatest length that the caller permits; nil for any.
    ///   - now: The time.
    package init(_ policy: ResumePolicy, digest: HTTPDigest?, maximum: Int64?, at now: Duration) {
        (self.policy, self.digest, begin) = (policy, digest, now)
        limit = min(maximum ?? .max, Self.longest)
    }

    /// Returns the body that follows a head; nil if the response is handed over.
    package func body(of head: HTTPResponse, in context: AnswerContext, at now: Duration) -> Body? {
        let nothing = HeldPartial(representation: nil, length: 0)
        guard now - begin < Self.patience, head.status == .ok,
            case .startOver(let representation, let reason) = Verdict(
                for: head, to: .whole(reason: nil), held: nothing, policy: policy, in: context),
            representation.contentCoding == nil, let length = representation.completeLength, (0...limit).contains(length)
        else { return nil }
        let announced = digest ?? HTTPDigest(field: representation.reprDigest)
        return Body(
            representation: representation, reason: reason, length: length,
            digests: [announced, HTTPDigest(contentDigestIn: head.headerFields)].compactMap(\.self))
    }
}
