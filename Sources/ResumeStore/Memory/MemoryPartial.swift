internal import ResumeHTTP

/// One download as a memory store holds it.
struct MemoryPartial: Sendable {
    /// What it was last asked for by.
    var url: DownloadURL
    /// What names it, but for the selection and the variant.
    var name: String
    /// Which of the representations of its download it is.
    var variant = 1
    /// For whom the bytes were fetched, as a store of this kind compares it, and as a store on disk will.
    var requester = Requester(code: nil, varied: nil)
    var identity: RequestIdentity?
    /// What of the representation is wanted; nil for all of it.
    var selection: RangeSelection?
    /// What the bytes belong to; nil before the first response.
    var representation: Representation?
    /// The bytes; nil before the first response that was used.
    var blob: MemoryBlob?
    /// How many of them count.
    var length: Int64 = 0

    /// What names it in the store.
    var key: String { Variant.key(DownloadStore.key(name, selection), variant) }

    /// What the next request depends on, for a caller who may have it, or not yet.
    func held(_ access: HeldPartial.Access) -> HeldPartial {
        HeldPartial(representation: representation, length: length, selection: selection, access: access)
    }

    /// Whether every byte is there.
    var hasAllBytes: Bool { blob != nil && held(.granted).hasAllBytes }

    /// Whether there is nothing to keep.
    var isEmpty: Bool { length == 0 && !hasAllBytes }
}
