#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Ports of this machine, for servers that tests start.
package enum Loopback {
    /// A port that is free now.
    ///
    /// - Throws: Where there is none.
    package static func freePort() throws -> Int {
        let descriptor = streamSocket()
        defer { close(descriptor) }
        var address = address(of: 0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
            }
        }
        guard isBound else { throw Shell.Failure(description: "no free port") }
        return Int(in_port_t(bigEndian: address.sin_port))
    }

    /// Waits until a server listens.
    ///
    /// - Returns: Whether it does; false where its process ended before, or ten seconds were not enough.
    /// - Throws: Where the task is cancelled.
    package static func waits(for process: ChildProcess, at port: Int) async throws -> Bool {
        for _ in 0..<1000 where process.isRunning {
            if canConnect(to: port) { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
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

    private static func streamSocket() -> Int32 {
        #if canImport(Glibc)
        socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        socket(AF_INET, SOCK_STREAM, 0)
        #endif
    }

    private static func address(of port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }
}
