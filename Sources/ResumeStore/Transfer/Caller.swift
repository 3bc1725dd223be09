internal import HTTPTypes
internal import ResumeHTTP

/// Who asks for a download, and on which terms.
struct Caller: Sendable {
    /// What is asked for.
    var url: DownloadURL
    /// What of the request decides who may have the bytes; nil where the caller does not tell.
    var identity: RequestIdentity?
    /// On which terms it is continued.
    var policy: ResumePolicy
    /// The file that it is to become, where that is known.
    var destination: Destination?

    init(url: DownloadURL, headerFields: HTTPFields?, policy: ResumePolicy, destination: Destination? = nil) {
        self.url = url
        identity = headerFields.map { RequestIdentity(url, $0) }
        self.policy = policy
        self.destination = destination
    }

    init(url: DownloadURL, identity: RequestIdentity?, policy: ResumePolicy) {
        self.url = url
        self.identity = identity
        self.policy = policy
    }

    /// Whether the caller may have what an entry holds.
    func access(to requester: Requester, isEmpty: Bool, _ key: [UInt8]) -> HeldPartial.Access {
        if isEmpty { return .granted }
        guard requester.isSame(as: identity, key: key) else { return .foreign }
        return policy.confirmsComplete ? .unconfirmed : .granted
    }

    /// Whose bytes an answer to this caller is.
    func requester(for representation: Representation?, _ key: [UInt8]) -> Requester {
        Requester(identity, vary: representation?.vary, key: key)
    }

    /// Whether what is held for another request stays beside what is sent to this one: it is complete, or the server may
    /// still send it to requests with those fields that it named in `Vary`.
    func leaves(_ held: HeldPartial, of other: Requester, _ key: [UInt8]) -> Bool {
        held.hasAllBytes || other.varied != requester(for: held.representation, key).varied
    }

    /// Whether the caller may have what an entry holds.
    func access(to entry: Entry, _ key: [UInt8]) -> HeldPartial.Access {
        access(to: entry.requester, isEmpty: entry.held.isEmpty && !entry.held.hasAllBytes, key)
    }
}

extension ResumePolicy {
    /// The policy for a URL that may be at another origin than the one that the bytes came from.
    ///
    /// An entity tag is a name within one resource (RFC 9110, 8.8.3): elsewhere the same one may name other bytes, so
    /// there an overlap is compared whatever the caller says.
    func moving(from old: String, to new: DownloadURL) -> ResumePolicy {
        guard old != new.redacted, (try? DownloadURL(old))?.origin != new.origin else { return self }
        var policy = self
        policy.overlap = max(overlap, Self.defaultOverlap)
        return policy
    }
}
