package import HTTPTypes

/// What a response says about the stored bytes, before its body is used.
package enum Evaluation: Sendable, Hashable {
    case judged(Verdict)
    /// Request the same without a condition: the server sends the rest whatever validator it has.
    case omitsCondition
    /// Compare samples of the stored bytes first.
    case compareSamples(Reason)
    case requestWhole(Reason)
    /// The server sends an older version, and the download continues with the bytes of it that are stored.
    case wentBack

    /// Why the stored bytes are not continued before more is known; nil if a verdict tells.
    package var reason: Reason? {
        switch self {
        case .compareSamples(let reason), .requestWhole(let reason): reason
        case .judged, .omitsCondition, .wentBack: nil
        }
    }
}

extension ResourceVerdict {
    /// Returns what a response to a plan says about the stored bytes; nil if its head decides.
    package func evaluation(of response: HTTPResponse, to plan: Plan) -> Evaluation? {
        // A whole file needs no proof: it gets an entry of its own, unless its head shows that it is a failure.
        guard case .range(let range) = plan else { return nil }
        return switch self {
        case .same: nil
        case .underDigest: range.validator != nil && !range.isSame(as: response) ? .omitsCondition : nil
        case .compareSamples(let reason): .compareSamples(reason)
        case .ownEntry(let reason): .requestWhole(reason)
        }
    }
}
