/// Why something was decided: why a download was resumed, started over, retried or given up.
///
/// The code is for programs and stays the same from release to release; the text is for people.
public struct Reason: Sendable, Hashable {
    /// The stable name of a reason, as stored and as printed in JSON.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The name, in lower case with hyphens.
        public var rawValue: String

        /// Wraps a stored name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }
    }

    /// The stable name.
    public var code: Code
    /// The explanation, one sentence or two.
    public var text: String

    /// Makes a reason.
    public init(code: Code, text: String) {
        self.code = code
        self.text = text
    }

    private init(_ code: String, _ text: String) {
        self.init(code: Code(rawValue: code), text: text)
    }
}

extension Reason: CustomStringConvertible {
    /// The text.
    public var description: String { text }
}

// Why a partial cannot be continued by a range request.
extension Reason {
    static let noValidator = Reason(
        "no-validator",
        "The server sent neither an entity tag nor a date, so nothing proves that its bytes are the same.")
    static let weakEntityTag = Reason(
        "weak-entity-tag", "The server's entity tag is weak: it does not promise the same bytes.")
    static let dateTooFresh = Reason(
        "date-too-fresh",
        "Last-Modified was less than a second older than the response, so a later change could carry the same date.")
    static let dateUnusable = Reason(
        "date-unusable", "Last-Modified or Date is missing or malformed, so nothing proves that the bytes are the same."
    )
    static let rangesNotAccepted = Reason("ranges-not-accepted", "The server said that it does not serve ranges.")
    static let tooLittleHeld = Reason("too-little-held", "Less is held than would be fetched again to compare.")
    package static let rangeFailsRepeatedly = Reason(
        "range-fails-repeatedly", "The server failed each time it was asked for a range, so the whole was asked for.")
}

// Why a response was taken as a continuation, or not.
extension Reason {
    static func resumed(at offset: Int64) -> Reason {
        Reason("resumed", "The server still has the same representation; continued at byte \(offset).")
    }

    /// Only bytes that are the same vouch for it.
    static func resumedUnvalidated(at offset: Int64) -> Reason {
        Reason(
            "resumed-unvalidated",
            "The server names no version; continued at byte \(offset), if what comes before it is the same.")
    }

    static let prefixKept = Reason(
        "prefix-kept", "The server sent the whole again, but unchanged; what was held is compared and kept.")

    static func representationChanged(_ old: Validator?, _ new: Validator?) -> Reason {
        switch (old, new) {
        case (.entityTag(let old), .entityTag(let new)) where old != new:
            Reason("entity-tag-changed", "The file changed on the server: its entity tag was \(old) and is now \(new).")
        case (.lastModified(let old), .lastModified(let new)) where old != new:
            Reason("last-modified-changed", "The file changed on the server: it was modified \(old) and now \(new).")
        case (.some(let old), .none):
            Reason("validator-missing", "The response lacks the validator that the held bytes came with (\(old)).")
        case (.none, _):
            .noValidator
        default:
            Reason("whole-sent", "The server sent the whole file again, and nothing proves that it is the same.")
        }
    }

    static func lengthChanged(from old: Int64, to new: Int64) -> Reason {
        Reason(
            "length-changed", "The file changed on the server: its complete length was \(old) bytes and is now \(new).")
    }

    static let contentTypeChanged = Reason(
        "content-type-changed", "The answer has another content type than the file, as a log-in page would.")
    static let digestChanged = Reason(
        "digest-changed", "The server's digest of the file is not the one that the held bytes came with.")
    static let contentRangeInvalid = Reason(
        "content-range-invalid", "The server's answer to a range request has no single, valid Content-Range.")
    package static func unstable(_ last: Reason) -> Reason {
        Reason("unstable", "The download had to start over too often. The last time: \(last.text)")
    }
    package static let endedEarly = Reason("ended-early", "The answer ended before every byte was there.")
    static let multipartAnswer = Reason(
        "multipart-answer", "The server answered a request for one range with several parts.")
    static let contentCoded = Reason(
        "content-coded", "The server compressed the file though it was asked not to; such bytes are never mixed in.")
    static func codingChanged(from old: String?, to new: String?) -> Reason {
        Reason(
            "coding-changed",
            "What is held is \(old.map { "coded as \(Printable.escaped($0))" } ?? "not coded"), and the answer is "
                + "\(new.map { "coded as \(Printable.escaped($0))" } ?? "not"); such bytes are never mixed.")
    }

    static let moreHeldThanWanted = Reason("more-held-than-wanted", "More is held than the ranges have.")

    /// Coded bytes are held, and the caller asks for the file itself.
    package static let codedHeld = Reason(
        "coded-held", "What was held is coded as the server sent it, and the file itself is asked for now.")

    static let variesAlways = Reason(
        "varies-always", "The server says that its answers vary by more than the request (Vary: *).")

    static let gapCode = Code(rawValue: "range-gap")

    static func gap(expected: Int64, got: Int64) -> Reason {
        Reason(code: gapCode, text: "The server sent bytes from \(got) on, but was asked for them from \(expected) on.")
    }

    static func weakTagChanged(_ old: EntityTag) -> Reason {
        Reason("entity-tag-changed", "The file changed on the server: its entity tag is not \(old) any more.")
    }

    static let dateChanged = Reason(
        "last-modified-changed", "The file changed on the server: Last-Modified is another.")
    static let noProgress = Reason("range-without-progress", "The server sent only bytes that are held already.")

    /// The overlap, or the prefix of a whole answer, was not the same bytes as what is held.
    public static func heldBytesDiffer(at offset: Int64) -> Reason {
        Reason(
            "held-bytes-differ",
            "The server's bytes differ from the held ones at byte \(offset): the file is another one.")
    }

    static let wholeForSegment = Reason(
        "whole-for-segment", "The server sent the whole file in place of a part; no more connections are opened.")
    static let partCutShort = Reason(
        "segment-cut-short", "The server sent less than it was asked for; no more connections are opened.")
    static let contentDigestOfPart = Reason(
        "segment-digest", "The server sends a digest of each part (Content-Digest); no more connections are opened.")

    static let preconditionFailed = Reason("precondition-failed", "The file changed on the server (412).")
    static let rangeNotSatisfiable = Reason(
        "range-not-satisfiable", "The server has no such bytes (416): the file is shorter now, or another one.")
    static let beyondEnd = Reason(
        "range-beyond-end", "The file has no such bytes: a range that was asked for lies beyond its end.")
    static let rangesNeedValidator = Reason(
        "ranges-need-validator",
        "The server sends no validator, so nothing shows that several ranges are of the same file. Ask for one range.")
    static let completeLengthUnknown = Reason(
        "complete-length-unknown",
        "The server does not tell how long the file is, so that the range cannot be known to be complete.")
    package static let headFails = Reason(
        "head-fails", "HEAD fails again and again; the range is asked for with If-Range.")
    static let headUnanswered = Reason(
        "head-unanswered", "The server does not answer HEAD with the validator; the range is asked for with If-Range.")
    static let rangeRejected = Reason("range-rejected", "The server rejects requests for a range of this file.")

    /// A fresh download began although nothing had been held.
    public static let firstRequest = Reason("first-request", "Nothing was held.")

    /// The caller asked for a new start.
    public static let restartRequested = Reason("restart-requested", "A new start was asked for.")
}

// Why an answer is refused, for now or for good.
extension Reason {
    static func status(_ code: Int, _ phrase: String) -> Reason {
        Reason(
            "status-\(code)", phrase.isEmpty ? "The server answered \(code)." : "The server answered \(code) \(phrase)."
        )
    }

    static let unsolicitedRange = Reason(
        "unsolicited-range", "The server sent a part although the whole was asked for.")
    static let notAResource = Reason("not-the-file", "The server's answer is not the file itself.")
    static let portal = Reason(
        "portal-suspected",
        "The answer is a web page without the file's validator, as a network's log-in page is. What is held was kept.")
}

extension EntityTag: CustomStringConvertible {
    /// The tag as it came; bytes outside ASCII may be control characters, and are escaped.
    public var description: String { Printable.escaped(rawValue) }
}

extension Validator: CustomStringConvertible {
    /// The entity tag or the date.
    public var description: String {
        switch self {
        case .entityTag(let tag): tag.description
        case .lastModified(let date): Printable.escaped(date)
        }
    }
}
