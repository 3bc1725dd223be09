import Foundation
import HTTPTypes
import ResumeFiles
import ResumeStore

/// A minimal third-party HTTP client: one GET per connection over a plain socket.
enum SmallClient {
    /// What failed on the wire.
    enum Failure: Error, Equatable {
        case cannotConnect
        case noHead
        /// The connection ended before the body did.
        case cut
    }

    /// Sends a GET and waits for the head of the answer.
    static func get(
        port: Int, target: String = "/file", _ fields: HTTPFields, onPart: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> (HTTPResponse, Body) {
        let connection = try await Blocking.run { try Connection(port: port) }
        var lines = ["GET \(target) HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
        lines += fields.map { "\($0.name.rawName): \($0.value)" }
        let request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        try await Blocking.run { try connection.send(request) }
        var received: [UInt8] = []
        while true {
            if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = try head(String(decoding: received[..<end.lowerBound], as: UTF8.self))
                let length = head.headerFields[.contentLength].flatMap { Int($0) }
                let rest = Array(received[end.upperBound...])
                return (head, Body(connection: connection, first: rest, length: length, onPart: onPart))
            }
            let part = try await connection.receive()
            guard !part.isEmpty else { throw Failure.noHead }
            received += part
        }
    }

    /// The same for a fetch.
    static func response(
        port: Int, target: String = "/file", _ fields: HTTPFields, onPart: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> FetchResponse<Body> {
        let (head, body) = try await get(port: port, target: target, fields, onPart: onPart)
        return FetchResponse(head: head, body: body)
    }

    private static func head(_ text: String) throws -> HTTPResponse {
        let lines = text.split(separator: "\r\n")
        let words = lines[0].split(separator: " ", maxSplits: 2)
        guard words.count > 1, let code = Int(words[1]) else { throw Failure.noHead }
        var response = HTTPResponse(
            status: .init(code: code, reasonPhrase: words.count > 2 ? String(words[2]) : ""))
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2, let name = HTTPField.Name(parts[0]) else { continue }
            response.headerFields.append(HTTPField(name: name, value: String(parts[1].drop { $0 == " " })))
        }
        return response
    }

    /// The body as a sequence of parts.
    struct Body: AsyncSequence {
        let connection: Connection
        let first: [UInt8]
        /// Its announced length; nil if it ends with the connection.
        let length: Int?
        let onPart: @Sendable (Int) -> Void

        struct Iterator: AsyncIteratorProtocol {
            let body: Body
            var first: [UInt8]?
            var left: Int?

            mutating func next() async throws -> ArraySlice<UInt8>? {
                if left == 0 { return nil }
                var part = first ?? []
                first = nil
                if part.isEmpty { part = try await body.connection.receive() }
                guard !part.isEmpty else {
                    if left == nil { return nil }
                    throw SmallClient.Failure.cut
                }
                if let known = left { left = Swift.max(known - part.count, 0) }
                body.onPart(part.count)
                return part[...]
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(body: self, first: first, left: length) }
    }

    /// A connection, closed when it is no longer referenced.
    final class Connection: Sendable {
        private let descriptor: Int32

        init(port: Int) throws {
            #if canImport(Glibc)
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            #else
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
            #endif
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            let status = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard status == 0 else { throw Failure.cannotConnect }
        }

        deinit { close(descriptor) }

        func send(_ bytes: [UInt8]) throws {
            guard write(descriptor, bytes, bytes.count) == bytes.count else { throw Failure.cannotConnect }
        }

        /// The next bytes; none at the end of the body or when the task is cancelled.
        func receive() async throws -> [UInt8] {
            try await withTaskCancellationHandler {
                try await Blocking.run { [descriptor] in
                    var buffer = [UInt8](repeating: 0, count: 16_384)
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    return Array(buffer.prefix(Swift.max(count, 0)))
                }
            } onCancel: {
                shutdown(descriptor, Int32(SHUT_RDWR))
            }
        }
    }
}
