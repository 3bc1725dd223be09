import Foundation
import TestSupport

/// A server that announces one byte more than it sends, and closes the connection right after the last one.
///
/// It is a Python program: Foundation has no TLS server.
struct EarlyEnd {
    enum Kind: String, CaseIterable {
        case plain
        /// Over TLS. The end is a bare TCP close, or announced with close_notify.
        case tls, tlsAnnounced
        case http2, http2Announced

        var isSecure: Bool { self != .plain }
        var isHTTP2: Bool { self == .http2 || self == .http2Announced }
        fileprivate var isAnnounced: Bool { self == .tlsAnnounced || self == .http2Announced }
    }

    let kind: Kind
    let port: Int
    private let output: String

    /// The number of bodies that the system has accepted, including the end of the connection.
    var endings: Int {
        let lines = ((try? Files.bytes(output)) ?? []).split(separator: UInt8(ascii: "\n"))
        return lines.count { $0.elementsEqual("ended".utf8) }
    }

    /// Runs a body with a server.
    ///
    /// - Parameters:
    ///   - kind: The protocol.
    ///   - bytes: The bytes to send.
    ///   - body: The code that uses the server.
    /// - Throws: What the body throws, or an error if the server cannot be started.
    static func with(_ kind: Kind, sending bytes: [UInt8], _ body: (EarlyEnd) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            try Files.write(bytes, to: folder["body"])
            let port = try Loopback.freePort()
            let name = kind.isHTTP2 ? "h2" : kind.isSecure ? "http/1.1" : "plain"
            let process = try Shell.start(
                "python3",
                [
                    "-c", program, "\(port)", folder["body"], HTTP2Gateway.certificate, name,
                    kind.isAnnounced ? "announced" : "bare",
                ], output: folder["output"])
            guard try await Loopback.waits(for: process, at: port) else {
                throw Shell.Failure(description: "python3 did not start")
            }
            // After an error, the release of the process ends it.
            try await body(EarlyEnd(kind: kind, port: port, output: folder["output"]))
            process.send(SIGTERM)
            await process.wait()
        }
    }

    /// Answers the first request of each connection; over HTTP/2 as far as the client's windows permit.
    private static let program = #"""
        import select, socket, ssl, sys, threading

        port, path, certificate, protocol, end = sys.argv[1:]
        body = open(path, "rb").read()
        length = str(len(body) + 1)

        def read(connection, count):
            data = b""
            while len(data) < count:
                part = connection.recv(count - len(data))
                if not part:
                    raise EOFError
                data += part
            return data

        def answer(connection):
            request = b""
            while b"\r\n\r\n" not in request:
                request += read(connection, 1)
            head = f'HTTP/1.1 200 OK\r\nETag: "v1"\r\nContent-Length: {length}\r\n\r\n'
            connection.sendall(head.encode() + body)

        def frame(kind, flags, stream, payload=b""):
            return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

        def field(index, value):
            # The name is an entry of the static table (RFC 7541, 6.2.2).
            return bytes([15, index - 15, len(value)]) + value.encode()

        def answer_http2(connection):
            read(connection, 24)
            connection.sendall(frame(4, 0, 0))
            initial, windows, stream, sent = 65535, {0: 65535}, None, 0
            while sent < len(body):
                head = read(connection, 9)
                payload = read(connection, int.from_bytes(head[:3], "big"))
                kind, flags, number = head[3], head[4], int.from_bytes(head[5:], "big")
                if kind == 4 and not flags & 1:
                    for start in range(0, len(payload), 6):
                        if payload[start:start + 2] == b"\0\4":
                            value = int.from_bytes(payload[start + 2:start + 6], "big")
                            if stream:
                                windows[stream] += value - initial
                            initial = value
                    connection.sendall(frame(4, 1, 0))
                if kind == 6 and not flags & 1:
                    connection.sendall(frame(6, 1, 0, payload))
                if kind == 8 and number in windows:
                    windows[number] += int.from_bytes(payload, "big")
                if kind == 1 and not stream:
                    stream = number
                    windows[stream] = initial
                    connection.sendall(frame(1, 4, stream, b"\x88" + field(28, length) + field(34, '"v1"')))
                while stream and sent < len(body):
                    part = body[sent:sent + min(16384, windows[0], windows[stream])]
                    if not part:
                        break
                    connection.sendall(frame(0, 0, stream, part))
                    sent += len(part)
                    windows[0] -= len(part)
                    windows[stream] -= len(part)

        def announce(connection):
            connection.setblocking(False)
            while True:
                try:
                    return connection.unwrap()
                except ssl.SSLWantWriteError:
                    select.select([], [connection], [])
                except ssl.SSLError:
                    # It is sent. What is missing, or preceded by other data, is the client's own announcement.
                    return

        def serve(connection):
            try:
                if protocol != "plain":
                    connection = context.wrap_socket(connection, server_side=True)
                (answer_http2 if protocol == "h2" else answer)(connection)
                if end == "announced":
                    announce(connection)
                # Without TLS from here on. The client may still send, and unread bytes would make the system send a
                # RST.
                connection.shutdown(socket.SHUT_WR)
                print("ended", flush=True)
                connection.setblocking(True)
                while connection.recv(65536):
                    pass
            except (OSError, EOFError):
                pass
            connection.close()

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        if protocol != "plain":
            context.set_alpn_protocols([protocol])
        listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
        """#
}
