/// Bytes that lie together in a blob.
package protocol Extent {
    /// Where they begin.
    var offset: Int64 { get }
    /// How many there are.
    var length: Int64 { get }
}

extension Extent {
    /// Where they end, excluded; the numbers of a planted row do not trap.
    package var end: Int64 { offset.addingSaturating(length) }

    /// Where they lie.
    package var range: Range<Int64> { offset..<max(offset, end) }
}

extension Array where Element: Extent {
    /// Those, in order of their offsets, that do not lie over an earlier one, which nobody but a planted row has.
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

/// Parts of one blob, in order of their offsets.
extension Array where Element: Extent {
    /// The end of the bytes from 0 on without a gap.
    package var contiguousEnd: Int64 { current?.end ?? 0 }

    /// The part that is written next: the last one of those that adjoin from offset 0 on.
    var current: Element? {
        var current: Element?
        for chunk in self {
            guard chunk.offset == (current?.end ?? 0) else { break }
            current = chunk
        }
        return current
    }

    /// The bytes that are held after the first gap that lies at or behind an offset; nil where none are.
    func nextHeld(after offset: Int64) -> Range<Int64>? {
        extents.first { $0.lowerBound > offset }
    }

    /// The ranges of bytes, without the borders between parts that adjoin.
    var extents: [Range<Int64>] {
        reduce(into: []) { extents, part in
            guard part.length > 0 else { return }
            if let last = extents.last, last.upperBound == part.offset {
                extents[extents.count - 1] = last.lowerBound..<part.range.upperBound
            } else {
                extents.append(part.range)
            }
        }
    }

    /// How many bytes there are.
    package var heldBytes: Int64 { reduce(0) { $0.addingSaturating($1.length) } }
}

extension [Entry.Chunk] {
    /// The same bytes in fewer parts: one that adjoins another goes into it where no claim is lost by that.
    var joined: [Entry.Chunk] {
        reduce(into: []) { chunks, chunk in
            guard let last = chunks.last else { return chunks.append(chunk) }
            if chunk.length == 0 { return }
            guard last.end == chunk.offset, last.durable == last.length || chunk.durable == 0 else {
                return chunks.append(chunk)
            }
            if last.durable == last.length {
                chunks[chunks.count - 1].durable = last.durable.addingSaturating(chunk.durable)
            }
            chunks[chunks.count - 1].length = last.length.addingSaturating(chunk.length)
        }
    }

    /// Only what survives a power loss.
    var durable: [Entry.Chunk] {
        map { chunk in
            var chunk = chunk
            chunk.length = Swift.min(chunk.length, chunk.durable)
            return chunk
        }.normalized
    }

    /// What is left without a range: a part in which it lies becomes two.
    package func removing(_ range: Range<Int64>) -> [Entry.Chunk] {
        flatMap { chunk -> [Entry.Chunk] in
            let end = chunk.end
            let durableEnd = chunk.offset.addingSaturating(chunk.durable)
            guard range.lowerBound < end, range.upperBound > chunk.offset, !range.isEmpty else { return [chunk] }
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

    /// Without empty parts, but for the one that begins at the first byte, which is always there.
    private var normalized: [Entry.Chunk] {
        guard let path = first?.path else { return [] }
        let rest = filter { $0.length > 0 }
        if let first = rest.first, first.offset == 0 { return rest }
        return [Entry.Chunk(path: path, offset: 0, length: 0, durable: 0)] + rest
    }
}
