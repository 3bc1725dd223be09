#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif
internal import Synchronization

/// Ports of this machine, for servers that tests start.
package enum Loopback {
    /// Where the kernel looks for no ports of its own: one that is free there stays free until its server has started.
    private static let ports = 10_240..<32_768
    private static let given = Mutex<Set<Int>>([])

    /// A port that is free now, and that no connection takes meanwhile.
    ///
    /// - Throws: Where there is none.
    package static func freePort() throws -> Int {
        for _ in 0..<1000 {
            let port = Int.random(in: ports)
            if canBind(to: port), given.withLock({ $0.insert(port).inserted }) { return port }
        }
        throw Shell.Failure(description: "no free port")
    }

    private static func canBind(to port: Int) -> Bool {
        let descriptor = streamSocket()
        defer { close(descriptor) }
        var address = address(of: port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
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
