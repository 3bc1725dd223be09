internal import Foundation
import Synchronization

/// The thread of a server: accepts connections, and lets each one work when its socket or its time has come.
///
/// Everything except ``gateOpened(for:)`` and ``stop()`` happens on that thread.
final class ServerLoop: Sendable {
    private struct Inbox {
        var opened: [Int] = []
        var isStopping = false
        var hasEnded = false
        var stopped: [CheckedContinuation<Void, Never>] = []
    }

    private let listener: Socket
    private let sendBufferSize: Int?
    private let state: ServerState
    private let wake: (reader: Socket, writer: Socket)
    private let inbox = Mutex(Inbox())

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - listener: The socket that listens; the thread closes it at its end.
    ///   - sendBufferSize: The value of `SO_SNDBUF` for each connection; `nil` for the system's default.
    ///   - state: The state of the server.
    /// - Throws: An error if the thread cannot be woken.
    init(_ listener: Socket, sendBufferSize: Int?, state: ServerState) throws(SocketError) {
        (self.listener, self.sendBufferSize, self.state) = (listener, sendBufferSize, state)
        wake = try Socket.pair()
        let thread = Thread { [self] in run() }
        thread.name = "origin-server"
        thread.start()
    }

    /// Continues a connection that waits at a gate.
    ///
    /// - Parameter connection: The number of the connection.
    func gateOpened(for connection: Int) {
        inbox.withLock { inbox in
            guard !inbox.hasEnded else { return }
            inbox.opened.append(connection)
            _ = try? wake.writer.send([0])
        }
    }

    /// Closes all connections and waits for the end of the thread.
    func stop() async {
        await withCheckedContinuation { continuation in
            let hasEnded = inbox.withLock { inbox in
                guard !inbox.hasEnded else { return true }
                inbox.isStopping = true
                inbox.stopped.append(continuation)
                _ = try? wake.writer.send([0])
                return false
            }
            if hasEnded { continuation.resume() }
        }
    }

    private func run() {
        var connections: [Connection] = []
        while let opened = takeOpened() {
            if !opened.isEmpty {
                for connection in connections where opened.contains(connection.number) { connection.gateOpened() }
            }
            let due = connections.compactMap(\.due).min()
            let ready = Poll.wait(for: [wake.reader, listener], connections, until: due)
            if ready[0] { while case .bytes? = try? wake.reader.receive() {} }
            for (index, connection) in connections.enumerated() where ready[index + 2] { connection.socketIsReady() }
            let now = ContinuousClock.now
            for connection in connections {
                if let due = connection.due, due <= now { connection.advance() }
            }
            connections.removeAll(where: \.isClosed)
            guard ready[1] else { continue }
            while let socket = listener.accept(sendBufferSize: sendBufferSize) {
                connections.append(Connection(socket, loop: self, state: state))
            }
        }
        listener.close()
        for connection in connections { connection.end() }
        let stopped = inbox.withLock { inbox in
            // From here on, no other thread uses the sockets.
            inbox.hasEnded = true
            return inbox.stopped
        }
        wake.reader.close()
        wake.writer.close()
        for continuation in stopped { continuation.resume() }
    }

    /// Takes the numbers of the connections whose gates have opened.
    ///
    /// - Returns: The numbers; `nil` if the server stops.
    private func takeOpened() -> [Int]? {
        inbox.withLock { inbox in
            defer { inbox.opened = [] }
            return inbox.isStopping ? nil : inbox.opened
        }
    }
}
