/// A range of bytes in a blob.
package protocol Extent {
    /// The offset of the first byte.
    var offset: Int64 { get }
    var length: Int64 { get }
}

extension Extent {
    /// The offset of the end, excluded; does not trap on the numbers of a manipulated row.
    package var end: Int64 { offset.addingSaturating(length) }

    package var range: Range<Int64> { offset..<max(offset, end) }
}

extension Array where Element: Extent {
    /// The elements, in the order of their offsets, without those that overlap an earlier one, as in manipulated rows.
    var disjoint: [Element] {
        var end: Int64 = 0
        return filter { extent in
            guard extent.offset >= end else { return false }
            end = extent.range.upperBound
            return true
        }
    }
}

extension Entry.Chunk: Extent {}

/// Parts of one blob, in the order of their offsets.
extension Array where Element: Extent {
    /// The end of the bytes that are stored without a gap from offset 0.
    package var contiguousEnd: Int64 { current?.end ?? 0 }

    /// The part that is written next: the last of the adjoining parts from offset 0.
    var current: Element? {
        var current: Element?
        for chunk in self {
            guard chunk.offset == (current?.end ?? 0) else { break }
            current = chunk
        }
        return current
    }

    /// Returns the stored bytes after the first gap at or behind an offset; nil if there are none.
    func nextHeld(after offset: Int64) -> Range<Int64>? {
        extents.first { $0.lowerBound > offset }
    }

    /// The ranges of bytes; adjoining parts are joined.
    var extents: [Range<Int64>] {
        reduce(into: []) { extents, part in
            if part.length > 0 { extents.append(joining: part.range) }
        }
    }

    package var heldBytes: Int64 { sum(\.length) }
}

extension [Range<Int64>] {
    /// Appends a range; one that adjoins the last one is joined with it.
    mutating func append(joining range: Range<Int64>) {
        if let last, last.upperBound == range.lowerBound {
            self[count - 1] = last.lowerBound..<range.upperBound
        } else {
            append(range)
        }
    }
}

extension [Entry.Chunk] {
    var blobNames: Set<BlobName> { Set(compactMap { BlobName(path: $0.path) }) }

    /// The same bytes in fewer parts: adjoining parts are joined unless that would lose recorded bytes.
    var joined: [Entry.Chunk] {
        reduce(into: []) { chunks, chunk in
            guard let last = chunks.last else { return chunks.append(chunk) }
            if chunk.length == 0 { return }
            guard last.end == chunk.offset, last.mark == chunk.mark, last.durable == last.length || chunk.durable == 0
            else {
                return chunks.append(chunk)
            }
            chunks[chunks.count - 1].durable = last.durable.addingSaturating(chunk.durable)
            chunks[chunks.count - 1].length = last.length.addingSaturating(chunk.length)
        }
    }

    /// The bytes that survive a power loss.
    var durable: [Entry.Chunk] {
        map { chunk in
            var chunk = chunk
            chunk.length = Swift.min(chunk.length, chunk.durable)
            return chunk
        }.normalized
    }

    /// Returns the parts without a range; a part that contains it is split in two.
    package func removing(_ range: Range<Int64>) -> [Entry.Chunk] {
        flatMap { chunk -> [Entry.Chunk] in
            let end = chunk.end
            let durableEnd = chunk.offset.addingSaturating(chunk.durable)
            guard range.lowerBound < end, range.upperBound > chunk.offset, !range.isEmpty else {
                return [chunk]
            }
            var before = chunk
            before.length = Swift.max(range.lowerBound - chunk.offset, 0)
            before.durable = Swift.min(chunk.durable, before.length)
            var after = chunk
            after.offset = range.upperBound
            after.length = Swift.max(end - range.upperBound, 0)
            after.durable = Swift.max(Swift.min(durableEnd, end) - range.upperBound, 0)
            return [before, after]
        }.normalized
    }

    /// Removes empty parts except the one at offset 0, which always exists.
    private var normalized: [Entry.Chunk] {
        guard let path = first?.path else { return [] }
        let rest = filter { $0.length > 0 }
        if let first = rest.first, first.offset == 0 { return rest }
        return [Entry.Chunk(path: path, offset: 0, length: 0, durable: 0)] + rest
    }
}
