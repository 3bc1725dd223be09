import Foundation
import OriginServer
import TestSupport
import Testing

/// HTTP/2 servers that send more frames than were requested, and read nothing.
@Suite(.serialized, .timeLimit(.minutes(30)), .enabled(if: Bound.isMeasured, "needs /proc and Python"))
struct FloodTests {
    /// The most memory that a `get` may use under a flood, idle memory included.
    private static let most = 64 << 20

    /// A server that floods.
    private struct Server {
        let folder: TemporaryFolder
        let process: ChildProcess
        let url: String
        /// The options that make a `get` trust it.
        let options: [String]

        /// The server's output.
        func output() throws -> String { String(decoding: try Files.bytes(folder["python"]), as: UTF8.self) }
    }

    private static func with<Result>(
        _ flood: String, _ body: (Server) async throws -> Result
    ) async throws -> Result {
        try await TemporaryFolder.with { folder in
            let files = try await TestCertificate("IP:127.0.0.1").make(in: folder)
            let port = try Loopback.freePort()
            let process = try Shell.start(
                "python3", ["-u", "-c", script, files.server, "\(port)", flood], output: folder["python"])
            try #require(try await Loopback.waits(for: process, at: port))
            let server = Server(
                folder: folder, process: process, url: "https://127.0.0.1:\(port)/file",
                options: ["--http2", "--cacert", files.trusted])
            do {
                let result = try await body(server)
                process.send(SIGTERM)
                await process.wait()
                return result
            } catch {
                process.send(SIGTERM)
                await process.wait()
                throw error
            }
        }
    }

    private static func flooded(by flood: String, _ stallTimeout: Int = 240) async throws -> MeasuredGet {
        try await with(flood) { server in
            let get = try await MeasuredGet.run(
                server.url, server.options + ["--stall-timeout", "\(stallTimeout)"])
            let output = try server.output()
            #expect(output.isEmpty, "\(output)")
            return get
        }
    }

    @Test(
        "A flood ends the connection with the reason, and uses no memory",
        arguments: [
            "preface", "continuation", "continuation-empty", "ping", "settings", "settings-long", "priority",
            "unknown", "window", "goaway", "reset", "push", "padding", "padded", "interim", "trailers",
            "trailers-again", "too-long",
        ])
    func endless(flood: String) async throws {
        let idle = try await MeasuredGet.idlePeak()
        let get = try await Self.flooded(by: flood)
        print("a flood over HTTP/2: \(flood)")
        expectBounded(get, over: idle)
        #expect(get.peak < Self.most)
        #expect(get.status == 75, "\(get.text)")
        #expect(get.delivered == nil)
        #expect(get.text.contains("HTTP"), "\(get.text)")
    }

    @Test("A flood before the request ends the connection, too", arguments: ["handshake", "connect"])
    func early(flood: String) async throws {
        let idle = try await MeasuredGet.idlePeak()
        let get = try await Self.with(flood) { server in
            let proxy = flood == "connect" ? ["-x", server.url.replacing("https", with: "http")] : []
            return try await MeasuredGet.run(server.url, server.options + proxy + ["--stall-timeout", "240"])
        }
        print("a flood before the request: \(flood)")
        expectBounded(get, over: idle)
        #expect(get.status == 75 && get.delivered == nil, "\(get.text)")
        #expect(get.text.contains("neither header nor body"), "\(get.text)")
    }

    @Test("A flood does not keep the program from ending", arguments: ["handshake", "ping"])
    func interrupted(flood: String) async throws {
        try await Self.with(flood) { server in
            let get = try Resumectl(folder: server.folder).start(
                ["get", server.url, "-o", server.folder["out"]] + server.options, output: server.folder["get"])
            try await Task.sleep(for: .milliseconds(500))
            let begin = ContinuousClock.now
            get.send(SIGINT)
            #expect(await get.wait() == .exited(130))
            #expect(ContinuousClock.now - begin < .seconds(20))
        }
    }

    @Test(
        "Unread data uses no more memory in small or padded frames", arguments: ["slow-tiny", "slow-padded"])
    func slow(flood: String) async throws {
        let idle = try await MeasuredGet.idlePeak()
        try await Self.with(flood) { server in
            let program = Resumectl(folder: server.folder)
            // One byte per second: nothing is read while the server sends.
            let get = try program.start(
                ["get", server.url, "-o", server.folder["out"], "--limit-rate", "1"] + server.options,
                output: server.folder["get"])
            try await wait(for: "the server to have sent all, or to be held back", while: get) {
                try server.output().contains("rest")
            }
            let status = try String(contentsOfFile: "/proc/\(get.processIdentifier)/status", encoding: .utf8)
            get.send(SIGKILL)
            await get.wait()
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            let peak = try #require(line.split(separator: " ").compactMap { Int($0) }.first) << 10
            print("a flood over HTTP/2, not read: \(peak >> 10) KiB, idle \(idle >> 10) KiB, \(try server.output())")
            #expect(peak - idle < Bound.extra, "\((peak - idle) >> 10) KiB more than idle")
            #expect(peak < Self.most)
        }
    }

    @Test("The check of an untrusted certificate uses no memory, whatever the server sends after it")
    func untrusted() async throws {
        let idle = try await MeasuredGet.idlePeak()
        let get = try await Self.with("preface") { try await MeasuredGet.run($0.url, ["--http2"]) }
        expectBounded(get, over: idle)
        #expect(get.status == 1 && get.text.contains("certificate"), "\(get.text)")
    }

    @Test("A malformed header block fails the request immediately", arguments: ["index", "name", "status"])
    func malformed(kind: String) async throws {
        // The watcher kills a get long before the response times out.
        let get = try await Self.flooded(by: "malformed-\(kind)", 6000)
        #expect(get.status == 75, "\(get.text)")
        #expect(get.text.contains("HTTP"), "\(get.text)")
    }

    @Test("A window that does not grow, or grows too far, is an error (RFC 9113, 6.9)", arguments: [0, 1])
    func window(overflow: Int) async throws {
        var output = ""
        // The reset of a connection that is closed with unread data may overtake the frame with the error.
        for _ in 0..<20 where output.isEmpty {
            output = try await Self.with("window-\(overflow)") { server in
                let get = try await MeasuredGet.run(server.url, server.options + ["--stall-timeout", "240"])
                #expect(get.status == 75 && get.delivered == nil, "\(get.text)")
                return try server.output()
            }
        }
        // PROTOCOL_ERROR, or FLOW_CONTROL_ERROR; for the stream, or for the connection (5.4.2).
        #expect(output.hasPrefix(overflow == 0 ? "1\n" : "3\n"), "\(output)")
    }

    @Test("Small frames, and frames with some padding, are delivered", arguments: ["few-tiny", "some-padding"])
    func honest(kind: String) async throws {
        let get = try await Self.flooded(by: kind)
        #expect(get.status == 0, "\(get.text)")
        #expect(get.delivered == (kind == "few-tiny" ? 5000 : 4_000_000))
    }

    /// Answers a request on each connection with a flood.
    private static let script = #"""
        import select, socket, ssl, sys
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        context.set_alpn_protocols(["h2"])
        flood = sys.argv[3]
        def frame(kind, flags, stream, payload=b""):
            return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
        def literal(name, value):
            return bytes([0]) + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        def status(text):
            return literal(":status", text)
        class Peer:
            def __init__(self, connection):
                self.socket, self.input = connection, b""
                self.windows, self.initial, self.stream, self.sent = {0: 65535}, 65535, 0, 0
            def window(self, stream):
                return self.windows.setdefault(stream, self.initial)
            def take(self, waits):
                "Reads what there is, and handles whole frames."
                while self.socket.pending() or waits or select.select([self.socket], [], [], 0)[0]:
                    data = self.socket.recv(65536)
                    if not data:
                        raise OSError("closed")
                    self.input += data
                    waits = False
                if self.input.startswith(b"PRI"):
                    if len(self.input) < 24:
                        return
                    self.input = self.input[24:]
                while len(self.input) >= 9:
                    length, kind, flags = int.from_bytes(self.input[:3], "big"), self.input[3], self.input[4]
                    if len(self.input) < 9 + length:
                        return
                    number, payload = int.from_bytes(self.input[5:9], "big"), self.input[9:9 + length]
                    self.input = self.input[9 + length:]
                    if kind == 1:
                        self.stream = number
                    if kind in (3, 7) and flood.startswith("window-"):
                        print(int.from_bytes(payload[4:8] if kind == 7 else payload, "big"))
                    if kind == 8:
                        self.windows[number] = self.window(number) + int.from_bytes(payload, "big")
                    if kind == 4 and not flags & 1:
                        for start in range(0, length, 6):
                            if payload[start:start + 2] == b"\0\4":
                                old, self.initial = self.initial, int.from_bytes(payload[start + 2:start + 6], "big")
                                for key in self.windows:
                                    self.windows[key] += self.initial - old if key else 0
                        self.socket.sendall(frame(4, 1, 0))
            def data(self, one, count):
                "Sends DATA frames as the windows allow."
                cost = len(one) - 9
                while count:
                    self.take(False)
                    room = min(self.window(0), self.window(self.stream)) // max(cost, 1) if cost else count
                    some = min(room, count, max(65536 // len(one), 1))
                    if some <= 0:
                        self.take(True)
                        continue
                    self.socket.sendall(one * some)
                    self.sent += len(one) * some
                    self.windows[0] -= cost * some
                    self.windows[self.stream] -= cost * some
                    count -= some
            def forever(self, piece):
                block = piece * max(65536 // len(piece), 1)
                while True:
                    self.socket.sendall(block)
        def answer(peer):
            number, send = peer.stream, peer.socket.sendall
            head = frame(1, 4, number, status("200") + literal("etag", '"a"'))
            field = literal("x-field", "a" * 100)
            padded = lambda bytes_: frame(0, 8, number, b"\xff" + bytes_ + b"\0" * 255)
            if flood == "continuation":
                send(frame(1, 0, number, status("200")))
                peer.forever(frame(9, 0, number, field * 140))
            if flood == "continuation-empty":
                send(frame(1, 0, number, status("200")))
                peer.forever(frame(9, 0, number))
            if flood == "too-long":
                send(frame(1, 0, number, status("200") + field * 100))
                for _ in range(4):
                    send(frame(9, 0, number, field * 140))
                send(frame(9, 4, number, field))
                peer.forever(frame(6, 0, 0, b"12345678"))
            if flood.startswith("malformed-"):
                blocks = {"index": b"\x80", "name": status("200") + literal("Upper", "a"), "status": literal("a", "b")}
                send(frame(1, 5, number, blocks[flood[10:]]))
                while True:
                    peer.take(True)
            if flood == "interim":
                peer.forever(frame(1, 4, number, status("103") + field * 100))
            send(head)
            if flood.startswith("window-"):
                send(frame(8, 0, number, b"\0\0\0\0" if flood == "window-0" else b"\x7f\xff\xff\xff"))
                while True:
                    peer.take(True)
            if flood == "ping":
                peer.forever(frame(6, 0, 0, b"12345678"))
            if flood == "settings":
                peer.forever(frame(4, 0, 0))
            if flood == "settings-long":
                peer.forever(frame(4, 0, 0, b"\0\x03\0\0\0\x64" * 2730))
            if flood == "priority":
                peer.forever(frame(2, 0, number, b"\0\0\0\0\1"))
            if flood == "unknown":
                peer.forever(frame(99, 0, 0, b"a" * 16384))
            if flood == "window":
                peer.forever(frame(8, 0, 0, b"\0\0\0\1"))
            if flood == "goaway":
                peer.forever(frame(7, 0, 0, b"\x7f\xff\xff\xff\0\0\0\0" + b"a" * 16000))
            if flood == "reset":
                peer.forever(frame(3, 0, number, b"\0\0\0\x08"))
            if flood == "push":
                peer.forever(frame(5, 4, number, b"\0\0\0\2" + field))
            if flood == "padding":
                peer.data(padded(b""), 1 << 40)
            if flood == "padded":
                peer.data(padded(b"a"), 1 << 40)
            if flood.startswith("slow-"):
                peer.socket.settimeout(5)
                try:
                    peer.data(padded(b"a") if flood == "slow-padded" else frame(0, 0, number, b"a"), 1_000_000)
                finally:
                    print(peer.sent, "bytes, at rest")
                    peer.socket.settimeout(None)
                    while True:
                        peer.take(True)
            if flood == "trailers":
                send(frame(1, 1, number, field * 100))
                peer.forever(frame(9, 0, number, field * 140))
            if flood == "trailers-again":
                peer.forever(frame(1, 4, number, field * 100))
            if flood == "few-tiny":
                peer.data(frame(0, 0, number, b"a"), 5000)
            if flood == "some-padding":
                peer.data(padded(b"a" * 1000), 4000)
            send(frame(0, 1, number))
            while True:
                peer.take(True)
        listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
        while True:
            connection, _ = listener.accept()
            try:
                if flood == "handshake":
                    while True:
                        connection.sendall(b"\x16\x03\x03\0\4\0\0\0\0" * 5000)
                if flood == "connect":
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 407 x\r\nContent-Length: 999999999999\r\n\r\n")
                    while True:
                        connection.sendall(b"a" * 65536)
                peer = Peer(context.wrap_socket(connection, server_side=True))
                if flood == "preface":
                    peer.forever(frame(6, 0, 0, b"12345678"))
                peer.socket.sendall(frame(4, 0, 0))
                while not peer.stream:
                    peer.take(True)
                answer(peer)
            except OSError:
                pass
            connection.close()
        """#
}
