import Foundation
import Synchronization

/// A request that a server has received.
struct Request: Sendable {
    var path: String
    var fields: [String: String]

    subscript(name: String) -> String? { fields[name] }

    /// Reads the head of a request.
    init(_ head: String) {
        var lines = head.components(separatedBy: "\r\n")
        let words = lines.removeFirst().split(separator: " ")
        path = words.count > 1 ? String(words[1]) : ""
        fields = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
    }
}

/// A server on loopback, which answers one request on each connection with the bytes that a closure returns.
final class Server: Sendable {
    /// What a server sends, and how long it then waits for the client to close the connection.
    struct Answer: Sendable {
        var bytes: [UInt8]
        var wait: Double

        init(_ status: String, _ fields: [String: String] = [:], _ body: some Sequence<UInt8> = [], wait: Double = 0) {
            let head = fields.map { "\($0): \($1)\r\n" }.joined()
            bytes = Array("HTTP/1.1 \(status)\r\nConnection: close\r\n\(head)\r\n".utf8) + body
            self.wait = wait
        }
    }

    let port: Int
    private let listener: Int32
    private let state = Mutex(State())

    private struct State {
        var requests: [Request] = []
        var sent = 0
        var closed = 0
    }

    var requests: [Request] { state.withLock(\.requests) }
    /// How many bytes the kernel has accepted.
    var sent: Int { state.withLock(\.sent) }
    /// How many connections the client has closed.
    var closed: Int { state.withLock(\.closed) }

    init(_ answer: @escaping @Sendable (Request) -> Answer) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let self else { return }
                Thread.detachNewThread { self.serve(connection, answer) }
            }
        }
    }

    /// Ends the server, after which its port refuses connections.
    func close() {
        _ = shutdown(listener, Int32(SHUT_RDWR))
        _ = Foundation.close(listener)
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    private func serve(_ connection: Int32, _ answer: (Request) -> Answer) {
        defer { _ = Foundation.close(connection) }
        var head: [UInt8] = []
        var byte: UInt8 = 0
        // A handshake of TLS begins with 22. It is answered like a request, which ends it.
        while !head.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)), head.first != 22 {
            guard recv(connection, &byte, 1, 0) == 1 else { return }
            head.append(byte)
        }
        // Closing would reset a connection with unread bytes.
        while head.first == 22, recv(connection, &byte, 1, Int32(MSG_DONTWAIT)) == 1 {}
        let request = Request(String(decoding: head, as: UTF8.self))
        state.withLock { $0.requests.append(request) }
        let answer = answer(request)
        var rest = answer.bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(connection, $0.baseAddress, min($0.count, 65_536), Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
            state.withLock { $0.sent += count }
        }
        var descriptor = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        if poll(&descriptor, 1, Int32(answer.wait * 1000)) > 0, recv(connection, &byte, 1, 0) <= 0 {
            state.withLock { $0.closed += 1 }
        }
    }
}
