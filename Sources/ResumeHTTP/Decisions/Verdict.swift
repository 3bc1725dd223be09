package import HTTPTypes

/// What to do with a response, decided from its head alone before any of its body is used.
package enum Verdict: Sendable, Hashable {
    /// Use the body to continue the stored bytes.
    case append(Continuation)
    /// Store the body in a new blob; the old blob is no longer used.
    case startOver(Representation, reason: Reason)
    /// Store a part of the body, the first of the caller's ranges, in a new blob.
    case startRange(Continuation)
    /// Discard the body: all bytes are stored and the server has the same file.
    case complete(Representation, reason: Reason)
    /// Discard the body, keep the stored bytes, and request the whole file.
    case askForWhole(reason: Reason)
    /// Discard the body, keep the stored bytes, and repeat the request later.
    case retry(reason: Reason, afterSeconds: Int64?)
    /// Discard the body, keep the stored bytes, and stop.
    case refuse(reason: Reason)

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
    package var sendsAgain: Bool { replaces && continuation?.reason == .sentAgain }

    /// The verdict for a transfer that has passed on its first bytes and cannot compare them one by one: a whole body is
    /// received anew.
    package var withoutPrefix: Verdict {
        guard case .append(var continuation) = self, continuation.reason == .prefixKept, continuation.bodyStart == 0
        else { return self }
        (continuation.offset, continuation.reason) = (0, .sentAgain)
        return .startRange(continuation)
    }

    /// The verdict if the stored bytes are of another resource than a whole body that begins as they do.
    package var replacing: Verdict {
        guard case .append(let use) = self else { return self }
        return .startOver(use.representation, reason: .otherRequest)
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
    package init(
        for response: HTTPResponse, to plan: Plan, held: HeldPartial, policy: ResumePolicy = ResumePolicy()
    ) {
        let fields = response.headerFields
        let asksForRange = if case .range = plan { true } else { false }
        switch response.status.code {
        case 200, 203:
            self = Self.whole(response, plan: plan, held: held, policy: policy)
        case 206:
            switch (plan, held.representation, held.selection) {
            case (.range(let range), let stored?, _):
                self = Self.partial(fields, range: range, stored: stored, policy: policy)
            case (.first, _, let selection?):
                self = Self.firstPart(response, of: selection, held: held, policy: policy)
            default:
                self = .refuse(reason: .unsolicitedRange)
            }
        case 416:
            self = Self.unsatisfiable(response, plan: plan, held: held)
        case 412:
            self = asksForRange ? .askForWhole(reason: .preconditionFailed) : .refuse(reason: Self.reason(response))
        case 400 where asksForRange:
            self = .askForWhole(reason: .rangeRejected)
        case let code where Self.isForNow(code):
            self = .retry(reason: Self.reason(response), afterSeconds: RetryAfter.seconds(in: fields))
        case 100..<400:
            self = .refuse(reason: Self.reason(response, otherwise: .notAResource))
        default:
            self = .refuse(reason: Self.reason(response))
        }
    }

    /// Whether a status is a temporary failure.
    static func isForNow(_ code: Int) -> Bool {
        switch code {
        case 408, 425, 429, 500, 502, 503, 504, 507, 509, 520...599: true
        default: false
        }
    }

    static func reason(_ response: HTTPResponse, otherwise: Reason? = nil) -> Reason {
        var reason = Reason.status(response.status.code, Printable.escaped(response.status.reasonPhrase))
        if let otherwise { reason.text += "; " + otherwise.text }
        return reason
    }

    /// Judges a 200 or 203 response, which is the whole file from byte 0 whatever was requested.
    private static func whole(
        _ response: HTTPResponse, plan: Plan, held: HeldPartial, policy: ResumePolicy
    ) -> Verdict {
        let fields = response.headerFields
        guard !isCoded(fields, policy) else { return .refuse(reason: .contentCoded) }
        let fresh = Representation(startedBy: response)
        if let selection = held.selection {
            return wholeForRange(fresh, of: selection, plan: plan, held: held, policy: policy)
        }
        guard !held.isEmpty, let stored = held.representation else {
            return .startOver(fresh, reason: .firstRequest)
        }
        if looksLikePortal(fresh, instead: stored) {
            return .retry(reason: .portal, afterSeconds: nil)
        }
        // A response without a length (chunked, or ended by the connection) has the stored length if it is the same
        // representation; otherwise truncation could not be detected.
        if let length = fresh.completeLength ?? stored.completeLength, length >= held.length,
            isSame(fresh, as: stored)
        {
            var same = fresh
            same.completeLength = length
            let end = min(held.nextHeld?.lowerBound ?? length, length)
            return .append(
                Continuation(
                    bodyStart: 0, offset: held.length, bodyEnd: end,
                    comparedEnd: end
                        + min(max(policy.overlap(for: stored.validator), 0), held.nextHeld?.length ?? 0, length - end),
                    goesOn: held.nextHeld != nil, representation: same, reason: .prefixKept))
        }
        if let old = stored.completeLength, let new = fresh.completeLength, old != new,
            fresh.validator == stored.validator
        {
            return .startOver(fresh, reason: .lengthChanged(from: old, to: new))
        }
        // The reason for requesting the whole file is more helpful than the result of the comparison.
        if case .whole(let reason?) = plan, fresh.validator == stored.validator || stored.validator == nil {
            return .startOver(fresh, reason: reason)
        }
        if let weakness = stored.weakness { return .startOver(fresh, reason: weakness) }
        return .startOver(fresh, reason: change(from: stored, to: fresh))
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
        if case .first = plan { return .refuse(reason: .beyondEnd) }
        guard case .range(let range) = plan, let stored = held.representation else {
            return .refuse(reason: reason(response))
        }
        // Complete only if the stored bytes have the reported length and the response has the validator. If it does
        // not, the whole file is requested; because of the overlap, that happens only if a file became shorter. Bytes
        // fetched with another request must be compared, which this response does not allow.
        if held.selection == nil, held.access != .foreign, let validator = range.validator,
            case .unsatisfied(let length) = ContentRange(in: response.headerFields), length == range.offset,
            stored.completeLength.map({ $0 == length }) ?? true,
            self.validator(in: response.headerFields, like: validator) == validator
        {
            var complete = stored
            complete.completeLength = length
            return .complete(complete, reason: .resumed(at: length))
        }
        return .askForWhole(reason: .rangeNotSatisfiable)
    }

    /// Whether a response is HTML without a validator, while a file of another type with a validator is stored.
    static func looksLikePortal(_ fresh: Representation, instead stored: Representation) -> Bool {
        fresh.mediaType == "text/html" && stored.mediaType != nil && stored.mediaType != "text/html"
            && fresh.entityTag == nil && fresh.lastModified == nil && stored.validator != nil
    }
}

extension Verdict.Continuation {
    /// Creates a continuation for a body that is the whole file, for a new blob.
    package init(whole representation: Representation, reason: Reason) {
        self.init(
            bodyStart: 0, offset: 0, bodyEnd: representation.completeLength, representation: representation,
            reason: reason)
    }
}
