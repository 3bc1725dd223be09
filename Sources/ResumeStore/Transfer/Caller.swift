internal import HTTPTypes
internal import ResumeHTTP

/// The caller of a download, and the conditions under which it resumes.
struct Caller: Sendable {
    /// The requested URL.
    var url: DownloadURL
    /// The part of the request that decides about access to the bytes; nil if the caller does not specify it.
    var identity: RequestIdentity?
    /// The conditions for resuming.
    var policy: ResumePolicy
    /// The destination file, if it is known.
    var destination: Destination?

    /// Decides whether the caller may use the bytes of an entry.
    func access(to entry: Entry, _ key: [UInt8]) -> HeldPartial.Access {
        if entry.held.isEmpty, !entry.held.hasAllBytes { return .granted }
        // The user's own file. The samples show whether the server sends the bytes to this caller.
        if entry.held.isUnproved { return .granted }
        guard entry.requester.isSame(as: identity, key: key) else { return .foreign }
        return policy.confirmsComplete ? .unconfirmed : .granted
    }

    /// The requester that the bytes of a response to this caller belong to.
    func requester(for representation: Representation?, _ key: [UInt8]) -> Requester {
        Requester(identity, vary: representation?.vary, key: key)
    }

    /// Whether bytes that were fetched for another request are kept beside those of this one: they are complete, or the
    /// server may still send them to requests with the header fields that it named in `Vary`.
    func leaves(_ held: HeldPartial, of other: Requester, _ key: [UInt8]) -> Bool {
        held.hasAllBytes || other.varied != requester(for: held.representation, key).varied
    }
}

extension Caller {
    init(url: DownloadURL, headerFields: HTTPFields?, policy: ResumePolicy, destination: Destination? = nil) {
        let identity = headerFields.map { RequestIdentity(url, $0) }
        self.init(url: url, identity: identity, policy: policy, destination: destination)
    }
}

extension ResumePolicy {
    /// Returns the policy for a URL whose origin may differ from that of the stored bytes.
    ///
    /// An entity tag identifies a representation of one resource only (RFC 9110, 8.8.3). At another origin the same tag
    /// may stand for other bytes, so an overlap is compared there regardless of the caller's policy.
    func moving(from old: String, to new: DownloadURL) -> ResumePolicy {
        guard old != new.redacted, (try? DownloadURL(old))?.origin != new.origin else { return self }
        var policy = self
        policy.overlap = max(overlap, Self.defaultOverlap)
        return policy
    }
}
