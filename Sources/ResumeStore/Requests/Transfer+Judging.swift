package import HTTPTypes
import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

/// Judges responses: by what they and the stored bytes come from, then by their validators.
extension Transfer {
    /// Evaluates the head of a response, and discards nothing yet.
    ///
    /// - Parameters:
    ///   - head: The status and the fields of the response.
    ///   - plan: The plan of the request.
    ///   - url: The URL that the response came from; nil for the requested one.
    ///   - trust: What the connections prove; nil if only the scheme of the URLs tells.
    ///   - isConfirmed: Whether samples of the stored bytes have just agreed.
    ///   - delivered: The file that was delivered earlier; nil if there is none.
    /// - Returns: What it says about the stored bytes.
    /// - Throws: ``StoreError``
    func evaluate(
        _ head: HTTPResponse, to plan: Plan, from url: DownloadURL?, trust: ServerTrust? = nil,
        isConfirmed: Bool = false, delivered: Representation? = nil
    ) async throws -> Evaluation {
        let resource = examine(head, from: url, trust: trust, isConfirmed: isConfirmed)
        if let evaluation = resource.evaluation(of: head, to: plan) {
            if let reason = evaluation.reason { try await note(reason) }
            return evaluation
        }
        if try await goesBack(after: head) { return .wentBack }
        return .judged(try judge(head, to: plan, in: AnswerContext(sender: url, delivered: delivered)))
    }

    /// Reaches a verdict on a response, and discards nothing yet, so that the engine can still reject it.
    package func judge(
        _ response: HTTPResponse, to plan: Plan, in context: AnswerContext = AnswerContext()
    ) throws -> Verdict {
        try requireOpen()
        guard main.course(\.isAtBorder) != true else {
            throw StoreError(.misuse, Reason("open-body"))
        }
        main.endBody()
        var context = context
        context.url = caller.url
        context.sightings = entry.objections.sightings
        context.day = WallClock.day
        let held = partial
        context.isRestart = exchange.isRestart
        context.replaced = exchange.doubt?.replaced ?? (held.isEmpty ? exchange.left : nil)
        context.sender = context.sender ?? caller.provenance.flatMap { try? DownloadURL($0.address) }
        if !held.isEmpty { context.home = entry.requester.resource.flatMap { try? DownloadURL($0.address) } }
        var verdict = Verdict(for: response, to: plan, held: held, policy: policy, in: context)
        if passesOn {
            verdict = verdict.withoutPrefix
        } else if exchange.isOfOther {
            // The prefix is of another resource, or was not sent over this kind of connection.
            verdict = verdict.replacing(by: response)
        }
        if verdict.replaces {
            context.replaced = context.replaced ?? held
            exchange.doubt = verdict.continuation?.representation.completeLength == nil ? context : nil
        }
        return verdict
    }

    /// Decides whether the stored bytes may be continued with a response, before its validators count.
    ///
    /// - Parameters:
    ///   - head: The status and the fields of the response.
    ///   - url: The URL that it came from; nil for the requested one.
    ///   - trust: What the connections prove; nil if only the scheme of the URLs tells.
    ///   - isConfirmed: Whether samples of the stored bytes have just agreed.
    /// - Returns: What may be done with the stored bytes.
    func examine(
        _ head: HTTPResponse, from url: DownloadURL?, trust: ServerTrust? = nil, isConfirmed: Bool = false
    ) -> ResourceVerdict {
        guard [200, 203, 206, 416].contains(head.status.code) else { return .same }
        let source = caller.source(from: url, trust, identityKey)
        caller.provenance = source
        guard !partial.isEmpty || partial.hasAllBytes, entry.agreedSamples != 0 else { return .same }
        let announced = HTTPDigest(field: Representation(fields: head.headerFields).reprDigest)
        let isEqual =
            announced != nil && !policy.hasWeakDigest
            && announced == HTTPDigest(field: entry.representation?.reprDigest)
        var known = entry.requester.resource ?? earlierResource(beside: source)
        known.hidePath(identityKey)
        exchange.resource = ResourceVerdict(
            held: known, answer: source, hasProof: policy.hasProof, isRenewed: exchange.isRenewed,
            isConfirmed: isConfirmed || isEqual)
        return exchange.resource
    }

    /// Whether a response comes from what a delivered file came from, as far as that is recorded.
    package func resourceVerdict(
        on file: DeliveredFile, from url: DownloadURL?, _ trust: ServerTrust?
    ) -> ResourceVerdict {
        file.verdict(on: caller.source(from: url, trust, identityKey))
    }

    /// Returns what bytes of an earlier release came from, as far as their row can tell.
    ///
    /// The hash of their request decides, and if it is not known, the URL. If a scheme signs the path, only the signature
    /// may differ.
    private func earlierResource(beside source: Provenance) -> Provenance {
        let isSameURL = entry.url == caller.url.redacted
        let isSame =
            entry.requester.isSame(as: caller.identity, key: identityKey)
            || isSameURL && (entry.requester.code == nil || caller.url.hasSecrets && caller.url.isOnlySigned)
        var earlier = source
        if !isSame { (earlier.code, earlier.address) = ("", (try? DownloadURL(entry.url).address) ?? "") }
        // Bytes without a verified certificate have keys of their own there.
        let wasPlain = entry.url.hasPrefix("http:")
        if wasPlain != (source.trust == .plain) { earlier.trust = wasPlain ? .plain : .verified }
        return earlier
    }

    /// Records what a response came from, if that is not known or has changed.
    func recordResource() async throws {
        guard access != .foreign, !isUnderDigest, let source = caller.provenance,
            source != entry.requester.resource
        else {
            return
        }
        try await setRequester(requester(for: entry.representation), url: caller.url.redacted)
    }

    /// Whether an origin has sent bytes of this entry, or of a delivered file, over connections with a trusted
    /// certificate, so that another certificate is a failure for now.
    package func hasTrusted(_ origin: String) async throws -> Bool {
        if let known = entry.requester.resource, known.trust.isTrusted,
            [caller.url.origin, known.origin].contains(origin)
        {
            return true
        }
        return try await disk?.read { connection in try connection.hasTrusted(origin) } ?? false
    }

    /// Continues the same download with another URL or other header fields.
    package func move(to url: DownloadURL, headerFields: HTTPFields) {
        caller.url = url
        caller.identity = RequestIdentity(url, headerFields, secret: policy.secretHeaderFields)
        exchange.isRenewed = true
        // No response to the new request has confirmed the stored bytes yet.
        if access == .granted, !partial.isEmpty { access = .unconfirmed }
    }
}

extension DeliveredFile {
    /// Whether a response comes from what the file came from, as far as that is recorded.
    func verdict(on source: Provenance) -> ResourceVerdict {
        resource.map { ResourceVerdict(held: $0, answer: source) } ?? .same
    }
}
