/// Waiting for sockets.
enum Poll {
    /// Waits until a socket is ready or a time has come.
    ///
    /// - Parameters:
    ///   - sockets: Sockets to read from.
    ///   - connections: Connections, which read always, and write if they have unsent bytes.
    ///   - deadline: When to return at the latest, `nil` for no limit.
    /// - Returns: Whether each socket is ready, and then each connection.
    static func wait(
        for sockets: [Socket], _ connections: [Connection], until deadline: ContinuousClock.Instant?
    ) -> [Bool] {
        var polled: [pollfd] = []
        polled.reserveCapacity(sockets.count + connections.count)
        for socket in sockets { polled.append(pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)) }
        for connection in connections {
            let events = Int16(connection.hasUnsent ? POLLIN | POLLOUT : POLLIN)
            polled.append(pollfd(fd: connection.socket.descriptor, events: events, revents: 0))
        }
        // An interrupted call reports nothing; the caller repeats it.
        _ = unsafe poll(&polled, nfds_t(polled.count), deadline.map { milliseconds(until: $0) } ?? -1)
        return polled.map { $0.revents != 0 }
    }

    /// Rounds up, so that nothing is early.
    private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        let (seconds, attoseconds) = (deadline - .now).components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return Int32(clamping: seconds &* 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
