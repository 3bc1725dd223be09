internal import ResumeHTTP

/// The state of one download in a memory store.
struct MemoryPartial: Sendable {
    /// The URL of the last request.
    var url: DownloadURL
    /// The key without selection and variant.
    var name: String
    /// The number of this representation among those of the same download.
    var variant = 1
    /// The requester that the bytes were fetched for, as compared by memory stores; `identity` is for a store on disk.
    var requester = Requester(code: nil, varied: nil)
    var identity: RequestIdentity?
    /// The selected ranges; nil for the whole representation.
    var selection: RangeSelection?
    /// The representation that the bytes belong to; nil before the first response.
    var representation: Representation?
    /// The received bytes; nil before the first response that was used.
    var blob: MemoryBlob?
    /// How many of the bytes are valid.
    var length: Int64 = 0

    /// The key in the store.
    var key: String { Variant.key(DownloadStore.key(name, selection), variant) }

    /// Returns the data that the next request depends on, for a caller with the given access.
    func held(_ access: HeldPartial.Access) -> HeldPartial {
        HeldPartial(representation: representation, length: length, selection: selection, access: access)
    }

    /// Whether all bytes have been received.
    var hasAllBytes: Bool { blob != nil && held(.granted).hasAllBytes }

    /// Whether there is nothing to keep.
    var isEmpty: Bool { length == 0 && !hasAllBytes }
}
