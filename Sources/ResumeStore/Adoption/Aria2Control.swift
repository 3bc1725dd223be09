import ResumeFiles

/// The control file of aria2: which pieces of a file are finished.
///
/// Source: [aria2, Control File Format](https://aria2.github.io/manual/en/html/technical-notes.html). Version 1 has its
/// numbers in network byte order; version 0, in the order of the machine, is not read.
struct Aria2Control: Sendable, Hashable {
    /// The length of the file.
    let totalLength: Int64
    /// The finished pieces, in order; adjoining ones are joined.
    ///
    /// The first ones if there are too many for an entry.
    let finished: [Range<Int64>]

    /// The largest control file that is read, with room for 2^27 pieces.
    static let longest = 16 << 20
    /// The position of the fields behind the info hash.
    private static let fixed = 10

    /// Reads a control file; nil if it does not have the format.
    init?(_ bytes: [UInt8]) {
        guard bytes.number(at: 0, count: 2) == 1, let hashLength = bytes.number(at: 6, count: 4),
            hashLength <= Int64(bytes.count)
        else { return nil }
        let start = Self.fixed + Int(hashLength)
        guard let pieceLength = bytes.number(at: start, count: 4), pieceLength > 0,
            let total = bytes.number(at: start + 4, count: 8), total > 0, total < Int64.max - (1 << 32),
            let fieldLength = bytes.number(at: start + 20, count: 4),
            fieldLength <= Int64(bytes.count - (start + 24))
        else { return nil }
        let pieces = (total - 1) / pieceLength + 1
        guard fieldLength == (pieces - 1) / 8 + 1 else { return nil }
        let field = bytes[(start + 24)..<(start + 24 + Int(fieldLength))]
        totalLength = total
        finished = Self.ranges(of: field, pieces: pieces, pieceLength, upTo: total)
    }

    private static func ranges(
        of field: ArraySlice<UInt8>, pieces: Int64, _ pieceLength: Int64, upTo total: Int64
    ) -> [Range<Int64>] {
        var ranges: [Range<Int64>] = []
        var piece: Int64 = 0
        for byte in field {
            for bit in 0..<8 where piece < pieces {
                if byte & (0x80 >> bit) != 0 {
                    let start = piece * pieceLength
                    ranges.append(joining: start..<min(start + pieceLength, total))
                    if ranges.count > ForeignExtents.most { return ranges.dropLast() }
                }
                piece += 1
            }
        }
        return ranges
    }
}

extension [UInt8] {
    /// Reads a number; nil if it is cut off or has more than 63 bits.
    func number(at offset: Int, count: Int, isReversed: Bool = false) -> Int64? {
        guard offset >= 0, count <= self.count, offset <= self.count - count else { return nil }
        let bytes = Array(self[offset..<offset + count])
        return Int64(exactly: (isReversed ? bytes.reversed() : bytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
