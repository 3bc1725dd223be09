package import HTTPTypes
package import ResumeHTTP

/// The caller of a download, and the conditions under which it resumes.
package struct Caller: Sendable {
    var url: DownloadURL
    /// The part of the request that decides about access to the bytes; nil if the caller does not specify it.
    var identity: RequestIdentity? { didSet { code = nil } }
    /// Its hash with the key of the store, once it was computed.
    var code: [UInt8]?
    /// The conditions for resuming.
    var policy: ResumePolicy
    /// The destination file, if it is known.
    var destination: Destination?
    /// What the last response came from; nil before the first one.
    var provenance: Provenance?

    /// Decides whether the caller may use the bytes of an entry.
    func access(to entry: Entry, _ key: HashKey) -> HeldPartial.Access {
        if entry.held.isEmpty, !entry.held.hasAllBytes { return .granted }
        // The user's own file. The samples show whether the server sends the bytes to this caller.
        if entry.held.isUnproved { return .granted }
        guard entry.requester.isSame(as: identity, key: key) else { return .foreign }
        // Another connection may prove less, or more, than the one that the bytes were received over.
        let isUsual = [nil, .verified, .plain].contains(entry.requester.resource?.trust)
        let isOther = policy.completeLength.map { $0 != entry.representation?.completeLength } ?? false
        return !isUsual || isOther || policy.confirmsComplete ? .unconfirmed : .granted
    }

    /// The requester that the bytes of a response to this caller belong to.
    mutating func requester(for representation: Representation?, _ key: HashKey) -> Requester {
        code = code ?? identity?.code(key)
        return Requester(code: code, varied: identity?.varied(representation?.vary, key), resource: provenance)
    }

    /// Whether bytes that were fetched for another request are kept beside those of this one: they are complete, or the
    /// server may still send them to requests with the header fields that it named in `Vary`.
    func leaves(_ held: HeldPartial, of other: Requester, _ key: HashKey) -> Bool {
        held.hasAllBytes || other.varied != identity?.varied(held.representation?.vary, key)
    }
}

extension Caller {
    /// Whether a delivered file came from what the last response came from, as far as that is recorded.
    package func isSource(of file: DeliveredFile) -> Bool { provenance.map { file.verdict(on: $0) == .same } ?? true }

    /// Returns what a response came from.
    ///
    /// - Parameters:
    ///   - sender: The URL of the response; nil for the requested one.
    ///   - trust: What the connections prove; nil if only the scheme of the URLs tells.
    ///   - key: The key of the store's hashes.
    /// - Returns: What it came from.
    func source(from sender: DownloadURL?, _ trust: ServerTrust?, _ key: HashKey) -> Provenance {
        Provenance(identity, at: url, from: sender, trust: trust, key)
    }

    /// Returns the caller with ``source(from:_:_:)`` of a response.
    package func responded(from sender: DownloadURL?, _ trust: ServerTrust?, _ key: HashKey) -> Caller {
        var caller = self
        caller.provenance = source(from: sender, trust, key)
        return caller
    }

    /// The conditions for resuming, with the URL that they are about.
    var conditions: ResumePolicy {
        var policy = policy
        policy.url = url
        return policy
    }

    package init(url: DownloadURL, headerFields: HTTPFields?, policy: ResumePolicy, destination: Destination? = nil) {
        let identity = headerFields.map { RequestIdentity(url, $0, secret: policy.secretHeaderFields) }
        self.init(url: url, identity: identity, policy: policy, destination: destination)
    }
}
