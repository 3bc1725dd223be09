import NIOCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Performs the steps of one response on a channel.
///
/// It is used only on the event loop of the channel. After each write it waits for the socket to accept the bytes, and
/// each step begins in a separate turn of the event loop. So a client's disconnect is noticed, and other connections
/// get their share.
final class ScriptRunner {
    private let channel: any Channel
    private let state: ServerState
    private var steps: ArraySlice<Step>
    private var payload: Payload?
    private var timer: Scheduled<Void>?
    private var finished: (() -> Void)?

    /// Creates a runner.
    ///
    /// - Parameters:
    ///   - response: The steps.
    ///   - channel: The channel of the connection.
    ///   - state: Where body bytes are counted.
    ///   - finished: Called when all steps are done and none ended the connection.
    init(_ response: Response, on channel: any Channel, state: ServerState, finished: @escaping () -> Void) {
        self.channel = channel
        self.state = state
        self.steps = response.steps[...]
        self.finished = finished
    }

    /// Begins the first step.
    func run() {
        resume(after: .zero)
    }

    /// Stops the script.
    func stop() {
        finished = nil
        steps = []
        payload = nil
        timer?.cancel()
        timer = nil
    }

    /// Performs the next step, or the next piece of the current one.
    private func advance() {
        timer = nil
        // Only a stopped runner has nothing to do at the end.
        guard let finished else { return }
        if payload != nil { return sendPieces() }
        guard let step = steps.popFirst() else {
            stop()
            return finished()
        }
        switch step {
        case .head(let status, let fields):
            let lines = ["HTTP/1.1 \(status)"] + fields.map { "\($0.0): \($0.1)" }
            write([ByteBuffer(string: lines.joined(separator: "\r\n") + "\r\n\r\n")])
        case .raw(let bytes):
            write([ByteBuffer(bytes: bytes)])
        case .lastChunk:
            write([ByteBuffer(string: "0\r\n\r\n")])
        case .body, .chunked, .trickle, .limitedRate:
            payload = Payload(step)
            sendPieces()
        case .pause(let milliseconds):
            resume(after: .milliseconds(Int64(max(0, milliseconds))))
        case .gate(let gate):
            wait(at: gate)
        case .drain:
            drain(until: .now() + Self.drainLimit)
        case .wait(let condition):
            if condition() { return resume(after: .zero) }
            steps = [step] + steps
            resume(after: .milliseconds(5))
        case .hold:
            break
        case .close:
            stop()
            channel.close(promise: nil)
        case .reset:
            stop()
            reset()
        }
    }

    /// Writes the next pieces of the current payload step.
    private func sendPieces() {
        guard let pieces = payload?.nextPieces(), let last = pieces.last else {
            payload = nil
            return resume(after: .zero)
        }
        for piece in pieces.dropLast() {
            for buffer in piece.buffers.dropLast() { channel.write(buffer, promise: nil) }
            // Each piece counts separately, so that the count is nearly exact when the client leaves.
            channel.write(piece.buffers.last ?? ByteBuffer()).whenSuccess { [state] in
                state.countBodyBytes(piece.payloadCount)
            }
        }
        write(last.buffers, payloadCount: last.payloadCount)
    }

    /// Writes bytes and continues when the socket has accepted them all.
    ///
    /// - Parameters:
    ///   - buffers: The bytes, in this order.
    ///   - payloadCount: How many of them count as body bytes.
    private func write(_ buffers: [ByteBuffer], payloadCount: Int = 0) {
        for buffer in buffers.dropLast() { channel.write(buffer, promise: nil) }
        channel.writeAndFlush(buffers.last ?? ByteBuffer()).assumeIsolated().whenComplete { [self] result in
            // A write fails when the client has left; the channel then becomes inactive, which ends the script.
            guard case .success = result else { return stop() }
            state.countBodyBytes(payloadCount)
            resume(after: payload?.delay(after: payloadCount, now: .now()) ?? .zero)
        }
    }

    /// Continues in a later turn of the event loop.
    ///
    /// - Parameter delay: How much later.
    private func resume(after delay: TimeAmount) {
        let loop = channel.eventLoop.assumeIsolated()
        if delay > .zero {
            timer = loop.scheduleTask(in: delay) { [self] in advance() }
        } else {
            loop.execute { [self] in advance() }
        }
    }

    /// Continues when a gate is open.
    ///
    /// - Parameter gate: The gate.
    private func wait(at gate: Gate) {
        let loop = channel.eventLoop
        let runner = NIOLoopBound(self, eventLoop: loop)
        gate.pass { loop.execute { runner.value.advance() } }
    }

    /// The maximum wait for a client that does not read.
    private static let drainLimit = TimeAmount.seconds(30)

    /// Continues when the client has read all bytes.
    ///
    /// - Parameters:
    ///   - deadline: When to continue in any case.
    ///   - misses: How many times in a row the system's table did not have the connection; a table that changes while
    ///     it is read may lack a line.
    private func drain(until deadline: NIODeadline, misses: Int = 0) {
        timer = nil
        guard finished != nil else { return }
        let ports = (channel.localAddress?.port, channel.remoteAddress?.port)
        guard let server = ports.0, let client = ports.1, misses < 3, .now() < deadline else { return advance() }
        let unread = SocketQueues.unreadBytes(from: server, to: client)
        if unread == 0 { return advance() }
        timer = channel.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(5)) { [self] in
            drain(until: deadline, misses: unread == nil ? misses + 1 : 0)
        }
    }

    /// Closes the socket in such a way that the system sends a RST.
    private func reset() {
        let channel = channel
        guard let socket = channel as? any SocketOptionProvider else { return channel.close(promise: nil) }
        socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
    }
}
