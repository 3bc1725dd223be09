package import OriginServer

/// Three runs of one download: a cut, an odd answer, an honest one.
package struct Scenario: Sendable, CustomStringConvertible {
    /// How the second run ends.
    package enum Ending: Sendable {
        /// With the file that is current by then.
        case delivers
        /// With an error; stored bytes may be kept or dropped.
        case fails
    }

    /// The row of the table of cases.
    package let id: String
    package let title: String
    /// The origin's resource from the second run on.
    package let truth: Resource
    /// The odd answer to a range request.
    package let answer: @Sendable (OriginRequest) -> Response
    /// Whether a request without a range also gets it, and not an honest one.
    package let isAlwaysOdd: Bool
    package let ending: Ending
    /// Whether the odd answer stalls, so that only a timeout ends it.
    package let isSilent: Bool

    init(
        _ id: String, _ title: String, truth: Resource = .old, always isAlwaysOdd: Bool = false,
        _ ending: Ending = .delivers, isSilent: Bool = false, answer: @escaping @Sendable (OriginRequest) -> Response
    ) {
        self.id = id
        self.title = title
        self.truth = truth
        self.answer = answer
        self.isAlwaysOdd = isAlwaysOdd
        self.ending = ending
        self.isSilent = isSilent
    }

    package var description: String { "\(id) \(title)" }

    /// Bytes that the first run leaves.
    package static let held: Int64 = 60_000
    /// The offset of its request: some stored bytes are compared.
    package static let asked: Int64 = 55_904

    /// The origin's answers in the second run.
    @Sendable package func odd(_ request: OriginRequest) -> Response {
        isAlwaysOdd || request.field("Range") != nil ? answer(request) : .file(truth, for: request)
    }
}

extension Resource {
    /// 100,000 bytes with the tag "a", of which the first run gets a part.
    package static let old = Resource(Content(length: 100_000, seed: 1), etag: "\"a\"")
    /// Other bytes of the same length with the tag "b".
    package static let new = Resource(Content(length: 100_000, seed: 2), etag: "\"b\"")
    /// Other bytes of the same length with the same tag.
    package static let disguised = Resource(Content(length: 100_000, seed: 2), etag: "\"a\"")
    /// As many bytes as are stored of the old one, with another tag.
    static let short = Resource(Content(length: Scenario.held, seed: 3), etag: "\"c\"")
}

extension Response {
    /// A 206 according to its fields, with the bytes from `start` on as its body.
    package static func part(
        of resource: Resource = .old, from start: Int64 = Scenario.asked, to end: Int64? = nil, etag: String? = nil,
        range: String? = nil, _ more: [(String, String)] = []
    ) -> Response {
        let length = resource.content.length
        let end = end ?? length
        let fields = [
            ("ETag", etag ?? resource.etag ?? ""), ("Content-Range", range ?? "bytes \(start)-\(end - 1)/\(length)"),
        ]
        return .status(
            "206 Partial Content", fields: fields.filter { !$0.1.isEmpty } + more,
            body: resource.content.bytes(in: start..<end))
    }
}
