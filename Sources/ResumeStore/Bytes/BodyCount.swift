/// What the bodies of a transfer have shown about the server, as a value.
struct BodyCount {
    /// How many have begun.
    private(set) var begun = 0
    /// The number of stored bytes before the last one.
    private var before: Int64 = 0
    /// How many in a row ended exactly at the end of a gap, so that no overlap was compared.
    ///
    /// One that the server ended there itself counts twice.
    private var uncompared = 0
    /// Whether the file was combined from several responses without a validator; nil if only the log can tell.
    var isSpliced: Bool?

    /// Whether responses end exactly where bytes are stored behind a gap, as from a server that sends aligned blocks.
    ///
    /// Those bytes are never compared then, and the gap remains.
    var asksForWhole: Bool { uncompared > 1 }

    /// Begins with the next body.
    mutating func begin(after received: Int64) {
        before = received
        begun += 1
    }

    /// Counts a body that ended.
    ///
    /// - Parameters:
    ///   - received: The number of stored bytes after it.
    ///   - isAtBorder: Whether it ended where bytes behind it should have been compared.
    ///   - isCut: Whether it ended early: the next one may get further.
    mutating func end(at received: Int64, isAtBorder: Bool, isCut: Bool) {
        uncompared = isAtBorder && received <= before ? uncompared + (isCut ? 1 : 2) : 0
    }

    /// Begins anew with other stored bytes.
    mutating func forget() { (uncompared, isSpliced) = (0, nil) }
}
