public import HTTPTypes
import ResumeHTTP

/// What a ``FakeTransport`` serves at a URL.
public struct FakeResource: Sendable {
    /// The bytes.
    public var content: [UInt8]
    /// The entity tag with its quotes; nil for none.
    public var entityTag: String?
    /// The value of `Last-Modified`; nil for none.
    public var lastModified: String?
    /// Whether ranges are answered; otherwise each response is the whole content.
    public var acceptsRanges = true
    /// After how many bytes the bodies of the next responses are cut, one element for each.
    public var cuts: [Int]
    /// The statuses of the next responses, one element for each, before the content is sent.
    public var statuses: [Int]
    /// How long each response takes.
    public var delay: Duration
    /// Further header fields of responses with content.
    public var headerFields = HTTPFields()

    /// What a response differs in from others.
    typealias Turn = (status: Int?, cut: Int?)

    /// Makes a resource; by default, it has a strong entity tag, and its responses are whole and come at once.
    public init(
        _ content: some Sequence<UInt8>, entityTag: String? = "\"1\"", lastModified: String? = nil, cuts: [Int] = [],
        statuses: [Int] = [], delay: Duration = .zero
    ) {
        self.content = Array(content)
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.cuts = cuts
        self.statuses = statuses
        self.delay = delay
    }

    /// Removes what applies to the next response only.
    mutating func takeTurn(isHead: Bool) -> Turn {
        if !statuses.isEmpty { return (statuses.removeFirst(), nil) }
        return (nil, isHead || cuts.isEmpty ? nil : cuts.removeFirst())
    }

    func answer(to request: HTTPRequest, _ turn: Turn) -> (HTTPResponse, ArraySlice<UInt8>) {
        if let status = turn.status { return (HTTPResponse(status: .init(code: status)), []) }
        let asked = request.headerFields
        if let condition = asked[.ifMatch], condition != entityTag {
            return (HTTPResponse(status: .preconditionFailed), [])
        }
        var head = HTTPResponse(status: .ok, headerFields: headerFields)
        head.headerFields[.eTag] = entityTag
        head.headerFields[.lastModified] = lastModified
        if acceptsRanges { head.headerFields[.acceptRanges] = "bytes" }
        if asked[.range] == nil, let known = asked[.ifNoneMatch] ?? asked[.ifModifiedSince],
            known == entityTag || known == lastModified
        {
            head.status = .notModified
            return (head, [])
        }
        var body = content[...]
        let isCurrent = asked[.ifRange].map { $0 == entityTag || $0 == lastModified } ?? true
        if acceptsRanges, isCurrent, request.method == .get, let range = asked[.range] {
            let parts =
                range.hasPrefix("bytes=")
                ? RangeSelection(range)?.parts(completeLength: Int64(content.count)) ?? [] : []
            guard let part = parts.first, parts.count == 1 else {
                head.status = .rangeNotSatisfiable
                head.headerFields[.contentRange] = "bytes */\(content.count)"
                return (head, [])
            }
            head.status = .partialContent
            head.headerFields[.contentRange] = "bytes \(part.first)-\(part.end - 1)/\(content.count)"
            body = content[Int(part.first)..<Int(part.end)]
        }
        head.headerFields[.contentLength] = "\(body.count)"
        return (head, request.method == .head ? [] : body)
    }
}
