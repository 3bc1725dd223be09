import OriginServer
import Testing

/// Cuts, resets, stalls and slow bodies, as a client sees them.
@Suite(.timeLimit(.minutes(5)))
struct FaultTests {
    private static let content = Content(length: 1_000_000, seed: 5)
    private static let endless = Content(length: 5 << 30, seed: 1)
    private static let resource = Resource(content, etag: "\"v1\"")

    /// Waits until a server is as it should be.
    private func eventually(_ condition: () -> Bool) async throws -> Bool {
        for _ in 0..<2500 where !condition() { try await Task.sleep(for: .milliseconds(2)) }
        return condition()
    }

    @Test func cut() async throws {
        try await OriginServer.withServer(handler: { .file(Self.resource, for: $0, cutAfter: 123_457) }) { server in
            let answer = try await RawClient.fetch(port: server.port)
            #expect(answer.status == "HTTP/1.1 200 OK")
            #expect(answer.fields["content-length"] == "1000000")
            #expect(answer.received.error == nil)
            #expect(answer.body == Self.content.bytes(in: 0..<123_457))
            #expect(server.bodyBytesSent == 123_457)
            // The count is of the body that is sent, so a resumed download is cut later in the file.
            let second = try await RawClient.fetch(fields: ["Range: bytes=123457-"], port: server.port)
            #expect(second.body == Self.content.bytes(in: 123_457..<246_914))
            #expect(server.bodyBytesSent == 246_914)
        }
    }

    @Test func cutThatIsNotReached() async throws {
        let handler: @Sendable (OriginRequest) -> Response = {
            .file(Self.resource, for: $0, cutAfter: 10, reset: true)
        }
        try await OriginServer.withServer(handler: handler) { server in
            let client = try await RawClient.connect(to: server.port)
            let request = RawClient.request(fields: ["Range: bytes=0-9"])
            try await client.send(request)
            let length = try await client.wait { $0.bodyCount == 10 }.bytes.count
            try await client.send(request)
            try await client.wait(forBytes: 2 * length)
            #expect(!client.now.isEnded)
            try await client.close()
        }
    }

    @Test func reset() async throws {
        let handler: @Sendable (OriginRequest) -> Response = {
            .file(Self.resource, for: $0, cutAfter: 100_000, reset: true)
        }
        try await OriginServer.withServer(handler: handler) { server in
            let answer = try await RawClient.fetch(port: server.port)
            #expect(answer.received.isReset)
            #expect(answer.body == Self.content.bytes(in: 0..<100_000))
            #expect(try await eventually { server.openConnections == 0 })
        }
    }

    @Test func resetBeforeAnything() async throws {
        try await OriginServer.withServer(handler: { _ in Response([.reset]) }) { server in
            let client = try await RawClient.connect(to: server.port)
            try await client.send(RawClient.request())
            let received = try await client.wait { $0.isEnded }
            #expect(received.isReset)
            #expect(received.bytes.isEmpty)
        }
    }

    @Test func stallUntilTheClientLeaves() async throws {
        let handler: @Sendable (OriginRequest) -> Response = {
            .file(Self.resource, for: $0, cutAfter: 5000, stall: true)
        }
        try await OriginServer.withServer(handler: handler) { server in
            let client = try await RawClient.connect(to: server.port)
            try await client.send(RawClient.request())
            try await client.wait { $0.bodyCount == 5000 }
            // Another request on a stalled connection waits for an end that does not come.
            try await client.send(RawClient.request())
            try await Task.sleep(for: .milliseconds(200))
            #expect(client.now.bodyCount == 5000)
            #expect(!client.now.isEnded)
            #expect(server.openConnections == 1)
            #expect(server.requests.count == 1)
            try await client.close()
            #expect(try await eventually { server.openConnections == 0 })
        }
    }

    @Test func stallUntilTheServerStops() async throws {
        let server = try await OriginServer.start { _ in Response([.hold]) }
        let client = try await RawClient.connect(to: server.port)
        try await client.send(RawClient.request())
        #expect(try await eventually { server.requests.count == 1 })
        try await server.stop()
        try await client.wait { $0.isEnded }
        #expect(server.openConnections == 0)
        try await server.stop()
    }

    @Test(arguments: [Step.body(endless, endless.all), .chunked(endless, endless.all, chunkSize: 100_000)])
    func stopInTheMiddle(step: Step) async throws {
        for _ in 0..<5 {
            let server = try await OriginServer.start { _ in Response([step]) }
            let clients = [try await RawClient.connect(to: server.port), try await RawClient.connect(to: server.port)]
            for client in clients {
                try await client.send(RawClient.request())
                try await client.wait(forBytes: 1_000_000)
            }
            try await server.stop()
            for client in clients { try await client.wait { $0.isEnded } }
            #expect(server.openConnections == 0)
        }
    }

    @Test func clientThatLeavesEndsTheScript() async throws {
        let resource = Resource(Self.endless)
        try await OriginServer.withServer(sendBufferSize: 65536, handler: { .file(resource, for: $0) }) { server in
            let client = try await RawClient.connect(to: server.port, reads: false)
            try await client.send(RawClient.request())
            #expect(try await eventually { server.bodyBytesSent > 0 })
            // Nobody reads, so the buffers of the system fill up and no more is taken.
            var before: Int64 = -1
            while before != server.bodyBytesSent {
                before = server.bodyBytesSent
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(server.bodyBytesSent < 64 << 20)
            try await client.close()
            #expect(try await eventually { server.openConnections == 0 })
            #expect(server.bodyBytesSent == before)
        }
    }

    @Test func slowBodies() async throws {
        let clock = ContinuousClock()
        try await OriginServer.withServer(handler: { request in
            let part = Self.content.all.clamped(to: 0..<20_000)
            return switch request.path {
            case "/rate": Response([.limitedRate(Self.content, part, bytesPerSecond: 50_000), .close])
            case "/trickle":
                Response([.trickle(Self.content, part, bytesPerStep: 5000, milliseconds: 100), .close])
            default: .file(Self.resource, for: request, cutAfter: 20_000, pausingFor: 300, pauseAfter: 7)
            }
        }) { server in
            for (path, least) in [("/rate", 370), ("/trickle", 290), ("/pause", 290)] {
                let start = clock.now
                let client = try await RawClient.connect(to: server.port)
                try await client.send(RawClient.request("GET", path))
                let received = try await client.wait { $0.isEnded }
                let time = clock.now - start
                #expect(received.bytes.suffix(20_000) == Self.content.bytes(in: 0..<20_000)[...])
                #expect(time > .milliseconds(least), "\(path)")
            }
            #expect(server.bodyBytesSent == 60_000)
        }
    }
}
