public import HTTPTypes

/// What to do with a response, decided from its head alone before a byte of its body is used.
public enum Verdict: Sendable, Hashable {
    /// Use the body as a continuation of what is held.
    case append(Continuation)
    /// Use the body from its first byte on, for a new blob; the old one is of no use any more.
    case startOver(Representation, reason: Reason)
    /// Use a part of the body for a new blob: it has the first of the caller's ranges.
    case startRange(Continuation)
    /// Everything is held already and the server agrees. The body is to be discarded.
    case complete(Representation, reason: Reason)
    /// Discard the body, keep what is held, and ask again for the whole.
    case askForWhole(reason: Reason)
    /// Discard the body, keep what is held, and ask the same again later.
    case retry(reason: Reason, afterSeconds: Int64?)
    /// Discard the body and give up, keeping what is held.
    case refuse(reason: Reason)

    /// How a body continues what is held.
    public struct Continuation: Sendable, Hashable {
        /// Where in the file the body's first byte lies, or the first one after ``skipped``.
        public var bodyStart: Int64
        /// The first byte that is missing: what comes before is compared with what is held, not written.
        public var offset: Int64
        /// Where the body ends, excluded; nil where the answer does not say.
        ///
        /// Surplus bytes are refused, unless ``goesOn``.
        public var bodyEnd: Int64?
        /// How far the body is to be compared with what is held after ``bodyEnd``, which may be further than it comes; no
        /// further than that end, or nil, where nothing is.
        public var comparedEnd: Int64?
        /// How many bytes at the beginning of the body are not wanted.
        public var skipped: Int64 = 0
        /// Whether the body goes on after what is wanted of it.
        public var goesOn = false
        /// Where in the file the body's first byte lies, wanted or not.
        package var firstPosition: Int64 { bodyStart - skipped }
        /// What is known of the representation from now on.
        public var representation: Representation
        /// Why the body may be used.
        public var reason: Reason

        /// A body that is the whole, for a new blob.
        package init(whole representation: Representation, reason: Reason) {
            self.init(
                bodyStart: 0, offset: 0, bodyEnd: representation.completeLength, representation: representation,
                reason: reason)
        }

        init(
            bodyStart: Int64, offset: Int64, bodyEnd: Int64?, comparedEnd: Int64? = nil, skipped: Int64 = 0,
            goesOn: Bool = false, representation: Representation, reason: Reason
        ) {
            self.bodyStart = bodyStart
            self.offset = offset
            self.bodyEnd = bodyEnd
            self.comparedEnd = comparedEnd
            self.skipped = skipped
            self.goesOn = goesOn
            self.representation = representation
            self.reason = reason
        }
    }

    /// Whether the body is to be used; if not, it is to be discarded.
    public var usesBody: Bool { continuation != nil }

    /// How the body is used; nil if it is discarded.
    package var continuation: Continuation? {
        switch self {
        case .append(let continuation), .startRange(let continuation): continuation
        case .startOver(let representation, let reason): Continuation(whole: representation, reason: reason)
        case .complete, .askForWhole, .retry, .refuse: nil
        }
    }

    /// Whether the body replaces what is held.
    package var replaces: Bool { if case .append = self { false } else { usesBody } }

    /// Judges a response.
    ///
    /// A pure function of what was stored, what was asked and what came back.
    ///
    /// - Parameters:
    ///   - response: The response's head; redirects have been followed already.
    ///   - plan: What was asked for.
    ///   - held: What the store holds, the same value that `plan` was made for.
    ///   - policy: On which terms it is continued, the same as for the plan.
    public init(
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

    /// Whether a status says no for now only.
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

    /// 200: the whole file from byte 0, whatever was asked for.
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
        // An answer without a length, chunked or ended by its connection, has that of the same representation: only so
        // is a cut told from its end.
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
        // What made the whole be asked for says more than the comparison does.
        if case .whole(let reason?) = plan, fresh.validator == stored.validator || stored.validator == nil {
            return .startOver(fresh, reason: reason)
        }
        if let weakness = stored.weakness { return .startOver(fresh, reason: weakness) }
        return .startOver(fresh, reason: change(from: stored, to: fresh))
    }

    /// Why a whole answer has other bytes than those that are held.
    static func change(from stored: Representation, to fresh: Representation) -> Reason {
        let contradiction = fresh.validator == stored.validator ? stored.contradiction(in: fresh) : nil
        // A date that is too fresh to validate anything says all the same that the file is another one.
        if contradiction == nil, fresh.validator == nil, let old = stored.lastModified, let new = fresh.lastModified,
            !HTTPDate.isSame(old, new)
        {
            return .dateChanged
        }
        return contradiction ?? .representationChanged(stored.validator, fresh.validator)
    }

    /// Whether a whole answer has the bytes that are held, as far as its fields can tell.
    static func isSame(_ fresh: Representation, as stored: Representation) -> Bool {
        guard let validator = stored.validator, case .entityTag = validator, fresh.validator == validator,
            stored.contradiction(in: fresh) == nil
        else { return false }
        guard let old = stored.completeLength, let new = fresh.completeLength else { return true }
        return old == new
    }

    /// 416: nothing there to send.
    private static func unsatisfiable(_ response: HTTPResponse, plan: Plan, held: HeldPartial) -> Verdict {
        if case .first = plan { return .refuse(reason: .beyondEnd) }
        guard case .range(let range) = plan, let stored = held.representation else {
            return .refuse(reason: reason(response))
        }
        // Complete only where the length is what is held and the answer itself carries the validator. A server
        // that leaves it out is asked for the whole: with the overlap this is met only when a file shrank.
        // What was fetched for another request is compared, which this answer does not allow.
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

    /// A page of HTML without the stored validator where a file of another type is expected.
    static func looksLikePortal(_ fresh: Representation, instead stored: Representation) -> Bool {
        fresh.mediaType == "text/html" && stored.mediaType != nil && stored.mediaType != "text/html"
            && fresh.entityTag == nil && fresh.lastModified == nil && stored.validator != nil
    }
}
