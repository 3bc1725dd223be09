import ResumeDownload
import ResumeFiles
import Synchronization

/// The sockets that libcurl has open for a network thread.
///
/// What belongs to a connection is kept by its socket, since libcurl tells a request only the addresses of the
/// connection that it is about to use. Floods are looked for by another thread: libcurl's own does not return while
/// tiny frames arrive.
final class OpenSockets: Sendable {
    /// The ports and addresses of a connection, as libcurl writes them.
    struct Ends: Hashable {
        let localPort, remotePort: Int32
        let local, remote: String
    }

    private struct Connection {
        /// Its ends; nil until its first request.
        var ends: Ends?
        var leaf: LeafCertificate?
        /// The exchange that uses it, from its opening on.
        var exchange: Exchange?
        /// How much it had received when that exchange began, in bytes.
        var start: UInt64 = 0
        /// In how many looks in a row too much had been received.
        var surplus = 0
    }

    /// How many bytes may be received beyond twice those of heads and bodies: records, padding, control frames.
    private static let limit = 3 << 20

    private let connections = Mutex<[Int32: Connection]>([:])

    // MARK: libcurl's side

    /// Opens a socket for an exchange, which child processes do not inherit; nil if the system has none left.
    func open(_ family: Int32, _ kind: Int32, _ number: Int32, for exchange: Exchange) -> Int32? {
        #if os(Linux)
        let opened = socket(family, kind | Int32(SOCK_CLOEXEC.rawValue), number)
        #else
        let opened = socket(family, kind, number)
        if opened >= 0 { _ = fcntl(opened, F_SETFD, FD_CLOEXEC) }
        #endif
        guard opened >= 0 else { return nil }
        connections.withLock { $0[opened] = Connection(exchange: exchange) }
        return opened
    }

    /// Closes a socket; under the lock, so that no other socket with its number is shut down.
    func end(_ socket: Int32) {
        connections.withLock { connections in
            connections[socket] = nil
            _ = close(socket)
        }
    }

    /// Records which exchange uses a connection.
    ///
    /// - Parameters:
    ///   - ends: Its ends.
    ///   - leaf: The certificate, if the connection is new.
    ///   - exchange: The exchange.
    /// - Returns: The socket, and the certificate of the connection; nil if there is no such connection.
    func use(_ ends: Ends, _ leaf: LeafCertificate?, for exchange: Exchange) -> (
        socket: Int32, leaf: LeafCertificate?
    )? {
        connections.withLock { connections in
            // libcurl has closed the other sockets that it opened for the exchange.
            let found =
                connections.first { $0.value.ends == ends }
                ?? connections.first { $0.value.ends == nil && $0.value.exchange === exchange }
            guard let (socket, old) = found else { return nil }
            let connection = Connection(
                ends: ends, leaf: old.leaf ?? leaf, exchange: exchange, start: Self.received(by: socket) ?? 0)
            connections[socket] = connection
            return (socket, connection.leaf)
        }
    }

    /// Records that an exchange has ended.
    ///
    /// - Returns: Whether its connection is still open.
    @discardableResult
    func release(_ socket: Int32, by exchange: Exchange) -> Bool {
        connections.withLock { connections in
            // A new socket may have the number of the one that it replaces.
            guard let connection = connections[socket], connection.ends != nil, connection.exchange === exchange
            else { return false }
            connections[socket]?.exchange = nil
            connections[socket]?.start = Self.received(by: socket) ?? 0
            return true
        }
    }

    /// The number of received bytes that libcurl has not read.
    static func unread(in socket: Int32) -> Int {
        var count: Int32 = 0
        return unsafe ioctl(socket, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    /// Ends all connections, whose sockets libcurl closes later.
    func endAll() { connections.withLock { for socket in $0.keys { _ = shutdown(socket, Int32(SHUT_RDWR)) } } }

    // MARK: Floods

    /// Ends the connections that have received much more than heads and bodies.
    func endFloods() {
        connections.withLock { connections in
            for (socket, connection) in connections {
                // Those without an exchange, too: libcurl reads what they sent when it closes them.
                let isPaused = connection.exchange?.isPaused ?? false
                let surplus = isPaused ? 0 : Self.surplus(in: socket, connection)
                connections[socket]?.surplus = surplus > Self.limit ? connection.surplus + 1 : 0
                guard surplus > Self.limit, connection.surplus > 0 else { continue }
                if let exchange = connection.exchange {
                    let problem = "received \(Self.limit >> 20) MiB of HTTP data that is neither header nor body"
                    exchange.fail(.invalid(problem, from: exchange.authority))
                }
                _ = shutdown(socket, Int32(SHUT_RDWR))
            }
        }
    }

    private static func surplus(in socket: Int32, _ connection: Connection) -> Int {
        guard let received = received(by: socket), received >= connection.start else { return 0 }
        return Int(clamping: received - connection.start) - unread(in: socket)
            - 2 * (connection.exchange?.delivered.load(ordering: .relaxed) ?? 0)
    }

    /// Returns how many bytes a socket has received; nil if the system does not tell.
    private static func received(by socket: Int32) -> UInt64? {
        #if os(Linux)
        // The field tcpi_bytes_received of linux/tcp.h, which glibc's own structure lacks.
        var bytes = [UInt8](repeating: 0, count: 256)
        var size = socklen_t(bytes.count)
        guard unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &bytes, &size) == 0, size >= 136 else {
            return nil
        }
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: 128, as: UInt64.self) }
        #else
        return nil
        #endif
    }
}
