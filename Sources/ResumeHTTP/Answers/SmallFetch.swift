package import HTTPTypes

/// Decides, as a value, how far a download of which nothing is stored goes without a row in the store.
///
/// A short file that arrives at once is delivered without one. Everything else is handed over with its response: an
/// interruption must not cost more than this.
package struct SmallFetch: Sendable {
    /// The greatest length of a file without a row, all of which may be lost with the process.
    package static let longest: Int64 = 1 << 20
    /// How long its body may take: what arrives in this time may be lost as well.
    static let patience = Duration.milliseconds(250)

    /// A body that may be received without a row.
    package struct Body: Sendable {
        package let representation: Representation
        /// Why it is received from its first byte on.
        package let reason: Reason
        package let length: Int64
        /// The digest that the file must have: the caller's, or else the server's; nil if there is none.
        package let digest: HTTPDigest?
        /// The digests that the whole body must have.
        package let digests: [HTTPDigest]
        fileprivate let begin: Duration

        /// Whether it has taken too long.
        package func isLate(at now: Duration) -> Bool { now - begin >= SmallFetch.patience }
    }

    private var policy: ResumePolicy
    private let limit: Int64

    /// Begins.
    ///
    /// - Parameters:
    ///   - url: The requested URL.
    ///   - policy: The conditions for resuming.
    ///   - maximum: The greatest length that the caller permits; nil for any.
    package init(of url: DownloadURL, _ policy: ResumePolicy, maximum: Int64?) {
        self.policy = policy
        self.policy.url = url
        limit = min(maximum ?? .max, Self.longest)
    }

    /// Decides whether the body that follows a head needs no row.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - sender: The URL that it came from; nil for the requested one.
    ///   - delivered: The file that was delivered earlier; nil if there is none.
    ///   - now: When the head arrived.
    /// - Returns: The body; nil if the response is handed over.
    package func body(
        of head: HTTPResponse, from sender: DownloadURL?, unlike delivered: Representation? = nil, at now: Duration
    ) -> Body? {
        let context = AnswerContext(sender: sender, url: policy.url, delivered: delivered)
        let nothing = HeldPartial(representation: nil, length: 0)
        guard head.status == .ok,
            case .startOver(let representation, let reason) = Verdict(
                for: head, to: .whole(reason: nil), held: nothing, policy: policy, in: context),
            representation.contentCoding == nil, let length = representation.completeLength,
            length >= 0, length <= limit
        else { return nil }
        let digest = policy.digest ?? HTTPDigest(field: representation.reprDigest)
        return Body(
            representation: representation, reason: reason, length: length, digest: digest,
            digests: [digest, HTTPDigest(contentDigestIn: head.headerFields)].compactMap(\.self), begin: now)
    }
}
