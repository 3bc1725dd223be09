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

    /// How a server answers a request for several ranges.
    enum Server: CaseIterable { case several, onlyFirst, whole, coalesces, refusesHeader }

    private static let file: [UInt8] = {
        var random = SplitMix64(seed: 8)
        return (0..<Int(total)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }()

    /// Answers a request as a server does.
    static func answer(
        _ request: SampleRequest, by server: Server, of file: [UInt8], tag: String = "a"
    ) -> (HTTPResponse, [UInt8]) {
        let common = ["ETag: \"\(tag)\"", "Accept-Ranges: bytes"]
        let single = { (range: Range<Int64>) in
            (
                response(
                    206, common + ["Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.count)"]),
                Array(file[Int(range.lowerBound)..<Int(range.upperBound)])
            )
        }
        if request.ranges.count == 1 { return single(request.ranges[0]) }
        switch server {
        case .onlyFirst: return single(request.ranges[0])
        case .whole: return (response(200, common), file)
        case .refusesHeader: return (response(431, []), [])
        case .several, .coalesces:
            let ranges =
                server == .several
                ? request.ranges : [(request.ranges.first?.lowerBound ?? 0)..<(request.ranges.last?.upperBound ?? 0)]
            var body = Array("\r\n".utf8)
            for range in ranges {
                let head =
                    "--x y\r\nContent-Type: text/plain\r\n"
                    + "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.count)\r\n\r\n"
                body += Array(head.utf8) + file[Int(range.lowerBound)..<Int(range.upperBound)] + Array("\r\n".utf8)
            }
            body += Array("--x y--\r\n".utf8)
            return (response(206, common + ["Content-Type: multipart/byteranges; boundary=\"x y\""]), body)
        }
    }

    /// Carries out a course, as the request loop does.
    static func run(
        _ course: inout SampleCourse, held: [UInt8], _ answer: (SampleRequest) -> (HTTPResponse, [UInt8])
    ) -> (SampleVerdict, requests: Int) {
        var count = 0
        while true {
            guard case .send(let requests) = course.next() else { break }
            for request in requests {
                count += 1
                let (head, body) = answer(request)
                guard course.receive(head, to: request) == .read else { continue }
                var (compared, isSame): ([Range<Int64>], Bool) = ([], true)
                let parts = request.parts(of: Array(body.prefix(request.longestBody)), after: head)
                for range in request.ranges {
                    guard let sent = parts.lazy.compactMap({ $0.bytes(in: range) }).first else { continue }
                    let kept = held[Int(range.lowerBound)..<Int(range.upperBound)]
                    if let index = zip(sent, kept).enumerated().first(where: { $0.1.0 != $0.1.1 }) {
                        course.differ(at: range.lowerBound + Int64(index.offset))
                        isSame = false
                        break
                    }
                    compared.append(range)
                }
                if isSame { course.agree(on: compared, of: request) }
            }
        }
        guard case .end(let verdict) = course.next() else { return (.unproved(.samplesUnanswered), count) }
        return (verdict, count)
    }

    @Test(
        "J5: several ranges in a request where the server sends them, single ones otherwise", arguments: Server.allCases
    )
    func servers(server: Server) {
        var course = Self.course()
        let (verdict, requests) = Self.run(&course, held: Self.file) { Self.answer($0, by: server, of: Self.file) }
        #expect(verdict == .agree(samples: Self.grid.count))
        #expect(course.representation?.entityTag?.rawValue == "\"a\"")
        #expect(course.representation?.completeLength == Self.total)
        switch server {
        case .several: #expect(requests <= 4)
        default: #expect((100...140).contains(requests))
        }
    }

    @Test("J5: other bytes, another tag or another length are a difference", arguments: Server.allCases)
    func differences(server: Server) throws {
        var wrong = Self.file
        let place = try #require(Self.grid.places.dropFirst(40).first)
        wrong[Int(place.lowerBound) + 7] ^= 1
        var course = Self.course()
        let found = Self.run(&course, held: wrong) { Self.answer($0, by: server, of: Self.file) }.0
        #expect(found == .differ(.samplesDiffer(at: place.lowerBound + 7)))

        course = Self.course(isProved: true, stored: Self.stored)
        guard
            case .differ(let reason) = Self.run(
                &course, held: Self.file, { Self.answer($0, by: server, of: Self.file, tag: "b") }
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
            return Self.answer(request, by: server, of: Self.file, tag: count > 1 ? "b" : "a")
        }.0
        guard case .differ = changes else {
            Issue.record("a tag that changes: \(changes)")
            return
        }

        course = SampleCourse(
            Self.grid, of: Representation(completeLength: Self.total + 1), isProved: false, policy: ResumePolicy())
        guard case .differ = Self.run(&course, held: Self.file, { Self.answer($0, by: server, of: Self.file) }).0 else {
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
        guard case .send(let requests) = course.next(), let first = requests.first else { return }
        #expect(requests.count == 1 && first.ranges == [0..<4096])
        #expect(first.plan.fields[.range] == "bytes=0-4095" && first.plan.fields[.ifRange] == nil)
        guard case .retry(_, afterSeconds: 9) = course.receive(response(503, ["Retry-After: 9"]), to: first),
            case .refuse = course.receive(response(401, []), to: first),
            case .refuse = course.receive(response(410, []), to: first)
        else {
            Issue.record("503, 401, 410")
            return
        }
        #expect(course.next() == .send([first]))
        // Truncated bodies prove nothing.
        let verdict = Self.run(&course, held: Self.file) { request in
            let (head, body) = Self.answer(request, by: .several, of: Self.file)
            return (head, Array(body.dropLast(100)))
        }.0
        #expect(verdict == .unproved(.samplesUnanswered))
    }

    @Test(
        "J5: random bodies of several parts never trap, and parts are what was sent",
        arguments: [1, 2, 3, 4] as [UInt64])
    func multipart(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let ranges: [Range<Int64>] = [0..<10, 4096..<5000, 1_000_000..<1_000_100]
        let request = SampleRequest(ranges: ranges, shift: 0, condition: .ifRange)
        let (head, body) = Self.answer(request, by: .several, of: Self.file)
        #expect(
            request.parts(of: body, after: head).map(\.offset) == ranges.map(\.lowerBound))
        for _ in 0..<3_000 {
            var bytes = body
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                guard !bytes.isEmpty else { break }
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                case 2: bytes.insert(contentsOf: Array("9223372036854775807".utf8), at: index)
                default: bytes.removeLast(min(index, bytes.count))
                }
            }
            for part in request.parts(of: bytes, after: head) {
                for range in ranges { _ = part.bytes(in: range) }
                #expect(part.bytes.count <= bytes.count && part.offset >= 0)
                _ = part.bytes(in: 0..<Int64.max)
            }
        }
    }
}
