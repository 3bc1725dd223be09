import HTTPTypes

extension Verdict {
    /// Judges a 206 response, which is used only if it is proved to belong to the stored bytes.
    ///
    /// Source: [RFC 9110, 15.3.7](https://www.rfc-editor.org/rfc/rfc9110.html#section-15.3.7): a client must inspect
    /// `Content-Range`, and may combine parts only if they have the same strong validator.
    static func partial(
        _ fields: HTTPFields, range: Plan.RangeRequest, stored: Representation, policy: ResumePolicy,
        in context: AnswerContext = AnswerContext()
    ) -> Verdict {
        if let reason = obstacle(in: fields, policy) { return .askForWhole(reason) }
        var fresh = Representation(fields: fields)
        // An entity tag identifies the bytes whatever else the response depends on; a date does not.
        if fresh.vary == "*", range.validator.map(\.isDate) ?? true, !range.isUnderDigest {
            return .askForWhole(.variesAlways)
        }
        guard case .bytes(let first, let last, let completeLength) = ContentRange(in: fields) else {
            return .askForWhole(.contentRangeInvalid)
        }
        fresh.completeLength = completeLength
        let held = HeldPartial(representation: stored, length: max(range.offset - range.shift, 1))
        if let reason = failure(fresh, fields, held, context) { return .retry(reason) }
        if let reason = difference(of: fresh, fields, from: stored, range: range) { return .askForWhole(reason) }
        if let old = stored.completeLength, let new = completeLength, old != new {
            return .askForWhole(.lengthChanged(from: old, to: new))
        }
        if let known = stored.completeLength, last >= known {
            return .askForWhole(.contentRangeInvalid)
        }
        // Even if it begins at the first missing byte: the requested bytes before it must be compared.
        if first > range.start { return .askForWhole(.gap(expected: range.start, got: first)) }
        // A part that contains no missing bytes is for comparison only. It must extend to the end of the stored bytes,
        // otherwise they would become complete with some bytes uncompared.
        let isAtEnd = completeLength == range.offset || range.end == range.offset
        guard last >= range.offset || isAtEnd && last == range.offset - 1 else {
            return .askForWhole(.noProgress)
        }
        // The fields of the first response are kept (RFC 9110, 15.3.7.3); only the length and the digest are added if
        // they were unknown.
        var representation = stored
        representation.completeLength = stored.completeLength ?? completeLength
        representation.reprDigest = stored.reprDigest ?? fresh.reprDigest
        let offset = range.offset - range.shift
        return .append(
            Continuation(
                from: first, to: last + 1, range: range, representation: representation,
                reason: range.isUnderDigest
                    ? .resumedUnderDigest(at: offset)
                    : range.validator == nil ? .resumedUnvalidated(at: offset) : .resumed(at: offset)))
    }

    /// Returns why a part cannot be used, whatever it belongs to; nil if it can.
    static func obstacle(in fields: HTTPFields, _ policy: ResumePolicy) -> Reason? {
        let types = fields[values: .contentType].map { $0.lowercased() }
        if types.contains(where: { $0.contains("multipart/byteranges") }) { return .multipartResponse }
        if types.count > 1, fields.text(.contentType) == nil { return .contentTypeChanged }
        return isCoded(fields, policy) ? .contentCoded : nil
    }

    /// Returns why a part belongs to another representation than the stored bytes; nil if it belongs to the same one.
    private static func difference(
        of fresh: Representation, _ fields: HTTPFields, from stored: Representation, range: Plan.RangeRequest
    ) -> Reason? {
        if range.isUnderDigest { return nil }
        if let expected = range.validator {
            let validator = validator(in: fields, like: expected)
            guard validator == expected else {
                // The tag of the file in another form, such as a weak one.
                if case .entityTag(let old) = expected, let tag = fresh.entityTag, old != tag, tag.resembles(old) {
                    return .tagAltered(old, tag)
                }
                return .representationChanged(expected, validator)
            }
        } else if let old = stored.entityTag ?? fresh.entityTag, fresh.entityTag != stored.entityTag {
            // Weak tags that differ still show that something changed.
            return .weakTagChanged(old)
        } else if fresh.lastModified != stored.lastModified {
            return .dateChanged
        }
        return stored.contradiction(in: fresh)
    }

    /// Returns the validator of a response to be compared with the expected one.
    ///
    /// A date is used as it is: it was strong when it was stored, and the same text means the same version.
    static func validator(in fields: HTTPFields, like expected: Validator) -> Validator? {
        switch expected {
        case .entityTag:
            let tag = fields.single(.eTag).flatMap { EntityTag($0) }
            return tag?.isStrong == true ? tag.map { .entityTag($0) } : nil
        case .lastModified:
            return fields.text(.lastModified).map { .lastModified($0) }
        }
    }

    /// Whether the fields say that the body is compressed or otherwise coded, and the policy does not accept it.
    static func isCoded(_ fields: HTTPFields, _ policy: ResumePolicy) -> Bool {
        // The transport removes the chunked coding only; other transfer codings would be stored as part of the file.
        if fields.list(.transferEncoding)?.allSatisfy(["", "chunked", "identity"].contains) == false { return true }
        return !policy.accepts(coding: Representation.contentCoding(fields))
    }
}

extension Plan.RangeRequest {
    /// Whether a part has the validator of the request.
    func isSame(as response: HTTPResponse) -> Bool {
        response.status == .partialContent
            && validator.map { Verdict.validator(in: response.headerFields, like: $0) == $0 } ?? true
    }
}

extension Verdict.Continuation {
    /// Creates a continuation from a body, limited to the requested range.
    ///
    /// - Parameters:
    ///   - first: The offset of its first byte in the representation.
    ///   - bodyEnd: The offset of its end, excluded; nil if it is unknown.
    ///   - range: The requested range.
    ///   - representation: The updated metadata of the representation.
    ///   - reason: Why the body may be used.
    init(
        from first: Int64, to bodyEnd: Int64?, range: Plan.RangeRequest, representation: Representation, reason: Reason
    ) {
        let start = max(first, range.first)
        let end = [range.end, bodyEnd].compactMap { $0 }.min()
        // Also if the body ends early: stored bytes after the gap are joined to it only after they were compared.
        let comparedEnd = end == range.end ? range.askedEnd : end
        self.init(
            bodyStart: start - range.shift, offset: range.offset - range.shift, bodyEnd: end.map { $0 - range.shift },
            comparedEnd: comparedEnd.map { $0 - range.shift }, skipped: start - first, goesOn: end != bodyEnd,
            representation: representation, reason: reason)
    }

    /// Creates a continuation for a body that is the whole file, for a new blob.
    init(whole representation: Representation, reason: Reason) {
        self.init(
            bodyStart: 0, offset: 0, bodyEnd: representation.completeLength, representation: representation,
            reason: reason)
    }
}
