internal import HTTPTypes

extension Verdict {
    /// 206: a part, to be used only with evidence on both sides.
    ///
    /// Source: [RFC 9110, 15.3.7](https://www.rfc-editor.org/rfc/rfc9110.html#section-15.3.7): a client must
    /// look at `Content-Range`, and may combine parts only if they share a strong validator.
    static func partial(
        _ fields: HTTPFields, range: Plan.RangeRequest, stored: Representation, policy: ResumePolicy
    ) -> Verdict {
        if let reason = obstacle(in: fields, policy) { return .askForWhole(reason: reason) }
        if Representation(fields: fields).vary == "*" { return .askForWhole(reason: .variesAlways) }
        guard case .bytes(let first, let last, let completeLength) = ContentRange(in: fields) else {
            return .askForWhole(reason: .contentRangeInvalid)
        }
        if let reason = difference(of: fields, from: stored, range: range) { return .askForWhole(reason: reason) }
        if let old = stored.completeLength, let new = completeLength, old != new {
            return .askForWhole(reason: .lengthChanged(from: old, to: new))
        }
        if let known = stored.completeLength, last >= known {
            return .askForWhole(reason: .contentRangeInvalid)
        }
        // Also where it begins at the first missing byte, but what was asked for before that is to be compared.
        if first > range.start { return .askForWhole(reason: .gap(expected: range.start, got: first)) }
        // Everything up to the end of what is held may be there only to be compared, where that is the end; a part that
        // ends before would leave bytes uncompared and yet make them complete.
        let isAtEnd = completeLength == range.offset || range.end == range.offset
        guard last >= range.offset || isAtEnd && last == range.offset - 1 else {
            return .askForWhole(reason: .noProgress)
        }
        // The fields of the first response are kept (RFC 9110, 15.3.7.3); only the length may be learned.
        var representation = stored
        representation.completeLength = stored.completeLength ?? completeLength
        let offset = range.offset - range.shift
        return .append(
            Continuation(
                from: first, to: last + 1, range: range, representation: representation,
                reason: range.validator == nil ? .resumedUnvalidated(at: offset) : .resumed(at: offset)))
    }

    /// What a part can be of no use for, whatever it belongs to.
    static func obstacle(in fields: HTTPFields, _ policy: ResumePolicy) -> Reason? {
        let types = fields[values: .contentType].map { $0.lowercased() }
        if types.contains(where: { $0.contains("multipart/byteranges") }) { return .multipartAnswer }
        if types.count > 1, Representation(fields: fields).contentType == nil { return .contentTypeChanged }
        return isCoded(fields, policy) ? .contentCoded : nil
    }

    /// Why a part belongs to another representation than the one that is held; nil where it belongs to that.
    private static func difference(
        of fields: HTTPFields, from stored: Representation, range: Plan.RangeRequest
    ) -> Reason? {
        let answer = Representation(fields: fields)
        if let expected = range.validator {
            let validator = validator(in: fields, like: expected)
            guard validator == expected else { return .representationChanged(expected, validator) }
        } else if let old = stored.entityTag ?? answer.entityTag, answer.entityTag != stored.entityTag {
            // Weak as they are, tags that differ still say that something changed.
            return .weakTagChanged(old)
        } else if answer.lastModified != stored.lastModified {
            return .dateChanged
        }
        return stored.contradiction(in: answer)
    }

    /// What a 206 or 416 offers to be compared with the validator that was asked for.
    ///
    /// A date counts here as it stands: it was strong when it was stored, and the same text means the same state.
    static func validator(in fields: HTTPFields, like expected: Validator) -> Validator? {
        switch expected {
        case .entityTag:
            guard case .value(let bytes) = SingletonField(.eTag, in: fields), let tag = EntityTag(bytes), !tag.isWeak
            else { return nil }
            return .entityTag(tag)
        case .lastModified:
            return SingletonField(.lastModified, in: fields).text.map { .lastModified($0) }
        }
    }

    /// Whether the body is compressed or otherwise coded, by what its fields say, and must not be.
    static func isCoded(_ fields: HTTPFields, _ policy: ResumePolicy) -> Bool {
        let transferCodings = fields[values: .transferEncoding].flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        // The transport takes chunks off and nothing else: other transfer codings would be stored as the file.
        if transferCodings.contains(where: { !$0.isEmpty && $0 != "chunked" && $0 != "identity" }) { return true }
        return !policy.storesCoded && Representation.contentCoding(fields) != nil
    }
}

extension Verdict.Continuation {
    /// A body that continues a range, as far as it is wanted.
    ///
    /// - Parameters:
    ///   - first: Where its first byte lies in the representation.
    ///   - bodyEnd: Where it ends there, excluded; nil where that is not known.
    ///   - range: What is wanted.
    ///   - representation: What is known from now on.
    ///   - reason: Why the body may be used.
    init(
        from first: Int64, to bodyEnd: Int64?, range: Plan.RangeRequest, representation: Representation, reason: Reason
    ) {
        let start = max(first, range.first)
        let end = [range.end, bodyEnd].compactMap { $0 }.min()
        // Also where the body ends sooner: what is held behind it follows on it only once it was compared.
        let comparedEnd = end == range.end ? range.askedEnd : end
        self.init(
            bodyStart: start - range.shift, offset: range.offset - range.shift, bodyEnd: end.map { $0 - range.shift },
            comparedEnd: comparedEnd.map { $0 - range.shift }, skipped: start - first, goesOn: end != bodyEnd,
            representation: representation, reason: reason)
    }
}
