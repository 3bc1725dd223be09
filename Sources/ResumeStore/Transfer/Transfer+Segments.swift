internal import ResumeFiles
package import ResumeHTTP
internal import ResumeSQLite

/// Several streams at a time, each at an offset of its own.
///
/// The first one is that of ``receive(_:to:)``, which goes on as ``main``; ``endBody(_:)`` ends them all.
extension Transfer {
    /// The parts with their bytes so far, recorded or not.
    var parts: [PartLedger] { sync.ledger.withLock(\.parts) }

    /// Bytes from 0 on that are held by now, whoever brought them.
    package var contiguousLength: Int64 { parts.disjoint.contiguousEnd }

    /// Begins with a further stream, whose response was judged.
    ///
    /// - Parameters:
    ///   - continuation: What its body is.
    ///   - running: The stream within whose range it lies, which is to end where it begins; nil where none does.
    /// - Returns: The stream; nil where it is of no use any more.
    /// - Throws: ``StoreError``
    package func open(_ continuation: Verdict.Continuation, splitting running: PartStream?) async throws -> PartStream?
    {
        try requireOpen()
        try claim()
        guard let blob, let path = entry.chunks.first?.path else { return nil }
        let start = continuation.offset
        guard let end = continuation.bodyEnd, start < end else { return nil }
        // Somebody may have come so far meanwhile.
        guard !heldRanges.contains(where: { $0.overlaps(start..<end) }) else { return nil }
        // Of those that it adjoins enough are compared, also where they came since it was asked for.
        let adjoining = comparable(before: start)
        guard start - continuation.bodyStart >= adjoining else { return nil }
        // Where nobody has come so far, whoever will is compared with this one.
        let coming = adjoining > 0 || policy.overlap <= 0 ? [] : (segments + [main]).filter { $0.end == start }
        // A part of an earlier transfer is continued in its row. One that a stream of this transfer has written is not, so
        // that each stream has an account and a border of its own.
        let streams = Set((segments + [main]).map(\.account.partOffset))
        let before = parts.last { $0.length > 0 && $0.end == start && !streams.contains($0.offset) }
        let part = PartReference(id: entry.id, generation: entry.generation, offset: before?.offset ?? start)
        if before == nil {
            // From now on the length of the blob says nothing of the bytes that are not recorded yet.
            if entry.grows { try checkpoint() }
            let current: Entry? = try await store.write { connection in
                guard try connection.insertPart(part, path: path, end: end) else { return nil }
                return try connection.entry(id: part.id)
            }
            guard let current, current.generation == part.generation else { return nil }
            try take(current)
            KillPoint.reached(.segmentOpened)
        }
        let (isNew, now) = (before == nil, store.configuration.clock.now())
        sync.ledger.withLock { ledger in
            if isNew {
                if adjoining > 0 { ledger.follow(upTo: start) }
                ledger.insert(PartLedger(part, received: start, durable: start, isFollowed: false, at: now))
            }
            ledger.stopGrowing()
        }
        let segment = PartStream(part.offset, of: store, sync: sync, readable: readable)
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

    /// How many of the bytes before an offset are to be compared.
    private func comparable(before start: Int64) -> Int64 {
        let extent = parts.disjoint.extents.first { $0.upperBound == start }
        return min(max(policy.overlap, 0), extent.map { $0.upperBound - $0.lowerBound } ?? 0)
    }

    /// A body that does not count as compared with what is held behind it where more of that is there by now, or may still
    /// come, than was asked for to be compared.
    private func comparing(_ continuation: Verdict.Continuation) -> Verdict.Continuation {
        guard let end = continuation.bodyEnd, let total = continuation.representation.completeLength,
            parts.contains(where: { $0.offset == end })
        else { return continuation }
        let needed = min(max(policy.overlap, 0), total - end)
        let extent = parts.disjoint.extents.first { $0.lowerBound <= end && end < $0.upperBound } ?? end..<end
        let isComing = (segments + [main]).contains { $0.held == extent.upperBound && $0.held < $0.end }
        let comparable = isComing ? needed : min(needed, extent.upperBound - end)
        guard continuation.comparedEnd ?? end < end.addingSaturating(comparable) else { return continuation }
        var continuation = continuation
        continuation.comparedEnd = .max
        return continuation
    }
}
