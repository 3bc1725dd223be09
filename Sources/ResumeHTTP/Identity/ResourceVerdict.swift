/// Whether stored bytes may be continued with a response, decided from what both came from, before any validator.
package enum ResourceVerdict: Sendable, Hashable {
    /// The same resource, received in the same way: the validator and the overlap decide.
    case same
    /// Only the digest that the caller names proves the bytes, when all of them are stored.
    case underDigest
    /// Compare samples of all stored bytes first.
    case compareSamples(Reason)
    /// Leave the stored bytes to their caller, and continue with a separate entry.
    case ownEntry(Reason)

    /// Decides about a response.
    ///
    /// - Parameters:
    ///   - held: What the stored bytes came from.
    ///   - answer: What the response came from.
    ///   - hasProof: Whether the caller names a digest that proves the whole file.
    ///   - isRenewed: Whether the caller has renewed the URL or the fields of the same download.
    ///   - isConfirmed: Whether both responses announce the same digest, or samples of the stored bytes agreed just now.
    package init(
        held: Provenance, answer: Provenance, hasProof: Bool = false, isRenewed: Bool = false,
        isConfirmed: Bool = false
    ) {
        if held.trust != answer.trust {
            let reason = Reason.trustChanged(from: held.trust.description, to: answer.trust.description)
            self = hasProof ? .underDigest : .ownEntry(reason)
        } else if held.code == answer.code || isConfirmed || isRenewed && held.address == answer.address {
            self = .same
        } else if hasProof {
            self = .underDigest
        } else {
            self = .compareSamples(
                held.address == answer.address ? .otherRequest : .otherAddress(held.origin, answer.origin))
        }
    }
}

extension ServerTrust {
    /// How bytes were received, in words.
    var description: String {
        switch self {
        case .verified: "with a verified certificate"
        case .authorities: "with a certificate of the authorities that were named"
        case .unverified: "without verifying the certificate"
        case .plain: "over http"
        }
    }
}
