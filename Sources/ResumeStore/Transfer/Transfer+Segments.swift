import ResumeFiles
package import ResumeHTTP
import ResumeSQLite
import Synchronization

/// Receives several streams in parallel, each at a different offset.
///
/// The first stream is that of ``receive(_:to:)``, which continues as ``main``; ``endBody(_:)`` ends all of them.
extension Transfer {
    private var streams: [PartStream] { segments + [main] }

    /// The parts with their received bytes, recorded or not.
    var parts: [PartLedger] { writer.withLedger(\.parts) }

    /// The stored ranges, as offsets in the delivered file, in order and disjoint, whoever may read them.
    var storedRanges: [Range<Int64>] { parts.disjoint.extents }

    /// The number of stored bytes from offset 0, whichever stream received them.
    package var contiguousLength: Int64 { parts.disjoint.contiguousEnd }

    /// Opens another stream, whose response was accepted.
    ///
    /// - Parameters:
    ///   - continuation: The verdict about its body.
    ///   - running: The stream whose range contains it, which then ends where it begins; nil if there is none.
    /// - Returns: The stream; nil if it is no longer of use.
    /// - Throws: ``StoreError``
    package func open(_ continuation: Verdict.Continuation, splitting running: PartStream?) async throws -> PartStream?
    {
        try requireOpen()
        try claim()
        guard let blob else { return nil }
        let start = continuation.offset
        guard let end = continuation.bodyEnd, start < end else { return nil }
        // Another stream may have received these bytes by now.
        guard !heldRanges.contains(where: { $0.overlaps(start..<end) }) else { return nil }
        // Enough of the adjoining bytes are compared, even if they arrived after the request was sent.
        let adjoining = comparable(before: start)
        guard start - continuation.bodyStart >= adjoining else { return nil }
        // If no stream has reached this offset yet, the one that does is compared with this one.
        let coming = adjoining > 0 || policy.overlap <= 0 ? [] : streams.filter { $0.end == start }
        // A part of an earlier transfer is continued in its row. A part that a stream of this transfer has written is
        // not, so that each stream has a separate account and end.
        let offsets = streams.map(\.partOffset)
        let before = parts.last { $0.length > 0 && $0.end == start && !offsets.contains($0.offset) }
        let part = entry.part(at: before?.offset ?? start)
        if before == nil {
            // From now on, the length of the blob does not tell how many unrecorded bytes it has.
            if entry.grows { try checkpoint() }
            guard try await insertPart(part, upTo: end) else { return nil }
            KillPoint.reached(.segmentOpened)
        }
        let isNew = before == nil
        let now = writer.clock.now()
        writer.withLedger { ledger in
            if isNew {
                if adjoining > 0 { ledger.follow(upTo: start) }
                ledger.insert(PartLedger(part, received: start, durable: start, at: now))
            }
            ledger.commit(.often)
        }
        let segment = PartStream(part.offset, writer)
        try segment.begin(comparing(continuation), of: blob, upTo: nil)
        let split = [running].compactMap(\.self).filter { $0.end > start }
        for other in coming + split
        where try !other.shorten(to: start, before: segment, overlap: policy.overlap) {
            segment.stop()
            return nil
        }
        segments.append(segment)
        return segment
    }

    /// Creates the row of a part; false if the entry has another generation, or bytes there.
    func insertPart(_ part: PartReference, upTo end: Int64?, mark: String? = nil) async throws -> Bool {
        guard let path = entry.chunks.first?.path else { return false }
        let current: Entry? = try await store.write { connection in
            guard try connection.insertPart(part, path: path, end: end, mark: mark) else { return nil }
            return try connection.entry(id: part.id)
        }
        guard let current else { return false }
        try take(current)
        return true
    }

    /// The number of bytes before an offset to compare.
    private func comparable(before start: Int64) -> Int64 {
        let extent = storedRanges.first { $0.upperBound == start }
        return min(max(policy.overlap, 0), Int64(extent?.count ?? 0))
    }

    /// Returns a continuation that does not count as compared with the stored bytes behind it, if more of those are
    /// there, or may still arrive, than the request asked to compare.
    private func comparing(_ continuation: Verdict.Continuation) -> Verdict.Continuation {
        guard let end = continuation.bodyEnd, let total = continuation.representation.completeLength,
            parts.contains(where: { $0.offset == end })
        else { return continuation }
        let needed = min(max(policy.overlap, 0), total - end)
        let extent = storedRanges.first { $0.contains(end) } ?? end..<end
        let isComing = streams.contains { $0.held == extent.upperBound && $0.held < $0.end }
        let comparable = isComing ? needed : min(needed, extent.upperBound - end)
        guard continuation.comparedEnd ?? end < end.addingSaturating(comparable) else { return continuation }
        var continuation = continuation
        continuation.comparedEnd = .max
        return continuation
    }
}
