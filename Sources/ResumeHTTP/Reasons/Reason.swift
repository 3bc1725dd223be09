/// Why a download was resumed, started over, retried or abandoned.
///
/// The code is for programs and does not change between releases; the text is for people.
public struct Reason: Sendable, Hashable {
    /// The stable name of a reason, as stored and as in JSON output.
    public struct Code: RawRepresentable, ExpressibleByStringInterpolation, Sendable, Hashable {
        /// The name, in lower case with hyphens.
        public var rawValue: String

        /// Wraps a stored name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Wraps a name in the source.
        public init(stringLiteral name: String) { rawValue = name }

        // Codes that decisions compare, and those of several texts. Each other code is named once, with its text.
        package static let resumedUnderDigest: Code = "resumed-under-digest"
        package static let resumedUnvalidated: Code = "resumed-unvalidated"
        static let rangeGap: Code = "range-gap"
        static let entityTagChanged: Code = "entity-tag-changed"
        static let lastModifiedChanged: Code = "last-modified-changed"
        static let samplesDiffer: Code = "spot-check-differs"
        package static let digestMismatch: Code = "digest-mismatch"
        package static let tooLarge: Code = "too-large"
        package static let evicted: Code = "evicted"
        package static let purged: Code = "purged"
        package static let cancelledRemoved: Code = "cancelled-removed"
        /// An origin serves no more downloads at a time.
        package static let noFurtherConnection: Code = "no-further-connection"
        package static let clientDecodes: Code = "client-decodes"
        /// An error that is not described otherwise.
        package static let failed: Code = "failed"
    }

    /// The stable name.
    public var code: Code
    /// The explanation, one or two sentences.
    public var text: String
    /// What is known besides the code, for decisions and for whoever adds a sentence to the text.
    ///
    /// A stored reason has none.
    package var facts: Set<Fact> = []
    /// What to do about an error, which the table separates from its text by ` || `; otherwise empty.
    package private(set) var advice = ""

    /// What is known besides the code.
    package enum Fact: Sendable {
        /// The received bytes are kept.
        case isKept
        /// The request was refused, but one with other credentials or another URL may not be.
        case isRefusal
        /// The server sends nothing that validates the received bytes.
        case lacksValidator
        /// The authority of a certificate is not trusted; the caller may trust it.
        case isUntrusted
        /// The server has another file, and not only a response that is of no use.
        case isChange
        /// The response contradicts the stored or the delivered file.
        case isContradiction
    }

    /// Creates a reason.
    public init(code: Code, text: String) {
        self.code = code
        self.text = text
    }

    package init(_ code: Code, _ text: String, _ facts: Set<Fact> = []) {
        self.init(code: code, text: text)
        self.facts = facts
    }

    /// Creates a reason whose text is a line of `reasons.txt`, after its code; each `%` there stands for a value.
    package init(_ code: Code, _ facts: Set<Fact> = [], with values: (any CustomStringConvertible)...) {
        let texts = WordTable.texts(of: code.rawValue, values)
        self.init(code, texts.first ?? "", facts)
        advice = texts.dropFirst().first ?? ""
    }

    /// Compares the codes and texts.
    public static func == (left: Reason, right: Reason) -> Bool { left.code == right.code && left.text == right.text }

    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    /// The text without a final full stop, to be continued in a sentence.
    package var clause: String { text.hasSuffix(".") ? String(text.dropLast()) : text }
}

extension Reason: CustomStringConvertible {
    /// The text.
    public var description: String { text }
}

// Why partial data cannot be continued by a range request.
extension Reason {
    static let noValidator = Reason("no-validator", [.lacksValidator])
    static let weakEntityTag = Reason("weak-entity-tag")
    static let unquotedEntityTag = Reason("unquoted-entity-tag")
    static let dateTooFresh = Reason("date-too-fresh")
    static let dateUnusable = Reason("date-unusable", [.lacksValidator])
    static let tooLittleHeld = Reason("too-little-held")
    static let notShared = Reason("not-shared")
    /// For bytes of another program or from another URL, before samples were compared.
    package static let notProved = Reason("not-proved")
    static let rangeFailsRepeatedly = Reason("range-fails-repeatedly")

    // Why a response was or was not used to continue a download.

    static func resumed(at offset: Int64) -> Reason { Reason("resumed", with: offset) }

    /// Only the digest that the caller names proves that the file is the same.
    package static func resumedUnderDigest(at offset: Int64) -> Reason {
        Reason(.resumedUnderDigest, with: offset)
    }

    /// Only the comparison of bytes proves that the file is the same.
    static func resumedUnvalidated(at offset: Int64) -> Reason {
        Reason(.resumedUnvalidated, with: offset)
    }

    /// For bytes that were passed on and are not stored.
    package static let sentAgain = Reason("sent-again")
    package static let prefixKept = Reason("prefix-kept")

    static func representationChanged(_ old: Validator?, _ new: Validator?) -> Reason {
        switch (old, new) {
        case (.entityTag(let old), .entityTag(let new)) where old != new:
            Reason(.entityTagChanged, [.isChange], with: old, new)
        case (.lastModified(let old), .lastModified(let new)) where old != new:
            Reason(.lastModifiedChanged, sentence("date-changed", old, new), [.isChange])
        case (.some(let old), .none):
            Reason("validator-missing", with: old)
        case (.none, _):
            .noValidator
        default:
            Reason("whole-sent")
        }
    }

    static func lengthChanged(from old: Int64, to new: Int64) -> Reason {
        Reason("length-changed", [.isChange], with: old, new)
    }

    static let contentTypeChanged = Reason("content-type-changed")
    static let digestChanged = Reason("digest-changed", [.isChange])
    static let digestsConflict = Reason("digests-conflict")
    static func tagAltered(_ old: EntityTag, _ new: EntityTag) -> Reason {
        Reason("entity-tag-altered", with: new, old)
    }
    package static let olderVersion = Reason("older-version")
    package static func fetchedAgain(_ count: Int64) -> Reason {
        Reason("ranges-refused", with: count)
    }
    static let contentRangeInvalid = Reason("content-range-invalid")
    package static func unstable(_ last: Reason) -> Reason {
        Reason("unstable", last.facts, with: last.text)
    }
    package static let endedEarly = Reason("ended-early")
    static let multipartResponse = Reason("multipart-answer")
    static let contentCoded = Reason("content-coded")
    static func codingChanged(from old: String?, to new: String?) -> Reason {
        Reason("coding-changed", with: encoding(old), encoding(new))
    }

    private static func encoding(_ coding: String?) -> String {
        coding.map { "encoded as \(Printable.escaped($0))" } ?? "not encoded"
    }

    static let moreHeldThanWanted = Reason("more-held-than-wanted")

    /// Encoded bytes are stored, but the caller requests the unencoded file.
    package static let codedHeld = Reason("coded-held")
    static let variesAlways = Reason("varies-always")

    static func gap(expected: Int64, got: Int64) -> Reason {
        Reason(.rangeGap, with: got, expected)
    }

    static func weakTagChanged(_ old: EntityTag) -> Reason {
        Reason(.entityTagChanged, "the file changed on the server: its ETag is no longer \(old)", [.isChange])
    }

    static let dateChanged = Reason(.lastModifiedChanged, [.isChange])
    static let dateContradictsTag = Reason("validators-disagree", [.isChange])
    package static let noProgress = Reason("range-without-progress")

    /// The overlap, or the beginning of a complete response, differs from the stored bytes.
    package static func heldBytesDiffer(at offset: Int64) -> Reason {
        Reason("held-bytes-differ", with: offset)
    }

    static let wholeForSegment = Reason("whole-for-segment")
    static let partCutShort = Reason("segment-cut-short")
    static let contentDigestOfPart = Reason("segment-digest")
    static let preconditionFailed = Reason("precondition-failed")
    static let rangeNotSatisfiable = Reason("range-not-satisfiable")
    static let beyondEnd = Reason("range-beyond-end")
    static let rangesNeedValidator = Reason("ranges-need-validator")
    static let completeLengthUnknown = Reason("complete-length-unknown")
    package static let headFails = Reason("head-fails")
    static let headUnanswered = Reason("head-unanswered")
    static let rangeRejected = Reason("range-rejected")

    /// A download began without stored bytes.
    package static let firstRequest = Reason("first-request")

    /// The caller requested to start over.
    package static let restartRequested = Reason("restart-requested")

    // Why a response is not used, temporarily or permanently.

    static let notModifiedWithOtherTag = Reason("not-modified-with-other-tag")
    static let unsolicitedRange = Reason("unsolicited-range")
    static let notAResource = Reason("not-the-file")

    // What samples have shown, and where bytes came from.

    static func samplesDiffer(at offset: Int64) -> Reason {
        Reason(.samplesDiffer, sentence("samples-differ", offset))
    }

    package static func samplesAgree(_ count: Int) -> Reason { Reason("samples-agree", with: count) }

    /// The samples of another address, or of another caller's request, differ.
    static let otherFile = Reason(.samplesDiffer)
    static let samplesUnanswered = Reason("spot-check-unanswered")

    /// The stored bytes were received over a connection of another kind.
    static func trustChanged(from old: String, to new: String) -> Reason {
        Reason("trust-changed", with: old, new)
    }

    /// The same address, requested with other credentials or fields.
    package static let otherRequest = Reason("other-request")

    /// A part from another address than that of the stream beside it.
    package static let otherAddressOfPart = Reason("other-address-of-part")

    /// A response from another address than the one of the stored bytes; paths, which may be secret, are left out.
    static func otherAddress(_ old: String, _ new: String) -> Reason {
        Reason("other-address", with: old, old == new ? "another address there" : new)
    }
}
