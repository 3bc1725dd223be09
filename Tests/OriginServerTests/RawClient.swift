import OriginServer
import Synchronization

/// A client that sends bytes as given and keeps everything it receives, to inspect the wire.
///
/// It reads only in ``now`` and the waits.
final class RawClient: Sendable {
    /// The data received so far.
    struct Received: Sendable {
        var bytes: [UInt8] = []
        var isEnded = false
        var error: (any Error)?

        /// Whether the server broke the connection.
        var isReset: Bool { (error as? SocketError)?.errnoCode == ECONNRESET }

        /// The number of bytes after the first head, `nil` before its end.
        var bodyCount: Int? {
            bytes.firstRange(of: Array("\r\n\r\n".utf8)).map { bytes.count - $0.upperBound }
        }
    }

    /// The data received when a wait timed out.
    struct NotReceived: Error {
        var received: Received
    }

    private struct State {
        var received = Received()
        var reads: Bool
        var isClosed = false
    }

    private let socket: Socket
    private let state: Mutex<State>

    private init(_ socket: Socket, reads: Bool) {
        self.socket = socket
        state = Mutex(State(reads: reads))
    }

    /// Connects to a port of this machine.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - reads: Whether the client reads when it is asked for received data; otherwise the bytes accumulate.
    /// - Returns: The client.
    /// - Throws: Any error from connecting.
    static func connect(to port: Int, reads: Bool = true) async throws -> RawClient {
        RawClient(try Socket(connectingTo: port), reads: reads)
    }

    /// Sends a request without a body and waits for the end of the answer or of the connection.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The target.
    ///   - fields: The field lines; `Connection: close` is added, so that the end of the answer is seen.
    ///   - port: The port of the server.
    /// - Returns: The answer.
    /// - Throws: Any error from the connection, or an error if there was no answer.
    static func fetch(
        _ method: String = "GET",
        _ target: String = "/",
        fields: [String] = [],
        port: Int
    ) async throws -> Answer {
        let client = try await connect(to: port)
        try await client.send(request(method, target, fields: fields + ["Connection: close"]))
        let received = try await client.wait { $0.isEnded }
        try await client.close()
        return try Answer(received)
    }

    /// Writes a request without a body.
    static func request(_ method: String = "GET", _ target: String = "/", fields: [String] = []) -> String {
        (["\(method) \(target) HTTP/1.1", "Host: localhost"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// Sends bytes.
    func send(_ text: String) async throws {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = try socket.send(bytes, from: sent)
            sent += count
            if count == 0 { try await Task.sleep(for: .milliseconds(2)) }
        }
    }

    /// Waits until enough is received.
    ///
    /// - Parameters:
    ///   - seconds: The maximum wait.
    ///   - condition: Whether it is enough.
    /// - Returns: The received data.
    /// - Throws: ``NotReceived``, immediately if the connection has ended.
    @discardableResult
    func wait(seconds: Int = 180, until condition: (Received) -> Bool) async throws -> Received {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            let now = now
            if condition(now) { return now }
            guard !now.isEnded, ContinuousClock.now < end else { throw NotReceived(received: now) }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Waits until the given number of bytes is received.
    func wait(forBytes count: Int) async throws {
        try await wait { $0.bytes.count >= count }
    }

    /// The data received so far.
    var now: Received {
        state.withLock { state in
            while state.reads, !state.isClosed, !state.received.isEnded {
                do {
                    switch try socket.receive() {
                    case .bytes(let bytes): state.received.bytes += bytes
                    case .nothing: return state.received
                    case .ended: state.received.isEnded = true
                    }
                } catch {
                    state.received.error = error
                    state.received.isEnded = true
                }
            }
            return state.received
        }
    }

    /// Reads from now on.
    func read() { state.withLock { $0.reads = true } }

    /// Closes the connection.
    func close() async throws { end() }

    deinit { end() }

    private func end() {
        state.withLock { state in
            if !state.isClosed { socket.close() }
            state.isClosed = true
        }
    }
}

/// A parsed answer.
struct Answer {
    var status: String
    var fields: [String: String] = [:]
    var body: [UInt8]
    var received: RawClient.Received

    /// Why bytes are not an answer.
    struct NoHead: Error {
        var received: RawClient.Received
    }

    /// Parses the first answer; the body is everything after its head.
    init(_ received: RawClient.Received) throws {
        guard let end = received.bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { throw NoHead(received: received) }
        self.received = received
        let head = String(decoding: received.bytes[..<end.lowerBound], as: UTF8.self)
        let lines = head.split(separator: "\r\n").map(String.init)
        status = lines[0]
        for line in lines.dropFirst() {
            guard let colon = line.firstRange(of: ": ") else { continue }
            fields[line[..<colon.lowerBound].lowercased()] = String(line[colon.upperBound...])
        }
        body = Array(received.bytes[end.upperBound...])
    }
}
