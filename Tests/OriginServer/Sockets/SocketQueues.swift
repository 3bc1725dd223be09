/// The system's queues of a connection between two processes of this machine.
enum SocketQueues {
    /// Returns how many bytes a client has not read yet.
    ///
    /// - Parameters:
    ///   - server: The port of the server, on 127.0.0.1.
    ///   - client: The port of the client.
    /// - Returns: The bytes in transit and those that wait for the client; `nil` if the system does not report them, or
    ///   the client has disconnected.
    static func unreadBytes(from server: Int, to client: Int) -> Int? {
        guard let table = table() else { return nil }
        let sent = queues(in: table, of: server, to: client)
        guard let received = queues(in: table, of: client, to: server) else { return nil }
        return (sent?.send ?? 0) + received.receive
    }

    /// Reads the system's table of connections, with a zero at its end.
    private static func table() -> [CChar]? {
        let descriptor = unsafe open("/proc/net/tcp", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var table: [CChar] = []
        var part = [CChar](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(descriptor, &part, part.count)
            guard count > 0 else { break }
            table += part[..<count]
        }
        return table + [0]
    }

    /// Returns the sizes of the queues of one end of a connection.
    private static func queues(in table: [CChar], of local: Int, to remote: Int) -> (send: Int, receive: Int)? {
        // As in "  12: 0100007F:1F90 0100007F:C350 01 00000000:00000000": addresses, state, queues.
        let mark = ":\(hexadecimal(local)) 0100007F:\(hexadecimal(remote)) "
        let text: String? = unsafe table.withUnsafeBufferPointer { table in
            guard let base = table.baseAddress, let row = unsafe strstr(base, mark) else { return nil }
            let start = unsafe UnsafeRawPointer(row) + mark.utf8.count
            return unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: 20), as: UTF8.self)
        }
        let sizes = text?.dropFirst(3).split(separator: ":").map { Int($0, radix: 16) }
        guard let sizes, sizes.count == 2, let send = sizes[0], let receive = sizes[1] else { return nil }
        return (send, receive)
    }

    /// Formats a port as in the table.
    private static func hexadecimal(_ port: Int) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(4 - digits.count, 0)) + digits
    }
}
