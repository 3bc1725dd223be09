package import HTTPTypes

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
    ///   - hasDigest: Whether the caller names a digest of the whole file.
    ///   - isRenewed: Whether the caller has renewed the URL or the fields of the same download.
    ///   - isConfirmed: Whether both responses announce the same digest, or samples of the stored bytes agreed just now.
    package init(
        held: Provenance, answer: Provenance, hasDigest: Bool = false, isRenewed: Bool = false,
        isConfirmed: Bool = false
    ) {
        if held.trust != answer.trust {
            self = hasDigest ? .underDigest : .ownEntry(.trustChanged(from: held.trust, to: answer.trust))
        } else if held.code == answer.code || isConfirmed || isRenewed && held.address == answer.address {
            self = .same
        } else if hasDigest {
            self = .underDigest
        } else {
            self = .compareSamples(
                held.address == answer.address ? .otherRequest : .otherAddress(held.origin, answer.origin))
        }
    }

    /// What follows a response.
    package enum Step: Sendable, Hashable {
        /// Its head decides.
        case judge
        /// Request the same without a condition: the server sends the rest whatever validator it has.
        case omitCondition
        /// Compare samples of the stored bytes.
        case compareSamples(Reason)
        /// Request the whole file.
        case requestWhole(Reason)
    }

    /// Returns what follows a response to a plan.
    package func step(after response: HTTPResponse, to plan: Plan) -> Step {
        // A whole file needs no proof: it gets an entry of its own, unless its head shows that it is a failure.
        guard case .range(let range) = plan else { return .judge }
        return switch self {
        case .same: .judge
        case .underDigest: range.validator != nil && !range.isSame(as: response) ? .omitCondition : .judge
        case .compareSamples(let reason): .compareSamples(reason)
        case .ownEntry(let reason): .requestWhole(reason)
        }
    }
}

extension Reason {
    /// The stored bytes were received over a connection of another kind.
    static func trustChanged(from old: ServerTrust, to new: ServerTrust) -> Reason {
        Reason("trust-changed", with: old.description, new.description)
    }

    /// The same address, requested with other credentials or fields.
    package static let otherRequest = Reason("other-request")

    /// A part from another address than that of the stream beside it.
    package static let otherAddressOfPart = Reason("other-address-of-part")

    /// A response from another address than the one of the stored bytes; paths, which may be secret, are left out.
    static func otherAddress(_ old: String, _ new: String) -> Reason {
        Reason("other-address", with: old, old == new ? "another address there" : new)
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
