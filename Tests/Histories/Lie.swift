internal import TestSupport

/// How an answer differs from that of an honest server.
///
/// What no client could notice is not among them: bytes of another version under the tag of this one, from exactly the
/// first missing byte on.
enum Lie: String, Sendable, CaseIterable {
    /// The honest answer.
    case none
    /// The body is cut.
    case cut
    /// The body ends early as if it were complete, with a length that says so.
    case shortRange
    /// The whole file although a range was requested.
    case ignoresRange
    /// The range of the current version whatever If-Range says.
    case ignoresIfRange
    /// The same, with the tag that the client named.
    case echoesTag
    /// The rest of the file with status 200 and a Content-Range.
    case sliceAsWhole
    /// A page in place of the file, from the same server.
    case page
    /// A redirect to a page of another server.
    case portal
    /// An error of an interface as JSON, with status 200.
    case json
    /// Nothing, with status 200 and the known tag.
    case empty
    /// Nothing, with status 200 and without a validator.
    case emptyWithoutTag
    /// The first part as a whole, with the known tag.
    case shortWithTag
    /// The first part as a whole, without a validator.
    case shortWithoutTag
    /// No validator.
    case withoutTag
    case weakTag
    /// No length, and chunks.
    case chunked
    /// No length, and the end of the connection ends the body, early.
    case closedEarly
    /// A range that begins before the requested one.
    case earlier
    /// A range with a total length that is not the file's.
    case otherTotal
    /// A range without Content-Range.
    case withoutContentRange
    /// Status 416 with the length as if all were there.
    case notSatisfiable
    /// Other statuses.
    case forbidden, notFound, unavailable, serverError, preconditionFailed, noContent
    /// Status 304 to a request without a condition.
    case notModified
    /// No connection.
    case refused
    /// A digest of the representation that is wrong.
    case wrongDigest

    /// Picks one: half of the answers are honest or cut.
    static func pick(_ chance: inout SplitMix64, honesty: Int) -> Lie {
        if chance.happens(honesty) { return chance.happens(40) ? .cut : .none }
        return chance.pick(allCases)
    }
}
