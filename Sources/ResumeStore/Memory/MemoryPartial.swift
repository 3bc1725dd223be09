internal import ResumeHTTP

/// One download as a memory store holds it.
struct MemoryPartial: Sendable {
    /// What it was last asked for by.
    var url: DownloadURL
    /// What names it, but for the selection.
    var name: String
    /// What of the representation is wanted; nil for all of it.
    var selection: RangeSelection?
    /// What the bytes belong to; nil before the first response.
    var representation: Representation?
    /// The bytes; nil before the first response that was used.
    var blob: MemoryBlob?
    /// How many of them count.
    var length: Int64 = 0

    /// What the next request depends on.
    var held: HeldPartial {
        HeldPartial(representation: representation, length: length, selection: selection)
    }

    /// Whether every byte is there.
    var isComplete: Bool { blob != nil && held.isComplete }

    /// Whether there is nothing to keep.
    var isEmpty: Bool { length == 0 && !isComplete }
}
