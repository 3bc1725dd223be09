internal import Foundation
internal import Synchronization

/// A server that reads the beginning of a TLS handshake, and ends the connection.
package final class HandshakeEnder: Sendable {
    /// The port that it listens on.
    package let port: Int
    private let listener: Int32
    private let count = Mutex(0)

    /// The number of connections.
    package var accepted: Int { count.withLock { $0 } }

    /// Starts the server.
    ///
    /// - Parameter resets: Whether it ends connections with RST instead of FIN.
    /// - Throws: ``Shell/Failure`` if there is no port.
    package init(resets: Bool) throws {
        let port = try Loopback.freePort()
        let listener = Loopback.streamSocket()
        var address = Loopback.address(of: port)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound, listen(listener, 16) == 0 else { throw Shell.Failure(description: "cannot listen") }
        (self.port, self.listener) = (port, listener)
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                count.withLock { $0 += 1 }
                var byte: UInt8 = 0
                _ = read(connection, &byte, 1)
                // Unread bytes make the system send a RST.
                var bytes = [UInt8](repeating: 0, count: 65_536)
                if !resets { _ = read(connection, &bytes, bytes.count) }
                close(connection)
            }
        }
    }

    /// Ends it.
    package func stop() { shutdown(listener, 2) }
}
