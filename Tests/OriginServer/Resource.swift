/// An honest server's resource under a path.
///
/// ``Response/file(_:for:cutAfter:reset:stall:bytesPerSecond:pausingAt:for:)`` creates the answers from it.
public struct Resource: Sendable {
    /// How the end of the body is indicated.
    public enum Framing: Sendable, Equatable {
        /// By a `Content-Length`.
        case contentLength

        /// By the chunk of size 0, after chunks of the given size.
        case chunked(size: Int)

        /// By the end of the connection.
        case untilClose
    }

    /// The bytes.
    public var content: Content

    /// The entity tag as in the `ETag` field, quotes and `W/` included; `nil` omits the field.
    public var etag: String?

    /// The value of the `Last-Modified` field; `nil` omits the field.
    public var lastModified: String?

    /// The value of the `Date` field; `nil` omits the field.
    ///
    /// It is fixed, so that answers are the same at any time; it should be later than ``lastModified``.
    public var date: String? = Resource.defaultDate

    /// The value of the `Content-Type` field; `nil` omits the field.
    public var contentType: String? = "application/octet-stream"

    /// The value of the `Accept-Ranges` field, whatever the server does; `nil` omits the field.
    public var acceptRanges: String? = "bytes"

    /// Whether a range is answered with 206 whatever `If-Range` says.
    public var ignoresIfRange = false

    /// Whether `Range` is ignored, so that each answer has the whole content.
    public var ignoresRange = false

    /// How the end of the body is indicated, in answers that have one.
    public var framing = Framing.contentLength

    /// Fields that are added to answers of status 200, 206 and 304.
    public var extraFields: [(String, String)] = []

    /// All bytes of the content.
    public var bytes: [UInt8] { content.bytes(in: content.all) }

    /// A time for `Last-Modified` that is well before ``defaultDate``.
    public static let defaultLastModified = "Mon, 04 Mar 2024 05:06:07 GMT"

    /// The default value of `Date`.
    public static let defaultDate = "Mon, 02 Jun 2025 12:00:00 GMT"

    /// Creates a resource; everything else is set with its properties.
    ///
    /// - Parameters:
    ///   - content: The bytes.
    ///   - etag: The entity tag with its quotes, `nil` for none.
    ///   - lastModified: The value of the `Last-Modified` field, `nil` for none.
    public init(_ content: Content, etag: String? = nil, lastModified: String? = nil) {
        self.content = content
        self.etag = etag
        self.lastModified = lastModified
    }

    /// The answer to a request, before the faults.
    enum Outcome: Equatable {
        case whole
        case part(Range<Int64>)
        case unsatisfiable
        case preconditionFailed
        case notModified
        case methodNotAllowed
    }

    /// Evaluates a request in the order of RFC 9110, 13.2.2.
    ///
    /// - Parameter request: The request.
    /// - Returns: The outcome.
    func outcome(for request: OriginRequest) -> Outcome {
        guard request.method == "GET" || request.method == "HEAD" else { return .methodNotAllowed }
        let wanted = request.elements("If-Match")
        if !wanted.isEmpty, wanted != ["*"], !wanted.contains(where: isStrongMatch) {
            return .preconditionFailed
        }
        let known = request.elements("If-None-Match")
        if known == ["*"] || known.contains(where: isWeakMatch) { return .notModified }
        // Ranges are defined only for GET.
        guard request.method == "GET", !ignoresRange else { return .whole }
        let range = RangeRequest(fields: request.fields("Range"))
        // A condition that fails makes the range void, even one that could not be satisfied.
        if range != .none, !ignoresIfRange, let condition = request.field("If-Range"), !satisfies(condition) {
            return .whole
        }
        switch range.selection(length: content.length) {
        case .whole: return .whole
        case .part(let part): return .part(part)
        case .unsatisfiable: return .unsatisfiable
        }
    }

    /// Evaluates an `If-Range`.
    ///
    /// - Parameter condition: The value of the field, a tag or a date.
    /// - Returns: Whether the content is still the one that the condition names.
    private func satisfies(_ condition: String) -> Bool {
        let isTag = condition.hasPrefix("\"") || condition.hasPrefix("W/")
        return isTag ? isStrongMatch(condition) : condition == lastModified
    }

    /// Compares a tag with that of the resource; a weak tag never matches (RFC 9110, 8.8.3.2).
    private func isStrongMatch(_ tag: String) -> Bool {
        tag == etag && !tag.hasPrefix("W/")
    }

    /// Compares a tag with that of the resource, weak or not.
    private func isWeakMatch(_ tag: String) -> Bool {
        guard let etag else { return false }
        let opaque = [tag, etag].map { $0.hasPrefix("W/") ? $0.dropFirst(2) : $0[...] }
        return opaque[0] == opaque[1]
    }
}
