internal import Foundation
internal import Synchronization

/// Ports on this machine, for servers that tests start.
package enum Loopback {
    /// Half of each port number.
    ///
    /// The kernel assigns no outgoing ports from this range, so a free one stays free until its server has started.
    private static let halves = 5_120..<16_384
    /// Sockets that reserve the port after each one given out, for the lifetime of this process.
    private static let reservations = Mutex<[Int32]>([])

    /// Finds a port that is free, that no connection takes later, and that no other test process gets.
    ///
    /// - Throws: ``Shell/Failure`` if there is none.
    package static func freePort() throws -> Int {
        for _ in 0..<1000 {
            let port = Int.random(in: halves) * 2
            // Two processes may choose the same port: the one that also holds the next port has it.
            guard let reservation = bound(to: port + 1) else { continue }
            guard let probe = bound(to: port) else {
                close(reservation)
                continue
            }
            close(probe)
            reservations.withLock { $0.append(reservation) }
            return port
        }
        throw Shell.Failure(description: "no free port")
    }

    /// Binds a socket to a port.
    ///
    /// - Returns: Its descriptor; nil if the port is in use.
    private static func bound(to port: Int) -> Int32? {
        let descriptor = streamSocket()
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var address = address(of: port)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isBound { return descriptor }
        close(descriptor)
        return nil
    }

    /// Waits until a server listens.
    ///
    /// - Returns: Whether it does; false if its process ended first, or did not listen within ten minutes.
    /// - Throws: `CancellationError` if the task is cancelled.
    package static func waits(for process: ChildProcess, at port: Int) async throws -> Bool {
        do {
            try await wait(for: "a server at port \(port)", while: process) { canConnect(to: port) }
            return true
        } catch is Shell.Failure {
            return false
        }
    }

    private static func canConnect(to port: Int) -> Bool {
        let descriptor = streamSocket()
        defer { close(descriptor) }
        var address = address(of: port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    static func streamSocket() -> Int32 {
        #if canImport(Glibc)
        socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        socket(AF_INET, SOCK_STREAM, 0)
        #endif
    }

    static func address(of port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }
}
