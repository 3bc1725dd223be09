package import HTTPTypes

/// The stored state of a download that the next request depends on.
package struct HeldPartial: Sendable, Hashable {
    /// The representation of the bytes; nil before the first response.
    // A `Representation?` would be made nil and replaced, with copies of the whole value.
    package var representation: Optional<Representation>
    /// The number of contiguous bytes from the first requested one on.
    package var length: Int64
    /// The first range after the first gap; nil if there is none.
    package var nextHeld: Range<Int64>?
    /// The requested ranges of the representation; nil for all of it.
    package var selection: RangeSelection?
    /// Whether the caller may use the bytes.
    package var access: Access
    /// Whether the bytes were received by another program, or from another URL, and were not compared with the server's
    /// file yet.
    package var isUnproved: Bool
    /// Whether only the digest that the caller names proves that what is fetched belongs to the stored bytes.
    package var isUnderDigest = false

    /// Whether a caller may use the stored bytes.
    package enum Access: Sendable, Hashable {
        /// The bytes were fetched with the same request as the caller's, or the server has since confirmed that it
        /// sends them to this caller; complete data needs no request.
        case granted
        /// The bytes were fetched with the same request as the caller's, but the caller wants the server to confirm
        /// them.
        case unconfirmed
        /// The bytes were fetched with a request that may have had other header fields or another URL.
        case foreign
    }

    /// Creates a value from the state of a store.
    package init(
        representation: Representation?, length: Int64, nextHeld: Range<Int64>? = nil, selection: RangeSelection? = nil,
        access: Access = .granted, isUnproved: Bool = false
    ) {
        self.isUnproved = isUnproved
        self.access = access
        self.representation = representation
        self.length = length
        self.nextHeld = nextHeld
        self.selection = selection
    }

    /// Whether no bytes are stored.
    package var isEmpty: Bool { length <= 0 && nextHeld == nil }

    /// The number of requested bytes; nil if it is not known yet.
    package var totalLength: Int64? {
        guard let representation else { return nil }
        guard let selection else { return representation.completeLength }
        return selection.length(completeLength: representation.completeLength)
    }

    /// The offset in the representation minus the offset in the file, for samples of all bytes; nil if several ranges
    /// have different ones.
    var sampleShift: Int64? {
        guard let selection else { return 0 }
        let parts = selection.parts(completeLength: representation?.completeLength) ?? []
        return parts.count == 1 ? parts.first.map { $0.first - $0.position } : nil
    }

    /// Whether every requested byte is stored, which depends on the stored ranges only.
    package var hasAllBytes: Bool { totalLength == length }

    /// Whether every requested byte is stored, and the caller may use them without a request.
    package var isComplete: Bool { hasAllBytes && access == .granted && !isUnproved }
}

/// The next request of a download, decided before anything is sent.
package enum Plan: Sendable, Hashable {
    /// Request the whole file; `reason` says why stored bytes are not resumed, if there are any.
    case whole(reason: Reason?)
    /// Request the first of the caller's ranges; `reason` as above.
    case first(RangeSelection.Element, reason: Reason?)
    /// Request the rest of the file, or of one of the caller's ranges.
    case range(RangeRequest)
    /// Request nothing: all bytes are stored.
    case complete

    /// A request for the bytes from `start` on.
    package struct RangeRequest: Sendable, Hashable {
        /// The first requested byte: a few KiB before the first missing one, to be compared with the stored bytes.
        package var start: Int64
        /// The first byte that is missing.
        package var offset: Int64
        /// The end of the missing bytes, excluded; nil for the end of the representation.
        package var end: Int64?
        /// The number of stored bytes after `end` that are requested as well, to be compared.
        var tail: Int64 = 0
        /// How the server compares the validator.
        package var condition: ResumePolicy.Condition
        /// The validator that the server compares and the response must have; nil only if the policy allows that.
        package var validator: Validator?
        /// The first byte of the caller's range; 0 if the whole file is requested.
        package var first: Int64 = 0
        /// The offset in the representation minus the offset in the file.
        var shift: Int64 = 0
        /// Whether the digest that the caller names proves the response, whatever validators say.
        var isUnderDigest = false
        /// Whether the validator is not sent, because the server ignores ranges under a condition.
        var isUnconditional = false
    }

    /// Decides what to request.
    ///
    /// - Parameters:
    ///   - held: The state of the store.
    ///   - policy: The conditions for resuming.
    ///   - avoidsRange: If not nil, requests the whole file whatever is stored, because resuming failed for this
    ///     reason.
    package init(for held: HeldPartial, policy: ResumePolicy = ResumePolicy(), avoidsRange: Reason? = nil) {
        if held.isComplete {
            self = .complete
            return
        }
        guard !held.isEmpty, let representation = held.representation else {
            self = .anew(held, nil)
            return
        }
        // A digest of the whole file is an identity, whatever validators say.
        let byDigest = policy.hasProof && (held.isUnderDigest || representation.validator == nil)
        let validator = byDigest ? nil : representation.validator
        if held.isUnproved {
            // The request loop compares samples first.
            self = .anew(held, avoidsRange ?? .notProved)
        } else if !byDigest, validator == nil, held.access == .foreign || held.hasAllBytes {
            // Without a validator, other requests must not use the bytes.
            self = .anew(held, .notShared)
        } else if !byDigest, validator == nil, !policy.allowsUnvalidated {
            self = .anew(held, representation.weakness)
        } else if let avoidsRange {
            self = .anew(held, avoidsRange)
        } else if let selection = held.selection {
            self = Self.continuing(selection, of: representation, by: validator, held: held, policy: policy)
        } else if held.hasAllBytes {
            // The last bytes are compared: a response with the same validator shows that the server sends the bytes to
            // this caller too.
            self = .range(
                RangeRequest(
                    start: max(held.length - max(policy.overlap, 1), 0), offset: held.length, end: held.length,
                    condition: policy.condition, validator: validator))
        } else if held.length <= policy.overlap(for: validator), held.nextHeld == nil || validator == nil {
            self = .anew(held, .tooLittleHeld)
        } else {
            // A gap at the very beginning has no bytes before it to compare, so there only the validator proves that it
            // fits.
            let overlap = max(policy.overlap(for: validator), 0)
            self = .range(
                RangeRequest(
                    start: max(held.length - overlap, 0), offset: held.length, end: held.nextHeld?.lowerBound,
                    tail: min(overlap, held.nextHeld?.length ?? 0), condition: policy.condition, validator: validator))
        }
        if byDigest, case .range(var range) = self {
            range.isUnderDigest = true
            self = .range(range)
        }
    }

    /// Requests everything from its first byte on.
    private static func anew(_ held: HeldPartial, _ reason: Reason?) -> Plan {
        // A selection is never empty.
        held.selection?.elements.first.map { .first($0, reason: reason) } ?? .whole(reason: reason)
    }

    /// Requests the rest of the range that has the first missing byte.
    private static func continuing(
        _ selection: RangeSelection, of representation: Representation, by validator: Validator?, held: HeldPartial,
        policy: ResumePolicy
    ) -> Plan {
        let parts = selection.parts(completeLength: representation.completeLength) ?? []
        guard let part = parts.last(where: { $0.position <= held.length }) else {
            return .anew(held, representation.completeLength == nil ? .completeLengthUnknown : .beyondEnd)
        }
        // More bytes than requested, as in a damaged row; calculations with them could overflow.
        guard held.length - part.position < part.count || held.hasAllBytes else {
            return .anew(held, .moreHeldThanWanted)
        }
        let shift = part.first - part.position
        let offset = held.length + shift
        let wanted = max(policy.overlap(for: validator), held.hasAllBytes ? 1 : 0)
        let overlap = min(wanted, offset - part.first)
        // Without a validator, only the overlap shows that the file is the same.
        guard validator != nil || policy.hasProof || overlap >= ResumePolicy.unvalidatedOverlap else {
            return .anew(held, .tooLittleHeld)
        }
        let end = held.nextHeld.map { min($0.lowerBound + shift, part.end) } ?? part.end
        return .range(
            RangeRequest(
                start: offset - overlap, offset: offset, end: end,
                tail: min(wanted, held.nextHeld?.length ?? 0, part.end - end), condition: policy.condition,
                validator: validator, first: part.first, shift: shift))
    }

    /// The plan with `If-Range` instead of a preceding HEAD request, for use after an unknown ``HeadVerdict``.
    package var conditional: Plan {
        guard case .range(var range) = self, range.condition == .head else { return self }
        range.condition = .ifRange
        return .range(range)
    }

    /// The header fields of the request; they replace the caller's fields with the same names.
    ///
    /// They request `identity`, since offsets into a compressed stream do not apply to the file. To receive coded bytes
    /// (``ResumePolicy/storesCoded``), set `Accept-Encoding` after these fields.
    package var fields: HTTPFields {
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

    /// Whether the request has an `If-Range` field.
    var hasIfRange: Bool { if case .range(let range) = self { range.conditionField?.name == .ifRange } else { false } }

    /// The fields that a caller may not set, because the plan sets them.
    package static let ownedFieldNames: [HTTPField.Name] = [
        .range, .ifRange, .acceptEncoding, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
    ]
}

extension Plan.RangeRequest {
    /// The end of the requested bytes, excluded.
    var askedEnd: Int64? { end.map { $0.addingReportingOverflow(tail).overflow ? $0 : $0 + tail } }

    /// The field that makes the server compare the validator; nil if there is none.
    fileprivate var conditionField: HTTPField? {
        guard let validator, !isUnconditional else { return nil }
        switch (condition, validator) {
        case (.head, _): return nil
        case (.ifRange, _): return HTTPField(name: .ifRange, value: validator.fieldValue)
        case (.ifMatch, .entityTag): return HTTPField(name: .ifMatch, value: validator.fieldValue)
        case (.ifMatch, .lastModified): return HTTPField(name: .ifUnmodifiedSince, value: validator.fieldValue)
        }
    }
}
