/// The progress of one response.
struct Script {
    /// The steps that have not begun.
    var steps: ArraySlice<Step>

    /// Whether the connection ends after the last one.
    let endsConnection: Bool

    /// The payload step in progress.
    var payload: Payload?

    /// The wait in progress for a client that reads.
    var drain: Drain?

    /// A wait for a client that reads.
    struct Drain {
        /// When to continue in any case.
        var deadline = ContinuousClock.now + .seconds(30)

        /// How many times in a row the system's table did not have the connection; a table that changes while it is
        /// read may lack a line.
        var misses = 0
    }

    /// Creates the script of a response.
    ///
    /// - Parameters:
    ///   - response: The steps.
    ///   - endsConnection: Whether the connection ends after the last one.
    init(_ response: Response, endsConnection: Bool) {
        steps = response.steps[...]
        self.endsConnection = endsConnection
    }
}

/// Performs the steps of a script.
///
/// After each write the connection waits for the socket to accept the bytes, and each step begins in a separate turn of
/// the loop. So a client's disconnect is noticed, and other connections get their share.
extension Connection {
    /// How often conditions are checked.
    private static let interval = Duration.milliseconds(5)

    /// Starts a script in the next turn of the loop.
    ///
    /// - Parameter script: The script.
    func start(_ script: Script) {
        self.script = script
        resume(after: .zero)
    }

    /// Performs the next step, or the next piece of the current one.
    func advance() {
        due = nil
        guard let script else { return }
        if script.payload != nil { return sendPieces() }
        if script.drain != nil { return drain() }
        guard let step = self.script?.steps.popFirst() else { return finish(endsConnection: script.endsConnection) }
        switch step {
        case .head(let status, let fields):
            let lines = ["HTTP/1.1 \(status)"] + fields.map { "\($0.0): \($0.1)" }
            write(text: lines.joined(separator: "\r\n") + "\r\n\r\n")
        case .raw(let bytes):
            write([Payload.Piece(bytes: bytes)])
        case .lastChunk:
            write(text: "0\r\n\r\n")
        case .body, .chunked, .trickle, .limitedRate:
            self.script?.payload = Payload(step)
            sendPieces()
        case .pause(let milliseconds):
            resume(after: .milliseconds(max(0, milliseconds)))
        case .gate(let gate):
            gate.pass { [loop, number] in loop.gateOpened(for: number) }
        case .drain:
            self.script?.drain = Script.Drain()
            drain()
        case .wait(let condition):
            if condition() { return resume(after: .zero) }
            self.script?.steps = script.steps
            resume(after: Self.interval)
        case .hold:
            break
        case .close:
            end()
        case .reset:
            end(resets: true)
        }
    }

    /// Continues after a gate.
    func gateOpened() {
        resume(after: .zero)
    }

    /// Continues after a write.
    ///
    /// - Parameter payloadCount: The number of payload bytes of its last piece.
    func hasSent(_ payloadCount: Int) {
        resume(after: script?.payload?.delay(after: payloadCount, now: .now) ?? .zero)
    }

    /// Continues in a later turn of the loop.
    ///
    /// - Parameter delay: How much later.
    private func resume(after delay: Duration) {
        due = .now + delay
    }

    private func write(text: String) {
        write([Payload.Piece(bytes: Array(text.utf8))])
    }

    /// Writes the next pieces of the current payload step.
    private func sendPieces() {
        guard let pieces = script?.payload?.nextPieces(), !pieces.isEmpty else {
            script?.payload = nil
            return resume(after: .zero)
        }
        write(pieces)
    }

    /// Continues when the client has read all bytes.
    private func drain() {
        guard let drain = script?.drain else { return }
        if let server = socket.port, let client = socket.peerPort, drain.misses < 3, .now < drain.deadline {
            let unread = SocketQueues.unreadBytes(from: server, to: client)
            if unread != 0 {
                script?.drain?.misses = unread == nil ? drain.misses + 1 : 0
                return resume(after: Self.interval)
            }
        }
        script?.drain = nil
        resume(after: .zero)
    }
}
