import NIOCore
import NIOPosix
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A client that sends bytes as given and keeps everything it receives, to inspect the wire.
final class RawClient: Sendable {
    /// The data received so far.
    struct Received: Sendable {
        var bytes: [UInt8] = []
        var isEnded = false
        var error: (any Error)?

        /// Whether the server broke the connection.
        var isReset: Bool { (error as? IOError)?.errnoCode == ECONNRESET }

        /// The number of bytes after the first head, `nil` before its end.
        var bodyCount: Int? {
            bytes.firstRange(of: Array("\r\n\r\n".utf8)).map { bytes.count - $0.upperBound }
        }
    }

    /// The data received when a wait timed out.
    struct NotReceived: Error {
        var received: Received
    }

    private let channel: any Channel
    private let received: Box

    private init(channel: any Channel, received: Box) {
        self.channel = channel
        self.received = received
    }

    /// Connects to a port of this machine.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - reads: Whether the client reads; otherwise the bytes accumulate.
    /// - Returns: The client.
    /// - Throws: Any error from connecting.
    static func connect(to port: Int, reads: Bool = true) async throws -> RawClient {
        let received = Box()
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.autoRead, value: reads)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(received))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return RawClient(channel: channel, received: received)
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
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
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
            let now = received.values.withLock { $0 }
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
    var now: Received { received.values.withLock { $0 } }

    /// Starts to read, if it does not already.
    func read() async throws {
        try await channel.setOption(.autoRead, value: true).get()
    }

    /// Closes the connection.
    func close() async throws {
        // The server may have closed the connection before.
        try? await channel.close().get()
    }

    /// The state shared by the channel and the test.
    fileprivate final class Box: Sendable {
        let values = Mutex(Received())
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

/// Keeps the bytes and the end of a channel.
private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: RawClient.Box

    init(_ received: RawClient.Box) {
        self.received = received
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        received.values.withLock { $0.bytes += bytes.readableBytesView }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        received.values.withLock { $0.error = error }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        received.values.withLock { $0.isEnded = true }
    }
}
