public import HTTPTypes

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
    struct Turn {
        var status: Int?
        var cut: Int?
    }

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
        if !statuses.isEmpty { return Turn(status: statuses.removeFirst()) }
        return Turn(cut: isHead || cuts.isEmpty ? nil : cuts.removeFirst())
    }

    /// Returns the response to a request.
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
            guard let (first, last) = Self.bounds(of: range, in: content.count) else {
                head.status = .rangeNotSatisfiable
                head.headerFields[.contentRange] = "bytes */\(content.count)"
                return (head, [])
            }
            head.status = .partialContent
            head.headerFields[.contentRange] = "bytes \(first)-\(last)/\(content.count)"
            body = content[first...last]
        }
        head.headerFields[.contentLength] = "\(body.count)"
        return (head, request.method == .head ? [] : body)
    }

    /// Returns the first and last byte of a range (`bytes=1-`, `bytes=1-2` or `bytes=-3`); nil if it cannot be satisfied.
    private static func bounds(of range: String, in count: Int) -> (Int, Int)? {
        let parts = range.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard range.hasPrefix("bytes="), parts.count == 2, count > 0 else { return nil }
        if parts[0].isEmpty { return Int(parts[1]).flatMap { $0 > 0 ? (max(count - $0, 0), count - 1) : nil } }
        guard let first = Int(parts[0]), first >= 0, first < count else { return nil }
        let last = parts[1].isEmpty ? count - 1 : min(Int(parts[1]) ?? -1, count - 1)
        return last >= first ? (first, last) : nil
    }
}
