import OriginServer
import Scenarios

/// One row of the table of cases on the wire: a cut first answer, then what the second run requests and gets.
struct WireCase: Sendable, CustomStringConvertible {
    /// How the second run ends.
    enum Ending: Sendable {
        /// With the file. The partial data of the first run was kept.
        case resumes
        /// With the file, fetched from its first byte.
        case restarts
    }

    let id: String
    /// The fields of the first answer, which replace the honest ones of the same names.
    ///
    /// An empty value removes one.
    let first: [(String, String)]
    /// The condition of the second run's first request; nil if it must request the whole file.
    let condition: String?
    let ending: Ending
    /// The file that the origin has in the end.
    let truth: Resource
    /// The answer to a range request; nil for an honest one with the fields of the first answer.
    let answer: (@Sendable (OriginRequest) -> Response)?

    init(
        _ id: String, first: [(String, String)] = [], asks condition: String? = "\"a\"", _ ending: Ending = .resumes,
        truth: Resource = .old, answer: (@Sendable (OriginRequest) -> Response)? = nil
    ) {
        self.id = id
        self.first = first
        self.condition = condition
        self.ending = ending
        self.truth = truth
        self.answer = answer
    }

    var description: String { id }

    /// The first run's answer, cut after the bytes that are to be stored.
    @Sendable func cut(_ request: OriginRequest) -> Response {
        decorated(.file(.old, for: request, cutAfter: Scenario.held))
    }

    /// The second run's answers.
    @Sendable func odd(_ request: OriginRequest) -> Response {
        guard request.field("Range") != nil else { return .file(truth, for: request) }
        guard let answer else {
            var honest = truth
            honest.ignoresIfRange = true
            return decorated(.file(honest, for: request))
        }
        return answer(request)
    }

    private func decorated(_ response: Response) -> Response {
        var response = response
        for name in Set(first.map(\.0)) { response = response.settingField(name, to: nil) }
        return Response(
            response.steps.map { step in
                guard case .head(let status, let fields) = step else { return step }
                return .head(status: status, fields: fields + first.filter { !$0.1.isEmpty })
            })
    }
}

extension WireCase {
    private static let day = "Mon, 04 Mar 2024 05:06:07 GMT"
    private static let later = "Mon, 04 Mar 2024 05:06:08 GMT"
    private static let noTag = ("ETag", "")
    /// A strong date: one second older than its answer.
    private static let dated = [noTag, ("Last-Modified", day), ("Date", later)]
    private static let digest = ("sha-256=:\(String(repeating: "A", count: 43))=:")

    static let all = requests + answers + wholes

    /// What the second run requests.
    private static let requests = [
        WireCase("A02, B01, M06"), WireCase("A03", first: [("ETag", "W/\"a\"")], asks: nil, .restarts),
        WireCase("A04, G05", first: [("ETag", "W/\"a\""), ("Last-Modified", day)], asks: nil, .restarts),
        WireCase("A05, B07", first: dated, asks: day),
        WireCase("A06", first: [noTag, ("Last-Modified", day), ("Date", day)], asks: nil, .restarts),
        WireCase("A07: in the future", first: [noTag, ("Last-Modified", later), ("Date", day)], asks: nil, .restarts),
        WireCase("A07: no Date", first: [noTag, ("Last-Modified", day), ("Date", "")], asks: nil, .restarts),
        WireCase("A08", first: [noTag], asks: nil, .restarts), WireCase("A09", first: [("Last-Modified", day)]),
        WireCase("A10", first: [("ETag", "\"\u{E9}\u{20AC}\"")], asks: "\"\u{E9}\u{20AC}\""),
        WireCase("A11", first: [("ETag", "\"\"")], asks: "\"\""),
        WireCase("A12", first: [("ETag", "a")], asks: nil, .restarts),
        WireCase("A13", first: [("ETag", "w/\"a\"")], asks: nil, .restarts),
        WireCase("A21", first: [("ETag", "\"\(String(repeating: "a", count: 9000))\"")], asks: nil, .restarts),
        WireCase(
            "B15", first: [("ETag", "\"d41d8cd98f00b204e9800998ecf8427e-2\"")],
            asks: "\"d41d8cd98f00b204e9800998ecf8427e-2\""),
        WireCase("D11", first: [("Accept-Ranges", "none")]),
        WireCase("D12", first: [("Accept-Ranges", "")]), WireCase("M01", first: [("Cache-Control", "immutable")]),
        WireCase("M04", first: [noTag, ("Last-Modified", day), ("Date", later), ("Age", "86400")], asks: day),
        WireCase("M05", first: [("Vary", "*")]),
        WireCase("M05: a date", first: dated + [("Vary", "*")], asks: nil, .restarts),
        WireCase("A20", first: [("Vary", "Accept")]),
    ]

    /// How the answer to a range is judged.
    private static let answers = [
        WireCase("B05", first: [("Last-Modified", day)], .restarts, truth: .new) { _ in
            .part(of: .new, from: 55_904, etag: "\"a\"", [("Last-Modified", later)])
        },
        WireCase("B05: a date that the first answer did not have") { _ in
            .part(from: 55_904, [("Last-Modified", later)])
        },
        WireCase("B08, M03", first: dated, asks: day, .restarts, truth: .new) { _ in
            .part(of: .new, from: 55_904, etag: "", [("Last-Modified", later)])
        },
        WireCase("B09", first: dated, asks: day, .restarts, truth: .new) { _ in .part(of: .new, from: 55_904, etag: "")
        },
        WireCase("B10", first: dated, asks: day, .restarts, truth: .new) { _ in
            .part(of: .new, etag: "", range: "bytes 60000-99999/100001", [("Last-Modified", day)])
        },
        WireCase("B12") { _ in .part(from: 55_904, [("ETag", "\"a\"")]) },
        WireCase("B17", first: [("Repr-Digest", digest)], .restarts, truth: .new) { _ in
            .part(
                of: .new, etag: "\"a\"",
                [("Repr-Digest", digest.replacing("AAAA", with: "BBBB"))])
        },
        WireCase("B18") { _ in .part(from: 55_904, [("Content-Location", "/elsewhere")]) },
        WireCase("B19") { _ in .part(from: 55_904, etag: " \t\"a\"\t ") },
        WireCase("C18, C17", .restarts, truth: .new) { _ in
            .part(of: .new, etag: "\"a\"", [("Content-Type", "multipart/byteranges; boundary=b")])
        },
        WireCase("C21", .restarts, truth: .new) { _ in
            Response.file(.new, for: .whole).settingField("Content-Range", to: "bytes 60000-99999/100000")
        },
        WireCase("G04, G01", first: [("ETag", "\"x-gzip\"")], asks: "\"x-gzip\"", .restarts, truth: .new) { _ in
            .part(of: .new, etag: "\"x\"")
        },
        WireCase("M05: later", .restarts, truth: .new) { _ in .part(of: .new, etag: "\"a\"", [("Vary", "*")]) },
        WireCase("E08", .restarts, truth: .new) { _ in .status("400 Bad Request") },
        WireCase("I05") { request in
            request.number > 2
                ? .file(.old, for: request)
                : .status("503 Service Unavailable", fields: [("Date", day), ("Retry-After", later)])
        },
        WireCase("I06") { request in
            let values = ["-1", "soon", "", "Thu, 01 Jan 1970 00:00:00 GMT"]
            guard request.number <= 3 else { return .file(.old, for: request) }
            return .status(
                "503 Service Unavailable", fields: [("Date", day), ("Retry-After", values[request.number % 4])])
        },
    ]

    private static let wholes = [
        WireCase("D01", .resumes) { _ in .file(.old, for: .whole) },
        WireCase("D02", .restarts, truth: .new) { _ in .file(.new, for: .whole) },
    ]
}
