public import HTTPTypes

/// What a download holds so far, as far as the next request depends on it.
public struct HeldPartial: Sendable, Hashable {
    /// What the bytes belong to; nil before the first response.
    public var representation: Representation?
    /// How many bytes are held from the first wanted one on, without a gap.
    public var length: Int64
    /// What is held after the first gap; nil where nothing is.
    public var nextHeld: Range<Int64>?
    /// What is wanted of the representation; nil for all of it.
    public var selection: RangeSelection?
    /// Whether the caller may have the bytes.
    public var access: Access

    /// Whether a caller may have what is held.
    public enum Access: Sendable, Hashable {
        /// The bytes were fetched with the very request of this caller, or the server has confirmed since that it sends
        /// them to this caller: complete data needs no request.
        case granted
        /// The bytes were fetched with the very request of this caller, who wants the server asked all the same.
        case unconfirmed
        /// The bytes were fetched with another request: what was in its fields or in its URL is not known to be the same.
        case foreign
    }

    /// Makes a value from what a store holds.
    public init(
        representation: Representation?, length: Int64, nextHeld: Range<Int64>? = nil, selection: RangeSelection? = nil,
        access: Access = .granted
    ) {
        self.access = access
        self.representation = representation
        self.length = length
        self.nextHeld = nextHeld
        self.selection = selection
    }

    /// Whether nothing is held.
    public var isEmpty: Bool { length <= 0 && nextHeld == nil }

    /// How many bytes are wanted; nil where that is not known yet.
    public var totalLength: Int64? {
        guard let representation else { return nil }
        guard let selection else { return representation.completeLength }
        return selection.length(completeLength: representation.completeLength)
    }

    /// Whether every wanted byte is held.
    ///
    /// Only coverage means that.
    public var hasAllBytes: Bool { totalLength == length }

    /// Whether every wanted byte is held, and the caller may have them without a request.
    public var isComplete: Bool { hasAllBytes && access == .granted }
}

/// The next request for a download, decided before anything is sent.
public enum Plan: Sendable, Hashable {
    /// Ask for the whole, since nothing is held or nothing can prove the rest; `reason` where bytes are held.
    case whole(reason: Reason?)
    /// Ask for the first of the caller's ranges, for the same reasons.
    case first(RangeSelection.Element, reason: Reason?)
    /// Ask for the rest, or for the rest of one of the caller's ranges.
    case range(RangeRequest)
    /// Nothing to ask for: all bytes are held.
    case complete

    /// A request for the bytes from `start` on.
    public struct RangeRequest: Sendable, Hashable {
        /// The first byte asked for: a few KiB before the first missing one, to be compared with what is held.
        public var start: Int64
        /// The first byte that is missing.
        public var offset: Int64
        /// The end of what is missing, excluded; nil for the end of the representation.
        public var end: Int64?
        /// How many bytes after that are asked for as well, to be compared with what is held there.
        public var tail: Int64 = 0
        /// How the server is asked to compare.
        public var condition: ResumePolicy.Condition
        /// What the server is asked to compare, and what its answer must carry; nil only where the caller allows that.
        public var validator: Validator?
        /// The first byte of the caller's range; 0 where the whole is wanted.
        var first: Int64 = 0
        /// How far the representation's offsets lie behind those of the file.
        var shift: Int64 = 0
    }

    /// Decides what to ask for.
    ///
    /// - Parameters:
    ///   - held: What the store holds.
    ///   - policy: On which terms it is continued.
    ///   - avoidsRange: Asks for all of it whatever is held, after an answer that made a continuation pointless.
    public init(for held: HeldPartial, policy: ResumePolicy = ResumePolicy(), avoidsRange: Reason? = nil) {
        if held.isComplete {
            self = .complete
            return
        }
        guard !held.isEmpty, let representation = held.representation else {
            self = .anew(held, nil)
            return
        }
        let validator = representation.validator
        if validator == nil, held.access == .foreign || held.hasAllBytes {
            // Bytes that nothing names are nobody else's.
            self = .anew(held, .notShared)
        } else if validator == nil, !policy.allowsUnvalidated {
            self = .anew(held, representation.weakness)
        } else if let avoidsRange {
            self = .anew(held, avoidsRange)
        } else if !representation.acceptsRanges {
            self = .anew(held, .rangesNotAccepted)
        } else if let selection = held.selection {
            self = Self.continuing(selection, of: representation, held: held, policy: policy)
        } else if held.hasAllBytes {
            self = .confirming(length: held.length, validator: validator, policy: policy)
        } else if held.length <= policy.overlap(for: validator), held.nextHeld == nil || validator == nil {
            self = .anew(held, .tooLittleHeld)
        } else {
            // A gap at the very beginning has nothing before it to compare: there the validator is all the evidence.
            let overlap = max(policy.overlap(for: validator), 0)
            self = .range(
                RangeRequest(
                    start: max(held.length - overlap, 0), offset: held.length, end: held.nextHeld?.lowerBound,
                    tail: min(overlap, held.nextHeld?.length ?? 0), condition: policy.condition, validator: validator))
        }
    }

    /// Everything from its first byte on.
    private static func anew(_ held: HeldPartial, _ reason: Reason?) -> Plan {
        // A selection is never empty.
        held.selection?.elements.first.map { .first($0, reason: reason) } ?? .whole(reason: reason)
    }

    /// The last bytes of what is all there, to be compared: an answer with the same validator shows that the server has
    /// these bytes for this caller too.
    private static func confirming(length: Int64, validator: Validator?, policy: ResumePolicy) -> Plan {
        let start = max(length - max(policy.overlap, 1), 0)
        return .range(
            RangeRequest(start: start, offset: length, end: length, condition: policy.condition, validator: validator))
    }

    /// The rest of the range in which the first missing byte lies.
    private static func continuing(
        _ selection: RangeSelection, of representation: Representation, held: HeldPartial, policy: ResumePolicy
    ) -> Plan {
        let parts = selection.parts(completeLength: representation.completeLength) ?? []
        guard let part = parts.last(where: { $0.position <= held.length }) else {
            return .anew(held, representation.completeLength == nil ? .completeLengthUnknown : .beyondEnd)
        }
        // More than is wanted, as in a damaged row: sums with it would overflow.
        guard held.length - part.position < part.count || held.hasAllBytes else {
            return .anew(held, .moreHeldThanWanted)
        }
        let shift = part.first - part.position
        let offset = held.length + shift
        let wanted = max(policy.overlap(for: representation.validator), held.hasAllBytes ? 1 : 0)
        let overlap = min(wanted, offset - part.first)
        // Without a validator nothing but the overlap shows that the file is the same.
        guard representation.validator != nil || policy.hasDigest || overlap >= ResumePolicy.unvalidatedOverlap else {
            return .anew(held, .tooLittleHeld)
        }
        let end = held.nextHeld.map { min($0.lowerBound + shift, part.end) } ?? part.end
        return .range(
            RangeRequest(
                start: offset - overlap, offset: offset, end: end,
                tail: min(wanted, held.nextHeld?.length ?? 0, part.end - end), condition: policy.condition,
                validator: representation.validator, first: part.first, shift: shift))
    }

    /// The same with `If-Range` in place of a HEAD before it.
    ///
    /// For a ``HeadVerdict`` that tells nothing.
    public var conditional: Plan {
        guard case .range(var range) = self, range.condition == .head else { return self }
        range.condition = .ifRange
        return .range(range)
    }

    /// The fields that the request must carry.
    ///
    /// They replace the caller's own of the same names.
    ///
    /// Identity is asked for, since offsets into a compressed stream mean nothing for the file; whoever wants coded bytes
    /// (``ResumePolicy/storesCoded``) sets `Accept-Encoding` after these.
    public var fields: HTTPFields {
        var fields = HTTPFields()
        fields[.acceptEncoding] = "identity"
        switch self {
        case .whole, .complete: break
        case .first(let element, _): fields[.range] = "bytes=\(element.text)"
        case .range(let range):
            fields[.range] = "bytes=\(range.start)-\(range.askedEnd.map { "\($0 - 1)" } ?? "")"
            if let condition = range.conditionField { fields.append(condition) }
        }
        return fields
    }

    /// The fields that a caller may not set: the plan decides on them.
    public static let ownedFieldNames: [HTTPField.Name] = [
        .range, .ifRange, .acceptEncoding, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
    ]
}

extension Plan.RangeRequest {
    /// The end of what is asked for, excluded.
    var askedEnd: Int64? { end.map { $0.addingReportingOverflow(tail).overflow ? $0 : $0 + tail } }

    /// The field that makes the server compare; nil where it is not asked to.
    fileprivate var conditionField: HTTPField? {
        guard let validator else { return nil }
        switch (condition, validator) {
        case (.head, _): return nil
        case (.ifRange, _): return HTTPField(name: .ifRange, value: validator.fieldValue)
        case (.ifMatch, .entityTag): return HTTPField(name: .ifMatch, value: validator.fieldValue)
        case (.ifMatch, .lastModified): return HTTPField(name: .ifUnmodifiedSince, value: validator.fieldValue)
        }
    }
}
