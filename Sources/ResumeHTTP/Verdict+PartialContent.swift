internal import HTTPTypes

extension Verdict {
    /// 206: a part, to be used only with evidence on both sides.
    ///
    /// Source: [RFC 9110, 15.3.7](https://www.rfc-editor.org/rfc/rfc9110.html#section-15.3.7): a client must
    /// look at `Content-Range`, and may combine parts only if they share a strong validator.
    static func partial(_ fields: HTTPFields, range: Plan.RangeRequest, stored: Representation) -> Verdict {
        let answer = Representation(fields: fields)
        let types = fields[values: .contentType].map { $0.lowercased() }
        if types.contains(where: { $0.contains("multipart/byteranges") }) {
            return .askForWhole(reason: .multipartAnswer)
        }
        if types.count > 1, answer.contentType == nil { return .askForWhole(reason: .contentTypeChanged) }
        if isCoded(fields) { return .askForWhole(reason: .contentCoded) }
        if variesAlways(fields) { return .askForWhole(reason: .variesAlways) }
        guard case .bytes(let first, let last, let completeLength) = ContentRange(in: fields) else {
            return .askForWhole(reason: .contentRangeInvalid)
        }
        let validator = validator(in: fields, like: range.validator)
        guard validator == range.validator else {
            return .askForWhole(reason: .representationChanged(range.validator, validator))
        }
        if let old = stored.completeLength, let new = completeLength, old != new {
            return .askForWhole(reason: .lengthChanged(from: old, to: new))
        }
        if let known = stored.completeLength, last >= known {
            return .askForWhole(reason: .contentRangeInvalid)
        }
        if let old = stored.reprDigest, let new = answer.reprDigest, old != new {
            return .askForWhole(reason: .digestChanged)
        }
        if let old = stored.mediaType, let new = answer.mediaType, old != new {
            return .askForWhole(reason: .contentTypeChanged)
        }
        if first > range.offset { return .askForWhole(reason: .gap(expected: range.offset, got: first)) }
        // Everything up to the end of what is held may be there only to be compared, where that is the end.
        guard last >= range.offset || completeLength == range.offset else {
            return .askForWhole(reason: .noProgress)
        }
        // The fields of the first response are kept (RFC 9110, 15.3.7.3); only the length may be learned.
        var representation = stored
        representation.completeLength = stored.completeLength ?? completeLength
        return .append(
            Continuation(
                bodyStart: first, offset: range.offset, bodyEnd: last + 1, representation: representation,
                reason: .resumed(at: range.offset)))
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

    /// Whether the body is compressed or otherwise coded, by what its fields say.
    static func isCoded(_ fields: HTTPFields) -> Bool {
        let transferCodings = fields[values: .transferEncoding].flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        // The transport takes chunks off and nothing else: other transfer codings would be stored as the file.
        if transferCodings.contains(where: { !$0.isEmpty && $0 != "chunked" && $0 != "identity" }) { return true }
        return fields[values: .contentEncoding]
            .flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            .contains { !$0.isEmpty && $0 != "identity" }
    }

    /// Whether the fields say `Vary: *`.
    static func variesAlways(_ fields: HTTPFields) -> Bool {
        fields[values: .vary].contains {
            $0.split(separator: ",").contains { $0.filter { $0 != " " && $0 != "\t" } == "*" }
        }
    }
}
