import HTTPTypes
import ResumeHTTP
import Testing

/// Which responses need no row.
@Suite(.timeLimit(.minutes(1)))
struct SmallFetchTests {
    private static func body(
        _ fields: [HTTPField.Name: String], status: HTTPResponse.Status = .ok, maximum: Int64? = nil
    ) throws -> SmallFetch.Body? {
        var head = HTTPResponse(status: status)
        for (name, value) in fields { head.headerFields[name] = value }
        let url = try DownloadURL("http://a.example/file.bin")
        let fetch = SmallFetch(of: url, ResumePolicy(), maximum: maximum)
        return fetch.body(of: head, from: nil, at: .seconds(60))
    }

    @Test("A short file of a known length that comes at once needs none")
    func small() throws {
        #expect(try Self.body([.contentLength: "5"])?.length == 5)
        #expect(try Self.body([.contentLength: "0"])?.length == 0)
        #expect(try Self.body([.contentLength: "\(SmallFetch.longest)"]) != nil)
        #expect(try Self.body([.contentLength: "5"], maximum: 5) != nil)
    }

    @Test("Its body may take 250 ms, however late the response came")
    func patience() throws {
        let body = try #require(try Self.body([.contentLength: "5"]))
        #expect(!body.isLate(at: .seconds(60) + .milliseconds(249)) && body.isLate(at: .milliseconds(60_250)))
    }

    @Test("Everything else is handed over, also where a caller permits less than nothing")
    func others() throws {
        #expect(try Self.body([:]) == nil)
        #expect(try Self.body([.contentLength: "5", .contentEncoding: "gzip"]) == nil)
        #expect(try Self.body([.contentLength: "5", .contentRange: "bytes 0-4/9"]) == nil)
        #expect(try Self.body([.contentLength: "\(SmallFetch.longest + 1)"]) == nil)
        for maximum: Int64 in [4, 0, -1, .min] {
            #expect(try Self.body([.contentLength: "5"], maximum: maximum) == nil)
        }
        for status: HTTPResponse.Status in [.partialContent, .notModified, .notFound, .init(code: 203)] {
            #expect(try Self.body([.contentLength: "5"], status: status) == nil)
        }
    }
}
