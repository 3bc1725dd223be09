/// A payload step in progress: cuts a range of content into pieces and returns the wait after each.
struct Payload {
    /// How fast the pieces follow each other.
    enum Pace {
        /// As fast as they are accepted.
        case unlimited

        /// With a wait between them.
        case interval(Duration)

        /// A number of bytes per second, at least 1.
        case rate(Int)
    }

    /// The bytes of one write.
    struct Piece {
        var bytes: [UInt8]

        /// How many of the bytes are payload, not framing.
        var payloadCount = 0
    }

    /// The size of the pieces unless a smaller one is requested.
    static let pieceSize = 64 * 1024

    /// How many pieces are written at a time, so that one turn of the loop sends more.
    private static let burst = 4

    /// The number of pieces per second at a limited rate, so that the rate is even.
    private static let piecesPerSecond = 50

    /// How much a limited rate may catch up after a delay, so that a stalled client gets no burst.
    private static let tolerance = Duration.milliseconds(100)

    private let content: Content
    private let end: Int64
    private let chunkSize: Int64?
    private let pieceSize: Int64
    private let pace: Pace
    private var next: Int64
    private var chunkLeft: Int64 = 0
    private var due: ContinuousClock.Instant?

    /// Creates the payload of a step.
    ///
    /// - Parameter step: The step; the result is `nil` if it has no payload.
    init?(_ step: Step) {
        let range: Range<Int64>
        switch step {
        case .body(let content, let part):
            (self.content, range, chunkSize, pieceSize, pace) = (content, part, nil, Int64(Self.pieceSize), .unlimited)
        case .chunked(let content, let part, let size):
            (self.content, range, chunkSize) = (content, part, Int64(max(1, size)))
            (pieceSize, pace) = (Int64(Self.pieceSize), .unlimited)
        case .trickle(let content, let part, let bytesPerStep, let milliseconds):
            (self.content, range, chunkSize, pieceSize) = (content, part, nil, Int64(max(1, bytesPerStep)))
            pace = .interval(.milliseconds(max(0, milliseconds)))
        case .limitedRate(let content, let part, let bytesPerSecond):
            (self.content, range, chunkSize) = (content, part, nil)
            let isLimited = bytesPerSecond > 0
            let piece = isLimited ? min(Self.pieceSize, max(1, bytesPerSecond / Self.piecesPerSecond)) : Self.pieceSize
            (pieceSize, pace) = (Int64(piece), isLimited ? .rate(bytesPerSecond) : .unlimited)
        case .head, .raw, .lastChunk, .pause, .gate, .wait, .drain, .hold, .close, .reset:
            return nil
        }
        let present = range.clamped(to: content.all)
        (next, end) = (present.lowerBound, present.upperBound)
    }

    /// Returns the pieces that are written at a time: several at full speed, one otherwise.
    ///
    /// - Returns: The pieces, none at the end of the range.
    mutating func nextPieces() -> [Piece] {
        guard case .unlimited = pace, chunkSize == nil else { return nextPiece().map { [$0] } ?? [] }
        var pieces: [Piece] = []
        while pieces.count < Self.burst, let piece = nextPiece() { pieces.append(piece) }
        return pieces
    }

    /// Returns the next piece.
    ///
    /// - Returns: The piece, `nil` at the end of the range.
    private mutating func nextPiece() -> Piece? {
        guard next < end else { return nil }
        var piece = Piece(bytes: [])
        if let chunkSize, chunkLeft == 0 {
            chunkLeft = min(chunkSize, end - next)
            piece.bytes = Array((String(chunkLeft, radix: 16) + "\r\n").utf8)
        }
        let count = min(pieceSize, end - next, chunkSize == nil ? .max : chunkLeft)
        piece.bytes += content.bytes(in: next..<next + count)
        piece.payloadCount = Int(count)
        next += count
        if chunkSize != nil {
            chunkLeft -= count
            if chunkLeft == 0 { piece.bytes += [0x0D, 0x0A] }
        }
        return piece
    }

    /// Returns when the next piece may be sent, once the socket has accepted a piece.
    ///
    /// - Parameters:
    ///   - count: The number of payload bytes of the piece.
    ///   - now: The time.
    /// - Returns: The wait; zero if none is necessary, also after the last piece.
    mutating func delay(after count: Int, now: ContinuousClock.Instant) -> Duration {
        guard next < end else { return .zero }
        switch pace {
        case .unlimited:
            return .zero
        case .interval(let interval):
            return interval
        case .rate(let bytesPerSecond):
            let share = Duration.seconds(Double(count) / Double(bytesPerSecond))
            let due = max(self.due ?? now, now - Self.tolerance) + share
            self.due = due
            return max(.zero, due - now)
        }
    }
}
