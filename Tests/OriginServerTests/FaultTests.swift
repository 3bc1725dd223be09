import OriginServer
import Synchronization
import TestSupport
import Testing

/// Cuts, resets, stalls and slow bodies, as a client sees them.
@Suite(.timeLimit(.minutes(20)))
struct FaultTests {
    private static let content = Content(length: 1_000_000, seed: 5)
    private static let endless = Content(length: 5 << 30, seed: 1)
    private static let resource = Resource(content, etag: "\"v1\"")

    @Test func cut() async throws {
        try await OriginServer.withServer(handler: { .file(Self.resource, for: $0, cutAfter: 123_457) }) { server in
            let answer = try await RawClient.fetch(port: server.port)
            #expect(answer.status == "HTTP/1.1 200 OK")
            #expect(answer.fields["content-length"] == "1000000")
            #expect(answer.received.error == nil)
            #expect(answer.body == Self.content.bytes(in: 0..<123_457))
            #expect(server.bodyBytesSent == 123_457)
            // The count refers to the body that is sent, so a resumed download is cut later in the file.
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
            // The second answer uses the connection of the first, and the third that of the second.
            for count in 2...3 {
                try await client.send(request)
                try await client.wait(forBytes: count * length)
            }
            #expect(server.acceptedConnections == 1)
            #expect(client.now.bytes.suffix(10) == Self.content.bytes(in: 0..<10)[...])
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
            try await wait { server.openConnections == 0 }
        }
    }

    @Test func waitForACondition() async throws {
        let mayGoOn = Atomic(false)
        let response = Response([
            .head(status: "200 OK", fields: [("Content-Length", "6")]), .raw(Array("abc".utf8)),
            .wait { mayGoOn.load(ordering: .relaxed) }, .raw(Array("def".utf8)),
        ])
        try await OriginServer.withServer(handler: { _ in response }) { server in
            let client = try await RawClient.connect(to: server.port)
            try await client.send(RawClient.request())
            let before = try await client.wait { $0.bodyCount ?? 0 > 0 }
            #expect(before.bodyCount == 3)
            mayGoOn.store(true, ordering: .relaxed)
            let after = try await client.wait { $0.bodyCount ?? 0 > 3 }
            #expect(after.bodyCount == 6)
            try await client.close()
        }
        // A client that leaves ends the wait.
        mayGoOn.store(false, ordering: .relaxed)
        try await OriginServer.withServer(handler: { _ in response }) { server in
            let client = try await RawClient.connect(to: server.port)
            try await client.send(RawClient.request())
            try await client.wait { $0.bodyCount == 3 }
            try await client.close()
            try await wait { server.openConnections == 0 }
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
            #expect(server.openConnections == 1)
            try await client.close()
            try await wait { server.openConnections == 0 }
            // The server had read the second request before it saw the end of the connection.
            #expect(client.now.bodyCount == 5000)
            #expect(server.bodyBytesSent == 5000)
            #expect(server.requests.count == 1)
        }
    }

    @Test func stallUntilTheServerStops() async throws {
        let server = try await OriginServer.start { _ in Response([.hold]) }
        let client = try await RawClient.connect(to: server.port)
        try await client.send(RawClient.request())
        try await wait { server.requests.count == 1 }
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
        let small = Content("small")
        let handler: @Sendable (OriginRequest) -> Response = { request in
            request.path == "/small" ? .file(Resource(small), for: request) : .file(resource, for: request)
        }
        try await OriginServer.withServer(sendBufferSize: 65536, handler: handler) { server in
            let client = try await RawClient.connect(to: server.port, reads: false)
            try await client.send(RawClient.request())
            try await wait { server.bodyBytesSent > 0 }
            try await client.close()
            try await wait { server.openConnections == 0 }
            // Without a reader, no more was accepted than the buffers of the system hold.
            let sent = server.bodyBytesSent
            #expect(sent < 64 << 20)
            // Each of the server's threads has done other things since then.
            for _ in 1...4 { #expect(try await RawClient.fetch("GET", "/small", port: server.port).body.count == 5) }
            #expect(server.bodyBytesSent == sent + 20)
        }
    }

    @Test func gate() async throws {
        let gate = Gate()
        let handler: @Sendable (OriginRequest) -> Response = {
            .file(Self.resource, for: $0, pausingAt: 1000, for: .gate(gate))
        }
        try await OriginServer.withServer(handler: handler) { server in
            let client = try await RawClient.connect(to: server.port)
            try await client.send(RawClient.request())
            try await client.wait { $0.bodyCount == 1000 }
            try await wait { gate.arrivals == 1 }
            #expect(server.bodyBytesSent == 1000)
            gate.open()
            try await client.wait { $0.bodyCount == 1_000_000 }
            // An open gate stays open.
            #expect(try await RawClient.fetch(port: server.port).body == Self.content.bytes(in: Self.content.all))
            #expect(gate.arrivals == 2)
            try await client.close()
        }
    }

    #if os(Linux)
    @Test func cutWaitsForTheClient() async throws {
        let (slow, other) = (Gate(), Gate())
        let handler: @Sendable (OriginRequest) -> Response = { request in
            Response([
                .body(Self.content, 0..<100_000), .drain, .gate(request.path == "/slow" ? slow : other), .reset,
            ])
        }
        try await OriginServer.withServer(handler: handler) { server in
            let client = try await RawClient.connect(to: server.port, reads: false)
            try await client.send(RawClient.request("GET", "/slow"))
            try await wait { server.bodyBytesSent == 100_000 }
            // Another connection is served completely in between.
            let second = try await RawClient.connect(to: server.port)
            try await second.send(RawClient.request("GET", "/other"))
            try await second.wait(forBytes: 100_000)
            try await wait { other.arrivals == 1 }
            #expect(slow.arrivals == 0)
            client.read()
            try await client.wait(forBytes: 100_000)
            try await wait { slow.arrivals == 1 }
            for gate in [slow, other] { gate.open() }
            for client in [client, second] {
                let received = try await client.wait { $0.isEnded }
                #expect(received.bytes == Self.content.bytes(in: 0..<100_000))
            }
        }
    }
    #endif

    @Test func slowBodies() async throws {
        let clock = ContinuousClock()
        try await OriginServer.withServer(handler: { request in
            let part = Self.content.all.clamped(to: 0..<20_000)
            return switch request.path {
            case "/rate": Response([.limitedRate(Self.content, part, bytesPerSecond: 50_000), .close])
            case "/trickle":
                Response([.trickle(Self.content, part, bytesPerStep: 5000, milliseconds: 100), .close])
            default: .file(Self.resource, for: request, cutAfter: 20_000, pausingAt: 7, for: .pause(milliseconds: 300))
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
