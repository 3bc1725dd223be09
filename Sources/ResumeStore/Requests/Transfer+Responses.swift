import HTTPTypes
import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

/// What is remembered of responses that brought no bytes of the stored file.
extension Transfer {
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

    /// The size of the ranges with an end that the server sends although it refuses those without one; nil if it sends those.
    var boundedRange: Int64? { entry.objections.boundedRange }

    /// Records ``boundedRange``, so that the next run does not begin with a range that is refused.
    func noteBoundedRange(_ size: Int64?) async throws {
        guard let size, size != entry.objections.boundedRange, isClaimed else { return }
        try await set("closed", to: size)
        entry.objections.boundedRange = size
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
}
