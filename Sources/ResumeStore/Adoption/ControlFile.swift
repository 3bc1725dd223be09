import ResumeHTTP

extension ForeignPartial {
    /// What a program has recorded beside a file: which of its ranges are finished.
    struct ControlFile: Hashable {
        /// The length of the file; nil if it is not recorded.
        var totalLength: Int64?
        /// The finished ranges, in order; adjoining ones are joined.
        let finished: [Range<Int64>]

        /// A program, and what it appends to the name of a file for that of its control file.
        struct Format {
            let program: ForeignPartial.Program
            let suffix: String
            let read: @Sendable ([UInt8]) -> ControlFile?
        }

        static let formats = [
            Format(program: .aria2, suffix: ".aria2") { ControlFile(aria2: $0) },
            Format(program: .axel, suffix: ".st") { ControlFile(axel: $0) },
        ]
        /// The largest control file that is read, with room for 2^27 pieces of aria2.
        static let longest: Int64 = 16 << 20
    }
}

extension ForeignPartial.ControlFile {
    /// The position of the fields behind the info hash of aria2.
    private static let fixed = 10

    /// Reads a control file of aria2; nil if it does not have the format.
    ///
    /// Source: [aria2, Control File Format](https://aria2.github.io/manual/en/html/technical-notes.html). Version 1 has
    /// its numbers in network byte order; version 0, in the order of the machine, is not read. Of more pieces than an
    /// entry can have, the first ones are returned.
    init?(aria2 bytes: [UInt8]) {
        guard bytes.number(at: 0, count: 2) == 1, let hashLength = bytes.number(at: 6, count: 4),
            hashLength <= Int64(bytes.count)
        else { return nil }
        let start = Self.fixed + Int(hashLength)
        let field = start + 24
        guard let pieceLength = bytes.number(at: start, count: 4), pieceLength > 0,
            let total = bytes.number(at: start + 4, count: 8), total > 0, total < Int64.max - (1 << 32),
            let fieldLength = bytes.number(at: start + 20, count: 4), fieldLength <= Int64(bytes.count - field)
        else { return nil }
        let pieces = (total - 1) / pieceLength + 1
        guard fieldLength == (pieces - 1) / 8 + 1 else { return nil }
        var finished: [Range<Int64>] = []
        for piece in 0..<pieces where bytes[field + Int(piece / 8)] & (0x80 >> UInt8(piece % 8)) != 0 {
            let offset = piece * pieceLength
            finished.append(joining: offset..<min(offset + pieceLength, total))
            if finished.count > ForeignPartial.Extents.most { break }
        }
        totalLength = total
        self.finished = Array(finished.prefix(ForeignPartial.Extents.most))
    }

    /// Reads a state file of axel; nil if it does not have the format.
    ///
    /// Source: `save_state` in axel's `src/axel.c`. It has the number of connections, the number of received bytes, and
    /// for each connection its position and its end, in the byte order of the machine, which is taken to be
    /// little-endian. The files of releases before 2.17.2 have no ends and are not read.
    init?(axel bytes: [UInt8]) {
        // The number of connections has 16 bits, formerly 32.
        let width = [2, 4].first { width in
            let count = bytes.number(at: 0, count: width, isReversed: true) ?? 0
            return (1...65_535).contains(count) && bytes.count == width + 8 + 16 * Int(count)
        }
        guard let width else { return nil }
        var missing: [Range<Int64>] = []
        var end: Int64 = 0
        for place in stride(from: width + 8, to: bytes.count, by: 16) {
            guard let position = bytes.number(at: place, count: 8, isReversed: true),
                let last = bytes.number(at: place + 8, count: 8, isReversed: true), last < Int64.max
            else { return nil }
            end = max(end, last)
            // In some releases the end is the last byte, in others the byte after it.
            if position < last { missing.append(position..<last + 1) }
        }
        finished = missing.gaps(upTo: end)
    }
}

extension [UInt8] {
    /// Reads a number; nil if it is cut off or has more than 63 bits.
    fileprivate func number(at offset: Int, count: Int, isReversed: Bool = false) -> Int64? {
        let bytes = Array(dropFirst(offset).prefix(count))
        guard bytes.count == count else { return nil }
        return Int64(exactly: (isReversed ? bytes.reversed() : bytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
