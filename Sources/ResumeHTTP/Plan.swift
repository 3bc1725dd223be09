public import HTTPTypes

/// What a download holds so far, as far as the next request depends on it.
public struct HeldPartial: Sendable, Hashable {
    /// What the bytes belong to; nil before the first response.
    public var representation: Representation?
    /// How many bytes are held from byte 0 on, without a gap.
    public var length: Int64

    /// Makes a value from what a store holds.
    public init(representation: Representation?, length: Int64) {
        self.representation = representation
        self.length = length
    }

    /// Whether every byte of the known complete length is held.
    ///
    /// Only coverage means complete.
    public var isComplete: Bool {
        guard let complete = representation?.completeLength else { return false }
        return length == complete
    }
}

/// The next request for a download, decided before anything is sent.
public enum Plan: Sendable, Hashable {
    /// Ask for the whole, since nothing is held or nothing can prove the rest; `reason` where bytes are held.
    case whole(reason: Reason?)
    /// Ask for the rest.
    case range(RangeRequest)
    /// Nothing to ask for: all bytes are held.
    case complete

    /// A request for the bytes from `start` on.
    public struct RangeRequest: Sendable, Hashable {
        /// The first byte asked for: a few KiB before the first missing one, to be compared with what is held.
        public var start: Int64
        /// The first byte that is missing.
        public var offset: Int64
        /// What the server is asked to compare, and what its answer must carry.
        public var validator: Validator
    }

    /// How many bytes before the first missing one are asked for again and compared.
    ///
    /// nginx and Caddy give different bytes the same strong entity tag when a file is replaced within a
    /// second; aiohttp and moto answer 206 whatever `If-Range` says.
    public static let defaultOverlap: Int64 = 4096

    /// Decides what to ask for.
    ///
    /// - Parameters:
    ///   - held: What the store holds.
    ///   - overlap: Bytes to fetch again and compare; 0 turns it off.
    ///   - avoidsRange: Asks for the whole whatever is held, after an answer that made a range pointless.
    public init(for held: HeldPartial, overlap: Int64 = Plan.defaultOverlap, avoidsRange: Reason? = nil) {
        if held.isComplete {
            self = .complete
            return
        }
        guard held.length > 0, let representation = held.representation else {
            self = .whole(reason: nil)
            return
        }
        guard let validator = representation.validator else {
            self = .whole(reason: representation.weakness)
            return
        }
        if let avoidsRange {
            self = .whole(reason: avoidsRange)
        } else if !representation.acceptsRanges {
            self = .whole(reason: .rangesNotAccepted)
        } else if held.length <= overlap {
            self = .whole(reason: .tooLittleHeld)
        } else {
            self = .range(
                RangeRequest(start: held.length - max(overlap, 0), offset: held.length, validator: validator))
        }
    }

    /// The fields that the request must carry.
    ///
    /// They replace the caller's own of the same names.
    ///
    /// Identity is asked for, since offsets into a compressed stream mean nothing for the file.
    public var fields: HTTPFields {
        var fields = HTTPFields()
        fields[.acceptEncoding] = "identity"
        if case .range(let range) = self {
            fields[.range] = "bytes=\(range.start)-"
            fields.append(HTTPField(name: .ifRange, value: range.validator.fieldValue))
        }
        return fields
    }

    /// The fields that a caller may not set: the plan decides on them.
    public static let ownedFieldNames: [HTTPField.Name] = [
        .range, .ifRange, .acceptEncoding, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
    ]
}
