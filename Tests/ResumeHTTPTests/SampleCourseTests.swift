import HTTPTypes
import TestSupport
import Testing

@testable import ResumeHTTP

/// Which samples are requested, and which responses count.
@Suite(.timeLimit(.minutes(5)))
struct SampleCourseTests {
    private static let total: Int64 = 2_000_000
    private static let grid = SampleGrid(over: [0..<1_900_000], seed: 5)
    private static let stored = Representation(fields: headerFields(["ETag: \"a\"", "Content-Length: \(total)"]))

    private static func course(isProved: Bool = false, stored: Representation = Representation()) -> SampleCourse {
        SampleCourse(grid, of: stored, isProved: isProved, policy: ResumePolicy())
    }

    private static let file: [UInt8] = {
        var random = SplitMix64(seed: 8)
        return (0..<Int(total)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }()

    /// Answers a request as a server does.
    static func answer(_ request: SampleRequest, of file: [UInt8], tag: String = "a") -> (HTTPResponse, [UInt8]) {
        let range = request.range
        let head = response(
            206,
            [
                "ETag: \"\(tag)\"", "Accept-Ranges: bytes",
                "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.count)",
            ])
        return (head, Array(file[Int(range.lowerBound)..<Int(range.upperBound)]))
    }

    /// Carries out a course, as the request loop does.
    static func run(
        _ course: inout SampleCourse, held: [UInt8], _ answer: (SampleRequest) -> (HTTPResponse, [UInt8])
    ) -> (SampleVerdict, requests: [Range<Int64>]) {
        var requests: [Range<Int64>] = []
        while let request = course.next {
            requests.append(request.range)
            let (head, body) = answer(request)
            guard case .append = course.receive(head, to: request) else { continue }
            let kept = held[Int(request.range.lowerBound)..<Int(request.range.upperBound)]
            _ = course.compare(request, request.bytes(of: body, after: head), with: Array(kept))
        }
        return (course.verdict, requests)
    }

    @Test("J5: one range after another, the first one of a block, until all places were compared")
    func sequence() {
        var course = Self.course()
        let (verdict, requests) = Self.run(&course, held: Self.file) { Self.answer($0, of: Self.file) }
        #expect(verdict == .agree(samples: Self.grid.count))
        #expect(course.representation.entityTag?.rawValue == "\"a\"")
        #expect(course.representation.completeLength == Self.total)
        // Two blocks that overlap are one place.
        let first = Self.grid.places[0]
        #expect(first.upperBound > 4096)
        #expect(requests == [0..<4096, 4096..<first.upperBound] + Self.grid.places.dropFirst())

        // A short file is one place, of which a block comes first.
        course = SampleCourse(
            SampleGrid(over: [0..<100_000], seed: 1), of: Representation(), isProved: false, policy: ResumePolicy())
        let short = Self.run(&course, held: Self.file) { Self.answer($0, of: Self.file) }
        #expect(short.0 == .agree(samples: 25))
        #expect(short.requests == [0..<4096, 4096..<100_000])
    }

    @Test("J5: other bytes, another tag or another length are a difference")
    func differences() throws {
        var wrong = Self.file
        let place = try #require(Self.grid.places.dropFirst(40).first)
        wrong[Int(place.lowerBound) + 7] ^= 1
        var course = Self.course()
        let found = Self.run(&course, held: wrong) { Self.answer($0, of: Self.file) }.0
        #expect(found == .differ(.samplesDiffer(at: place.lowerBound + 7)))

        course = Self.course(isProved: true, stored: Self.stored)
        guard
            case .differ(let reason) = Self.run(
                &course, held: Self.file, { Self.answer($0, of: Self.file, tag: "b") }
            ).0
        else {
            Issue.record("another tag")
            return
        }
        #expect(reason.code.rawValue == "entity-tag-changed")

        var count = 0
        course = Self.course()
        let changes = Self.run(&course, held: Self.file) { request in
            count += 1
            return Self.answer(request, of: Self.file, tag: count > 1 ? "b" : "a")
        }.0
        guard case .differ = changes else {
            Issue.record("a tag that changes: \(changes)")
            return
        }

        course = SampleCourse(
            Self.grid, of: Representation(completeLength: Self.total + 1), isProved: false, policy: ResumePolicy())
        guard case .differ = Self.run(&course, held: Self.file, { Self.answer($0, of: Self.file) }).0 else {
            Issue.record("another length")
            return
        }
    }

    @Test("J5: a server without ranges proves nothing; refusals and retries leave the course as it is")
    func statuses() throws {
        for status in [200, 416, 400, 304] {
            var course = Self.course()
            let verdict = Self.run(&course, held: Self.file) { _ in (response(status, ["ETag: \"a\""]), []) }.0
            #expect(verdict == .unproved(.samplesUnanswered), "\(status)")
        }
        var course = Self.course()
        let first = try #require(course.next)
        #expect(first.range == 0..<4096)
        #expect(first.plan.fields[.range] == "bytes=0-4095" && first.plan.fields[.ifRange] == nil)
        guard case .retry(_, afterSeconds: 9) = course.receive(response(503, ["Retry-After: 9"]), to: first),
            case .refuse = course.receive(response(401, []), to: first),
            case .refuse = course.receive(response(410, []), to: first)
        else {
            Issue.record("503, 401, 410")
            return
        }
        #expect(course.next == first)
        // Truncated bodies prove nothing.
        let verdict = Self.run(&course, held: Self.file) { request in
            let (head, body) = Self.answer(request, of: Self.file)
            return (head, Array(body.dropLast(100)))
        }.0
        #expect(verdict == .unproved(.samplesUnanswered))
    }

    @Test("J5: a response with fewer bytes, or from another offset, has none of those that were requested")
    func bytes() {
        let request = SampleRequest(range: 4096..<8192, shift: 10, condition: .ifRange)
        #expect(request.plan.fields[.range] == "bytes=4106-8201")
        let body = Array(Self.file[..<5000])
        let places: [(String, Int?)] = [
            ("4106-8201/*", 0), ("4096-9000/*", 10), ("4107-9106/*", nil), ("9000-13999/*", nil),
            ("0-4999/*", nil), ("9223372036854770000-9223372036854775806/*", nil), ("x", nil),
        ]
        for (range, start) in places {
            let found = request.bytes(of: body, after: response(206, ["Content-Range: bytes \(range)"]))
            #expect(found.map { Array($0) } == start.map { Array(body[$0..<$0 + 4096]) }, "\(range)")
        }
        let whole = response(206, ["Content-Range: bytes 4106-8201/*"])
        #expect(request.bytes(of: Array(body.prefix(4095)), after: whole) == nil)
        #expect(request.bytes(of: [], after: whole) == nil)
    }
}
