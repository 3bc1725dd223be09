internal import HTTPTypes
internal import ResumeFiles
package import ResumeHTTP

/// What is remembered of responses that brought no bytes of the stored file.
extension Transfer {
    /// Records a decision about the stored bytes, to be shown to people.
    package func note(_ reason: Reason) async throws {
        try await disk?.record(.refused, key: entry.key, reason: reason, bytes: held)
    }

    /// Counts a response that contradicts the stored or the delivered file, once a day.
    func noteContradiction(_ response: HTTPResponse, _ reason: Reason) async throws {
        guard Contradiction.codes.contains(reason.code) else { return }
        let fresh = Representation(announcedBy: response)
        try await setSightings(Sightings(of: fresh, on: WallClock.day, after: entry.sightings))
    }

    /// Records the contradictions; nil when the server confirms the stored file.
    func setSightings(_ sightings: Sightings?) async throws {
        guard sightings != entry.sightings else { return }
        // A delivered file has no row otherwise.
        try claim()
        let id = entry.id
        try await disk?.write { connection in try connection.setSightings(id: id, sightings) }
        entry.sightings = sightings
    }

    /// The size of the closed ranges that the server sends although it refuses open ones; nil if it sends those.
    package var closedSize: Int64? { entry.closedSize }

    /// Records ``closedSize``, so that the next run does not begin with a range that is refused.
    package func noteClosed(_ size: Int64?) async throws {
        guard let size, size != entry.closedSize, isClaimed else { return }
        let (id, generation) = (entry.id, entry.generation)
        try await disk?.write { connection in
            try connection.setClosed(id: id, generation: generation, size: size)
        }
        entry.closedSize = size
    }
}
