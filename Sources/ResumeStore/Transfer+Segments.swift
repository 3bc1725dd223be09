internal import CResumeFiles
package import ResumeHTTP
internal import ResumeSQLite

/// Several streams at a time, each at an offset of its own.
///
/// The first one is that of ``receive(_:to:)``, which goes on as ``main``; ``endBody(_:)`` ends them all.
extension Transfer {
    /// The parts with what has come by now, recorded or not.
    var parts: [Entry.Chunk] {
        entry.chunks.map { chunk in segments.reduce(main.updating(chunk)) { $1.updating($0) } }
    }

    /// Bytes from 0 on that are held by now, whoever brought them.
    package var contiguousLength: Int64 { parts.disjoint.contiguousEnd }

    /// Begins with a further stream, whose response was judged.
    ///
    /// - Parameters:
    ///   - continuation: What its body is.
    ///   - running: The stream within whose range it lies, which is to end where it begins; nil where none does.
    /// - Returns: The stream; nil where it is of no use any more.
    /// - Throws: ``StoreError``
    package func open(_ continuation: Verdict.Continuation, splitting running: Segment?) async throws -> Segment? {
        try requireOpen()
        guard let blob, let path = entry.chunks.first?.path else { return nil }
        let start = continuation.offset
        guard let end = continuation.bodyEnd, start < end else { return nil }
        // Somebody may have come so far meanwhile.
        guard !heldRanges.contains(where: { $0.overlaps(start..<end) }) else { return nil }
        // Bytes go on in the row of those that they adjoin.
        let before = parts.last { $0.length > 0 && $0.end == start }
        // Where they came meanwhile, nothing of them was asked for to be compared: it is asked for once more.
        guard before == nil || continuation.bodyStart < start || policy.overlap == 0 else { return nil }
        let part = PartReference(id: entry.id, generation: entry.generation, offset: before?.offset ?? start)
        if before == nil {
            let current: Entry? = try await store.write { connection in
                guard try connection.insertPart(part, path: path, end: end) else { return nil }
                return try connection.entry(id: part.id)
            }
            guard let current, current.generation == part.generation else { return nil }
            try take(current)
            KillPoint.reached(.segmentOpened)
        }
        let segment = Segment(store: store, part: part, held: start, synchronizer: synchronizer, readable: readable)
        try segment.begin(continuation, of: blob, upTo: nil)
        if let running, running.end > start,
            !running.shorten(to: start, before: segment, overlap: policy.overlap)
        {
            segment.stop()
            return nil
        }
        segments.append(segment)
        readable.follow(segment)
        return segment
    }
}
