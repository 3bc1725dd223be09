/// An error that the system reported for a socket.
public struct SocketError: Error, Equatable {
    /// The system's error number.
    public let errnoCode: Int32
}

/// A TCP socket on 127.0.0.1 that does not block and is not inherited by child processes.
///
/// It must be closed once, with ``close()`` or ``reset()``.
package struct Socket: Sendable {
    /// The result of a receive call.
    package enum Reception {
        case bytes([UInt8])
        case nothing
        case ended
    }

    /// The file descriptor.
    let descriptor: Int32

    /// Creates a socket that listens.
    ///
    /// - Parameter port: The port; 0 selects a free one.
    /// - Throws: An error if the port cannot be bound.
    package init(listeningAt port: Int) throws(SocketError) {
        self = try Self.make()
        set(SOL_SOCKET, SO_REUSEADDR, 1)
        let result = unsafe Self.withAddress(of: port) { unsafe bind(descriptor, $0, $1) }
        guard result == 0, listen(descriptor, 256) == 0 else { throw closing() }
        stopBlocking()
    }

    /// Creates a socket that is connected.
    ///
    /// - Parameter port: The port of the server.
    /// - Throws: An error if there is no connection.
    package init(connectingTo port: Int) throws(SocketError) {
        self = try Self.make()
        guard unsafe Self.withAddress(of: port, { unsafe connect(descriptor, $0, $1) }) == 0 else { throw closing() }
        set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        stopBlocking()
    }

    private init(descriptor: Int32) {
        self.descriptor = descriptor
        // Neither a child process nor a write to a closed connection may disturb the tests.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        #if canImport(Darwin)
        set(SOL_SOCKET, SO_NOSIGPIPE, 1)
        #endif
    }

    /// Accepts the next connection that waits.
    ///
    /// - Parameter sendBufferSize: The value of `SO_SNDBUF` for the connection; `nil` for the system's default.
    /// - Returns: The connection; `nil` if none waits.
    package func accept(sendBufferSize: Int? = nil) -> Socket? {
        let accepted = acceptConnection(descriptor)
        guard accepted >= 0 else { return nil }
        let socket = Socket(descriptor: accepted)
        socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        if let sendBufferSize { socket.set(SOL_SOCKET, SO_SNDBUF, Int32(clamping: sendBufferSize)) }
        socket.stopBlocking()
        return socket
    }

    /// The port of this end of the connection, or the port that is listened on.
    package var port: Int? {
        unsafe port { unsafe getsockname(descriptor, $0, $1) }
    }

    /// The port of the other end of the connection.
    package var peerPort: Int? {
        unsafe port { unsafe getpeername(descriptor, $0, $1) }
    }

    /// Receives the bytes that have arrived.
    ///
    /// - Returns: The bytes, at most 64 KiB.
    /// - Throws: An error if the connection is broken.
    package func receive() throws(SocketError) -> Reception {
        let limit = 65_536
        var failure: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            let result = unsafe recv(descriptor, buffer.baseAddress, limit, 0)
            count = max(result, 0)
            failure = result < 0 ? errno : 0
        }
        if failure == EAGAIN || failure == EWOULDBLOCK { return .nothing }
        guard failure == 0 else { throw SocketError(errnoCode: failure) }
        return bytes.isEmpty ? .ended : .bytes(bytes)
    }

    /// Sends as many bytes as the system accepts.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - start: The index of the first byte to send.
    /// - Returns: How many bytes the system has accepted; 0 if it accepts none now.
    /// - Throws: An error if the connection is broken.
    package func send(_ bytes: [UInt8], from start: Int = 0) throws(SocketError) -> Int {
        var failure: Int32 = 0
        let sent = unsafe bytes.withUnsafeBytes { memory in
            let result = unsafe sendBytes(descriptor, UnsafeRawBufferPointer(rebasing: memory[start...]))
            failure = result < 0 ? errno : 0
            return max(result, 0)
        }
        if failure == EAGAIN || failure == EWOULDBLOCK { return 0 }
        guard failure == 0 else { throw SocketError(errnoCode: failure) }
        return sent
    }

    /// Ends what this end sends; it can still receive.
    package func endSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes the connection.
    package func close() { closeDescriptor(descriptor) }

    /// Closes the connection in such a way that the system sends a RST.
    package func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    /// Creates two local sockets that are connected with each other.
    ///
    /// - Returns: The sockets.
    /// - Throws: An error if the system has none.
    static func pair() throws(SocketError) -> (Socket, Socket) {
        var descriptors: [Int32] = [-1, -1]
        #if canImport(Glibc)
        let result = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &descriptors)
        #else
        let result = unsafe socketpair(AF_UNIX, SOCK_STREAM, 0, &descriptors)
        #endif
        guard result == 0 else { throw SocketError(errnoCode: errno) }
        let sockets = descriptors.map { Socket(descriptor: $0) }
        for socket in sockets { socket.stopBlocking() }
        return (sockets[0], sockets[1])
    }

    /// Creates a socket that blocks.
    private static func make() throws(SocketError) -> Socket {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw SocketError(errnoCode: errno) }
        return Socket(descriptor: descriptor)
    }

    /// Returns the current error, and closes the socket.
    private func closing() -> SocketError {
        let error = SocketError(errnoCode: errno)
        close()
        return error
    }

    private func stopBlocking() { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        _ = unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private typealias AddressCall<Length> = (UnsafeMutablePointer<sockaddr>, Length) -> Int32

    /// Calls a function of the system with the address of a port on 127.0.0.1.
    private static func withAddress(of port: Int, _ call: AddressCall<socklen_t>) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe call($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// Returns the port of the address that a function of the system fills in.
    private func port(_ call: AddressCall<UnsafeMutablePointer<socklen_t>>) -> Int? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call($0, &length) }
        }
        return result == 0 ? Int(in_port_t(bigEndian: address.sin_port)) : nil
    }
}

// The methods above have the names of these functions.

private func acceptConnection(_ descriptor: Int32) -> Int32 { accept(descriptor, nil, nil) }

private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
    let flags: Int32 = 0
    #else
    let flags = Int32(MSG_NOSIGNAL)
    #endif
    return unsafe send(descriptor, bytes.baseAddress, bytes.count, flags)
}
