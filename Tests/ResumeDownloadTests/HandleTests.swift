import HTTPTypes
import OriginServer
import ResumeCurl
@testable import ResumeDownload
import Synchronization
import TestSupport
import Testing

/// What one exchange leaves on a handle of libcurl and on its thread, which the next exchange uses again.
@Suite(.timeLimit(.minutes(5)))
struct HandleTests {
    private typealias Fields = [(String, String)]

    /// Sends requests one after the other, with one handle.
    private static func with(
        by authentication: CurlTransport.Authentication = .basic, _ handler: @escaping Origin.Handler,
        _ body: (CurlTransport, OriginServer) async throws -> Void
    ) async throws {
        try await OriginServer.withServer(handler: handler) { server in
            var configuration = CurlTransport.Configuration(connectTimeout: Engine.patience, threads: 1)
            configuration.connectionsPerHost = 1
            configuration.authentication = authentication
            let transport = CurlTransport(configuration)
            do {
                try await body(transport, server)
                await transport.shutdown()
            } catch {
                await transport.shutdown()
                throw error
            }
        }
    }

    @discardableResult
    private static func send(
        _ path: String, _ fields: Fields = [], _ method: HTTPRequest.Method = .get, _ jar: CookieJar? = nil,
        by transport: CurlTransport, to server: OriginServer
    ) async throws -> HTTPResponse {
        var request = HTTPRequest(
            method: method, scheme: "http", authority: String(server.baseURL.dropFirst(7)), path: path)
        for (name, value) in fields {
            request.headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        return try await CookieJar.$current.withValue(jar) {
            let response = try await transport.send(request)
            while try await response.body.read({ _ in true }) {}
            return response.head
        }
    }

    private static let odd: [(Fields, HTTPRequest.Method, String)] = [
        ([("Authorization", "Basic dTpw")], .get, "/a"), ([("Authorization", "Bearer t")], .get, "/a"),
        ([("Cookie", "a=1; b=2")], .get, "/a"), ([("Proxy-Authorization", "Basic dTpw")], .get, "/a"),
        ([("X-Token", "t")], .get, "/a"), ([("X-Token", "u"), ("Range", "bytes=1-")], .get, "/a?b"),
        ([("Accept", "text/html")], .get, "/a"), ([("User-Agent", "v")], .get, "/a"), ([("X-Empty", "")], .get, "/a"),
        ([], .head, "/a"), ([], .options, "/a"), ([("X-Token", "t")], .post, "/a"), ([], .get, "/set"),
    ]

    @Test(
        "Nothing of a request is sent with the next one",
        arguments: odd.indices, [CurlTransport.Authentication.basic, .digest, .any])
    func requests(index: Int, authentication: CurlTransport.Authentication) async throws {
        let cookie = [("Set-Cookie", "c=3")]
        try await Self.with(
            by: authentication, { $0.target == "/set" ? .status("200 OK", fields: cookie) : .status("200 OK") }
        ) { transport, server in
            let (fields, method, path) = Self.odd[index]
            let jar = CookieJar(["127.0.0.1\tFALSE\t/\tFALSE\t0\tj\t4"])
            for isFirst in [true, false] {
                for plain: Fields in [[], [("Accept-Encoding", "identity")], [("Accept-Encoding", "gzip")]] {
                    for (own, jar) in [(nil, nil), (jar, nil), (jar, CookieJar())] as [(CookieJar?, CookieJar?)] {
                        if !isFirst { try await Self.send(path, fields, method, own, by: transport, to: server) }
                        try await Self.send("/plain", plain, .get, jar, by: transport, to: server)
                        let last = try #require(server.requests.last)
                        let host = [("Host", String(server.baseURL.dropFirst(7)))]
                        #expect(last.method == "GET")
                        #expect(last.target == "/plain")
                        #expect("\(last.fields)" == "\((host + plain).map { (name: $0.0, value: $0.1) })")
                        #expect(jar?.lines ?? [] == [])
                    }
                }
            }
        }
    }

    @Test("No login answers the challenge to the next request", arguments: [CurlTransport.Authentication.digest, .any])
    func logins(authentication: CurlTransport.Authentication) async throws {
        let challenge = [("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=MD5")]
        try await Self.with(
            by: authentication,
            { $0.field("Authorization") == nil ? .status("401 Unauthorized", fields: challenge) : .status("200 OK") }
        ) { transport, server async throws in
            for _ in 1...3 {
                let login = [("Authorization", "Basic dTpw")]
                #expect(try await Self.send("/", login, by: transport, to: server).status == .ok)
                let count = server.requests.count
                #expect(try await Self.send("/", by: transport, to: server).status == .unauthorized)
                #expect(server.requests.count == count + 1)
            }
        }
    }

    @Test("A line of a head is read as it was sent, whatever was at its place before")
    func heads() async throws {
        let lines = [
            "ETag: \"a\"\r\nX-A: 1\r\n", "ETag: \"a\"\r\nX-A: 1\r\n", "ETag: \"b\"\r\nX-A: 1\r\n",
            // The same letter in two forms.
            "ETag: \"e\u{301}\"\r\nX-A: 1\r\n", "ETag: \"\u{E9}\"\r\nX-A: 1\r\n", "etag: \"\u{E9}\"\r\nX-A: 1\r\n",
            "ETag: \"\u{E9}\"\r\n", "X-A: 1\r\nETag: \"a\"\r\n", "X-A: 1\r\n 2\r\nETag: \"a\"\r\n",
            "X-A: 1\r\nETag: \"a\"\r\n", "X-A: 1\r\nETag: \"a\"\r\nX-B: 1\r\nX-B: 1\r\n", "X-A: \r\n",
            (1...90).map { "X-\($0): \($0)\r\n" }.joined(), "X-A:1\r\nX-A: 1\r\n",
        ]
        let number = Mutex(0)
        let length = { @Sendable (index: Int) in "Content-Length: \(index)\r\n" }
        try await Self.with({ _ in
            let index = number.withLock { number in
                defer { number += 1 }
                return number
            }
            let status = index % 3 == 0 ? "200 OK" : "404 Not\(index)"
            let head = "HTTP/1.1 \(status)\r\n\(lines[index])\(length(index))\r\n"
            return Response([.raw(Array(head.utf8) + [UInt8](repeating: 0x61, count: index))])
        }) { transport, server in
            for (index, text) in lines.enumerated() {
                let head = try await Self.send("/", by: transport, to: server)
                let sent = (text + length(index)).replacing("\r\n ", with: " ").split(separator: "\r\n")
                let expected = sent.map { line in
                    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                    return Array("\(parts[0]):\(parts[1].drop { $0 == " " })".utf8)
                }
                #expect(head.headerFields.map { Array("\($0.name.rawName):\($0.value)".utf8) } == expected, "\(index)")
                #expect(head.status.reasonPhrase == (index % 3 == 0 ? "OK" : "Not\(index)"))
            }
        }
    }
}
