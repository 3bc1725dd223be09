import OriginServer
import Testing

/// Connections, the log, and requests as received.
@Suite(.timeLimit(.minutes(20)))
struct ConnectionTests {
    /// Echoes the main parts of the request.
    private static let echo: @Sendable (OriginRequest) -> Response = { request in
        .status("200 OK", body: Array("\(request.number) \(request.connection) \(request.path);".utf8))
    }

    /// Waits until a client has the expected number of answers, and returns their bodies.
    private func bodies(of client: RawClient, count: Int) async throws -> [String] {
        let received = try await client.wait { $0.bytes.count { $0 == UInt8(ascii: ";") } == count }
        let lines = String(decoding: received.bytes, as: UTF8.self).split(separator: "\r\n\r\n").dropFirst()
        return lines.map { String($0.prefix { $0 != ";" }) }
    }

    @Test func requestsInARowOnOneConnection() async throws {
        try await OriginServer.withServer(handler: Self.echo) { server in
            let client = try await RawClient.connect(to: server.port)
            for number in 1...3 {
                try await client.send(RawClient.request("GET", "/\(number)?q"))
                #expect(try await bodies(of: client, count: number).last == "\(number) 1 /\(number)")
            }
            let other = try await RawClient.connect(to: server.port)
            try await other.send(RawClient.request())
            #expect(try await bodies(of: other, count: 1) == ["4 2 /"])
            #expect(server.openConnections == 2)
            #expect(server.acceptedConnections == 2)
            try await client.close()
            try await other.close()
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await OriginServer.withServer { request in
            let pause = Response([.pause(milliseconds: request.number == 1 ? 100 : 0)])
            return Response(pause.steps + Self.echo(request).steps)
        } _: { server in
            let client = try await RawClient.connect(to: server.port)
            let body = "POST /b HTTP/1.1\r\nContent-Length: 9\r\n\r\nGET /x \r\n"
            let last = RawClient.request("GET", "http://host:1/d/e?f", fields: ["Connection: close"])
            let first = RawClient.request("GET", "/a")
            try await client.send(first + body + "\r\n" + RawClient.request("GET", "/c") + last)
            #expect(try await bodies(of: client, count: 4) == ["1 1 /a", "2 1 /b", "3 1 /c", "4 1 /d/e"])
            try await client.wait { $0.isEnded }
        }
    }

    @Test func requestInPieces() async throws {
        try await OriginServer.withServer(handler: Self.echo) { server in
            let client = try await RawClient.connect(to: server.port)
            for piece in ["GE", "T /slow HTTP/1.1\r", "\nHost: x\r\nA:  b \r\n", "a: c\r\n\r", "\n"] {
                try await client.send(piece)
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try await bodies(of: client, count: 1) == ["1 1 /slow"])
            let request = try #require(server.requests.first)
            #expect(request.method == "GET")
            #expect(request.target == "/slow")
            #expect(request.version == "HTTP/1.1")
            #expect(request.field("a") == "b")
            #expect(request.fields("A") == ["b", "c"])
            #expect(request.field("b") == nil)
            try await client.close()
        }
    }

    @Test func headsThatAreTooLargeOrNoHeads() async throws {
        try await OriginServer.withServer(handler: Self.echo) { server in
            let large = try await RawClient.connect(to: server.port)
            // Exactly the limit: bytes that the server never reads could make the client fail to send.
            let start = "GET / HTTP/1.1\r\nA: "
            try await large.send(start + String(repeating: "a", count: 65536 - start.utf8.count))
            let nothing = try await large.wait { $0.isEnded }
            #expect(nothing.bytes.isEmpty)
            for text in ["nonsense\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"] {
                let client = try await RawClient.connect(to: server.port)
                try await client.send(text)
                let received = try await client.wait { $0.isEnded }
                #expect(try Answer(received).status == "HTTP/1.1 400 Bad Request")
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func handlerIsSwapped() async throws {
        try await OriginServer.withServer(handler: Self.echo) { server in
            #expect(try await RawClient.fetch(port: server.port).status == "HTTP/1.1 200 OK")
            server.setHandler { _ in .status("503 Service Unavailable", fields: [("Retry-After", "1")]) }
            let answer = try await RawClient.fetch(port: server.port)
            #expect(answer.status == "HTTP/1.1 503 Service Unavailable")
            #expect(answer.fields == ["retry-after": "1", "content-length": "0"])
            #expect(server.requests.map(\.number) == [1, 2])
            #expect(server.baseURL == "http://127.0.0.1:\(server.port)")
        }
    }

    @Test func stepsAreWrittenAsTheyStand() async throws {
        let content = Content(length: 200_000, seed: 9)
        try await OriginServer.withServer { _ in
            Response([
                .raw(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)),
                .head(status: "200 OK", fields: [("A", "b"), ("A", "c")]),
                .chunked(content, 0..<150_000, chunkSize: 100_000), .chunked(content, 7..<7, chunkSize: 1), .lastChunk,
                .raw([0, 255]), .close,
            ])
        } _: { server in
            let client = try await RawClient.connect(to: server.port)
            try await client.send(RawClient.request())
            let received = try await client.wait { $0.isEnded }
            var expected = Array("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nA: c\r\n\r\n186a0\r\n".utf8)
            expected += content.bytes(in: 0..<100_000) + Array("\r\nc350\r\n".utf8)
            expected += content.bytes(in: 100_000..<150_000) + Array("\r\n0\r\n\r\n".utf8) + [0, 255]
            #expect(received.bytes == expected)
            #expect(server.bodyBytesSent == 150_000)
        }
    }

    @Test func byteRange() {
        func range(_ values: String...) -> (Int64, Int64?)? {
            OriginRequest(fields: values.map { ("range", $0) }).byteRange
        }
        #expect(range("bytes=5-9").map { $0 == (5, 9) } == true)
        #expect(range("bytes=5-").map { $0 == (5, nil) } == true)
        for other in ["bytes=-5", "bytes=1-2,3-4", "bytes=3-2", "items=1-2", "5-9", ""] { #expect(range(other) == nil) }
        #expect(range() == nil)
        #expect(range("bytes=5-9", "bytes=5-9") == nil)
    }

    @Test func portThatIsTaken() async throws {
        try await OriginServer.withServer(handler: Self.echo) { server in
            let port = server.port
            let error = await #expect(throws: SocketError.self) {
                try await OriginServer.start(port: port, handler: Self.echo)
            }
            #expect(error?.errnoCode == EADDRINUSE)
        }
    }
}
