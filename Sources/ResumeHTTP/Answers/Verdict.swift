package import HTTPTypes

/// What to do with a response, decided from its head alone before any of its body is used.
package enum Verdict: Sendable, Hashable {
    /// Use the body to continue the stored bytes.
    case append(Continuation)
    /// Store the body in a new blob; the old blob is no longer used.
    case startOver(Representation, Reason)
    /// Store a part of the body, the first of the caller's ranges, in a new blob.
    case startRange(Continuation)
    /// Discard the body: all bytes are stored and the server has the same file.
    case complete(Representation, Reason)
    /// Discard the body, keep the stored bytes, and request the whole file.
    case askForWhole(Reason)
    /// Discard the body, keep the stored bytes, and repeat the request later.
    case retry(Reason, afterSeconds: Int64? = nil)
    /// Discard the body, keep the stored bytes, and stop.
    case refuse(Reason)

    /// How a body continues the stored bytes.
    package struct Continuation: Sendable, Hashable {
        /// The offset in the file of the first byte of the body, after ``skipped`` bytes.
        package var bodyStart: Int64
        /// The offset of the first missing byte; bytes before it are compared with the stored ones, not written.
        package var offset: Int64
        /// The offset of the end of the body, excluded; nil if it is unknown.
        ///
        /// Additional bytes are an error, unless ``goesOn``.
        package var bodyEnd: Int64?
        /// The end of the stored bytes that must be compared after ``bodyEnd``, which may be more than the body
        /// contains.
        ///
        /// There are none if it is nil or not greater than ``bodyEnd``.
        package var comparedEnd: Int64?
        /// The number of bytes at the beginning of the body that are not requested.
        package var skipped: Int64 = 0
        /// Whether the body continues after the requested bytes.
        package var goesOn = false
        /// The offset in the file of the first byte of the body, including bytes that are skipped.
        package var firstPosition: Int64 { bodyStart - skipped }
        /// The updated metadata of the representation.
        package var representation: Representation
        /// Why the body may be used.
        package var reason: Reason
    }

    /// Whether the body must be used; if not, it must be discarded.
    package var usesBody: Bool { continuation != nil }

    /// How the body is used; nil if it is discarded.
    package var continuation: Continuation? {
        switch self {
        case .append(let continuation), .startRange(let continuation): continuation
        case .startOver(let representation, let reason): Continuation(whole: representation, reason: reason)
        case .complete, .askForWhole, .retry, .refuse: nil
        }
    }

    /// Whether the body replaces the stored bytes.
    package var replaces: Bool { if case .append = self { false } else { usesBody } }

    /// Whether the body comes again, to be compared with what was passed on.
    var sendsAgain: Bool { continuation?.reason == .sentAgain }

    /// The verdict for a transfer that has passed on its first bytes and cannot compare them one by one: a whole body is
    /// received anew.
    package var withoutPrefix: Verdict {
        guard case .append(var continuation) = self, continuation.reason == .prefixKept, continuation.bodyStart == 0
        else { return self }
        continuation.offset = 0
        continuation.reason = .sentAgain
        return .startRange(continuation)
    }

    /// The verdict if the stored bytes are of another resource than a whole body that begins as they do.
    package func replacing(by response: HTTPResponse) -> Verdict {
        guard case .append = self else { return self }
        // The length of the stored bytes proves nothing.
        return .startOver(Representation(startedBy: response), .otherRequest)
    }

    /// Judges a response.
    ///
    /// The result depends only on the stored state, the request and the response.
    ///
    /// - Parameters:
    ///   - response: The response's head; redirects have been followed already.
    ///   - plan: The request.
    ///   - held: The state of the store, the same value that `plan` was made for.
    ///   - policy: The conditions for resuming, the same as for the plan.
    ///   - context: What else is known of the response and of earlier ones.
    package init(
        for response: HTTPResponse, to plan: Plan, held: HeldPartial, policy: ResumePolicy = ResumePolicy(),
        in context: AnswerContext = AnswerContext()
    ) {
        let fields = response.headerFields
        let timing = ResponseTiming(response)
        let asksForRange = if case .range = plan { true } else { false }
        switch response.status.code {
        case 200 where Self.isWhole(response), 203 where Self.isWhole(response):
            self = Self.whole(response, plan: plan, held: held, policy: policy, context)
        case 200 where ContentRange(in: fields) == nil, 203:
            // It may be a part of the file.
            let reason = Reason.contentRangeInvalid
            self = asksForRange ? .askForWhole(reason) : .retry(reason)
        case 200, 206:
            switch (plan, held.representation, held.selection) {
            case (.range(let range), let stored?, _):
                self = Self.partial(fields, range: range, stored: stored, policy: policy, in: context)
            case (.first, _, let selection?):
                self = Self.firstPart(response, of: selection, held: held, policy: policy)
            default:
                self = .refuse(.unsolicitedRange)
            }
        case 416:
            self = Self.unsatisfiable(response, plan: plan, held: held)
        case 412:
            self = asksForRange ? .askForWhole(.preconditionFailed) : .refuse(.status(of: response))
        case 400 where asksForRange:
            self = .askForWhole(.rangeRejected)
        case _ where timing.isTemporary:
            self = .retry(.status(of: response), afterSeconds: timing.afterSeconds)
        case let code where asksForRange && ![401, 407].contains(code):
            // The plain file may be sent although its ranges are refused.
            self = .askForWhole(.status(of: response))
        case 100..<400:
            self = .refuse(.status(of: response, otherwise: .notAResource))
        default:
            self = .refuse(.status(of: response))
        }
        if let length = policy.completeLength { require(length) }
    }

    /// Refuses a file of another length than the caller knows.
    private mutating func require(_ length: Int64) {
        let found: Representation? =
            if case .complete(let stored, _) = self { stored } else { continuation?.representation }
        if let other = found?.completeLength, other != length {
            self = .refuse(Reason("other-length", with: other, length))
        }
    }

    /// Judges a 200 or 203 response, which is the whole file from byte 0 whatever was requested.
    private static func whole(
        _ response: HTTPResponse, plan: Plan, held: HeldPartial, policy: ResumePolicy, _ context: AnswerContext
    ) -> Verdict {
        let fields = response.headerFields
        guard !isCoded(fields, policy) else { return .refuse(.contentCoded) }
        let fresh = Representation(startedBy: response)
        var context = context
        if case .range(let range) = plan, range.start > 0,
            let end = range.askedEnd ?? held.representation?.completeLength
        {
            context.rest = end - range.start
        }
        if let reason = failure(fresh, fields, held, context) { return .retry(reason) }
        if let selection = held.selection {
            return wholeForRange(fresh, of: selection, plan: plan, held: held, policy: policy)
        }
        guard !held.isEmpty, let stored = held.representation else {
            return .startOver(fresh, .firstRequest)
        }
        // Recorded bytes beyond the end of the file, as in a damaged row, are never continued.
        if isSame(fresh, as: stored), held.length <= fresh.completeLength ?? stored.completeLength ?? .max {
            // A response without a length (chunked, or ended by the connection) has the stored length, if that is
            // known; otherwise truncation could not be detected.
            var same = fresh
            same.completeLength = fresh.completeLength ?? stored.completeLength
            let length = same.completeLength ?? .max
            let end = min(held.nextHeld?.lowerBound ?? length, length)
            let tail = min(max(policy.overlap(for: stored.validator), 0), held.nextHeld?.length ?? 0, length - end)
            return .append(
                Continuation(
                    bodyStart: 0, offset: held.length, bodyEnd: end == .max ? nil : end,
                    comparedEnd: end == .max ? nil : end + tail, goesOn: held.nextHeld != nil, representation: same,
                    reason: .prefixKept))
        }
        if let old = stored.completeLength, let new = fresh.completeLength, old != new,
            fresh.validator == stored.validator
        {
            return .startOver(fresh, .lengthChanged(from: old, to: new))
        }
        // The reason for requesting the whole file is more helpful than the result of the comparison.
        if case .whole(let reason?) = plan,
            [nil, fresh.validator].contains(stored.validator) || reason.code == .samplesDiffer
        {
            return .startOver(fresh, reason)
        }
        if let weakness = stored.weakness { return .startOver(fresh, weakness) }
        return .startOver(fresh, change(from: stored, to: fresh))
    }

    /// Returns why a response is a failure for now; nil if it may be used.
    static func failure(
        _ fresh: Representation, _ fields: HTTPFields, _ held: HeldPartial, _ context: AnswerContext
    ) -> Reason? {
        contradiction(of: fresh, with: held, in: context)?.reason(in: context)
            ?? (Representation.hasConflictingDigests(fields) ? .digestsConflict : nil)
    }

    /// Returns how a response contradicts the stored or the delivered file, unless it is believed.
    package static func contradiction(
        of fresh: Representation, with held: HeldPartial, in context: AnswerContext
    ) -> Contradiction? {
        let held = context.replaced ?? held
        let stored = held.isEmpty ? context.delivered : held.representation
        let found =
            stored.flatMap {
                Contradiction(of: fresh, with: $0, held: held.selection == nil ? held.length : 0, in: context)
            }
            // Stored bytes may be a page themselves, which a digest has not matched; a delivered page was wanted.
            ?? (held.isEmpty && stored != nil ? nil : Contradiction(of: fresh, in: context))
        return found.flatMap { context.believes($0, of: fresh) ? nil : $0 }
    }

    /// Returns why a complete response does not have the same bytes as the stored ones.
    static func change(from stored: Representation, to fresh: Representation) -> Reason {
        let contradiction = fresh.validator == stored.validator ? stored.contradiction(in: fresh) : nil
        // A date that is too recent to be a validator still shows that the file changed.
        if contradiction == nil, fresh.validator == nil, let old = stored.lastModified, let new = fresh.lastModified,
            !HTTPDate.isSame(old, new)
        {
            return .dateChanged
        }
        return contradiction ?? .representationChanged(stored.validator, fresh.validator)
    }

    /// Whether a complete response has the same bytes as the stored ones, as far as its fields can tell.
    static func isSame(_ fresh: Representation, as stored: Representation) -> Bool {
        guard let validator = stored.validator, case .entityTag = validator, fresh.validator == validator,
            stored.contradiction(in: fresh) == nil
        else { return false }
        guard let old = stored.completeLength, let new = fresh.completeLength else { return true }
        return old == new
    }

    /// Judges a 416 response: the requested range does not exist.
    private static func unsatisfiable(_ response: HTTPResponse, plan: Plan, held: HeldPartial) -> Verdict {
        if case .first = plan { return .refuse(.beyondEnd) }
        guard case .range(let range) = plan, let stored = held.representation else {
            return .refuse(.status(of: response))
        }
        // Complete only if the range begins at the end of the file, the stored bytes have the reported length, and the
        // response has the validator. A server that refuses a range inside the file refuses ranges. Bytes fetched with
        // another request must be compared, which this response does not allow.
        if held.selection == nil, held.access != .foreign, let validator = range.validator,
            case .unsatisfied(let length) = ContentRange(in: response.headerFields), length == range.offset,
            range.start >= length, stored.completeLength.map({ $0 == length }) ?? true,
            self.validator(in: response.headerFields, like: validator) == validator
        {
            var complete = stored
            complete.completeLength = length
            return .complete(complete, .resumed(at: length))
        }
        return .askForWhole(.rangeNotSatisfiable)
    }
}
