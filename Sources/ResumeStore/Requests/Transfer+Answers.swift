import HTTPTypes
import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

/// What is remembered of responses that brought no bytes of the stored file.
extension Transfer {
    /// Ends a body.
    ///
    /// A `Content-Digest` is not compared here: if it does not match the body, call ``discard(reason:)`` instead.
    ///
    /// - Parameter ending: How the body ended.
    /// - Returns: Whether every byte of the complete length is stored now.
    /// - Throws: ``StoreError``
    public func endBody(_ ending: BodyEnding) async throws -> Bool {
        do {
            return try await finishBody(ending)
        } catch is RequestOutcome {
            // The body was too short to be believed.
            return false
        }
    }

    /// Records a decision about the stored bytes, to be shown to people.
    package func note(_ reason: Reason) async throws {
        try await disk?.record(.refused, key: entry.key, reason: reason, bytes: held)
    }

    /// Counts a response that contradicts the stored or the delivered file, once a day.
    func noteContradiction(_ response: HTTPResponse, _ reason: Reason) async throws {
        guard reason.facts.contains(.isContradiction) else { return }
        let fresh = Representation(announcedBy: response)
        try await setSightings(Sightings(of: fresh, on: WallClock.day, after: entry.objections.sightings))
    }

    /// Records the contradictions; nil when the server confirms the stored file.
    func setSightings(_ sightings: Sightings?) async throws {
        guard sightings != entry.objections.sightings else { return }
        // A delivered file has no row otherwise.
        try claim()
        try await set("seen", to: sightings?.stored)
        entry.objections.sightings = sightings
    }

    /// The size of the closed ranges that the server sends although it refuses open ones; nil if it sends those.
    var closedSize: Int64? { entry.objections.closedSize }

    /// Records ``closedSize``, so that the next run does not begin with a range that is refused.
    func noteClosed(_ size: Int64?) async throws {
        guard let size, size != entry.objections.closedSize, isClaimed else { return }
        try await set("closed", to: size)
        entry.objections.closedSize = size
    }

    /// Records the complete length of a representation, if it was unknown.
    func learn(_ representation: Representation) async throws {
        guard entry.representation?.completeLength == nil, let length = representation.completeLength else { return }
        try claim()
        try await learnLength(length)
    }

    /// Records the digest that the server sends, if it has sent none before.
    func learn(digestOf representation: Representation) async throws {
        guard entry.representation?.reprDigest == nil, let digest = representation.reprDigest else { return }
        try await set("repr_digest", to: digest)
        entry.content?.representation.reprDigest = digest
    }

    func learnLength(_ length: Int64) async throws {
        try await set("complete_length", to: length)
        entry.content?.representation.completeLength = length
        writer.changeReading { $0.totalLength = entry.totalBytes }
    }

    /// Reaches a verdict on a response, and discards nothing yet, so that the engine can still reject it.
    package func judge(
        _ response: HTTPResponse, to plan: Plan, in context: AnswerContext = AnswerContext()
    ) throws -> Verdict {
        try requireOpen()
        guard main.course(\.isAtBorder) != true else {
            throw StoreError(
                .misuse, "the previous response body was not ended", advice: "Call endBody(_:) after each body.")
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
        } else if exchange.standing == .moved {
            // The prefix is of another resource, or was not sent over this kind of connection.
            verdict = verdict.replacing(by: response)
        }
        if verdict.replaces {
            context.replaced = context.replaced ?? held
            exchange.doubt = verdict.continuation?.representation.completeLength == nil ? context : nil
        }
        return verdict
    }
}
