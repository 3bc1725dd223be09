internal import AsyncHTTPClient
public import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
public import ResumeDownload
internal import Synchronization

/// A transport over async-http-client, for Linux and everywhere else.
///
/// HTTP/1.1 over TCP or TLS: one download is one stream, and its back-pressure reaches the socket.
public final class AsyncHTTPTransport: Transport {
    private let client: HTTPClient
    /// Loops of its own, since a body is written to its file on the loop it comes from.
    private let group: MultiThreadedEventLoopGroup
    private let state = Mutex(State())

    private struct State {
        /// Responses that are not over.
        var live: [ObjectIdentifier: BodyReceiver] = [:]
        var isShutDown = false
    }

    /// What the transport may be told.
    public struct Configuration: Sendable {
        /// How long to try to connect, in seconds, TLS included.
        public var connectTimeout: Double
        /// The file with the certificates that are trusted, in PEM form; nil for the system's.
        public var trustedCertificates: String?

        /// How many threads receive and write.
        ///
        /// Downloads share them: one whose disk stalls holds up those on the same thread.
        public var threads: Int

        /// Makes a configuration; the default waits 30 seconds for a connection and trusts what the system trusts.
        public init(connectTimeout: Double = 30, trustedCertificates: String? = nil, threads: Int = 8) {
            self.connectTimeout = connectTimeout
            self.trustedCertificates = trustedCertificates
            self.threads = threads
        }
    }

    /// Whether a file has certificates that can be trusted, in PEM form.
    public static func hasCertificates(at path: String) -> Bool {
        (try? NIOSSLCertificate.fromPEMFile(path).isEmpty) == false
    }

    /// Makes a transport with a client of its own.
    ///
    /// Call ``shutdown()`` at the end.
    public init(_ configuration: Configuration = Configuration()) {
        group = MultiThreadedEventLoopGroup(numberOfThreads: min(max(configuration.threads, 1), 256))
        client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: .init(for: configuration))
    }

    /// Closes its connections; what is still being received fails.
    ///
    /// - Throws: What async-http-client throws where a connection does not close.
    public func shutdown() async throws {
        let live = state.withLock { state in
            state.isShutDown = true
            return state.live.values.map { $0 }
        }
        for receiver in live { receiver.cancel(with: Self.isShutDown) }
        try await client.shutdown()
        try await group.shutdownGracefully()
    }

    /// Sends a request; see `Transport`.
    ///
    /// - Throws: `TransportError`, `CancellationError`.
    public func send(_ request: HTTPRequest) async throws -> TransportResponse {
        let message = try Self.message(for: request)
        let receiver = BodyReceiver(authority: request.authority ?? "") { [weak self] receiver in
            self?.state.withLock { _ = $0.live.removeValue(forKey: ObjectIdentifier(receiver)) }
        }
        let isShutDown = state.withLock { state in
            if !state.isShutDown { state.live[ObjectIdentifier(receiver)] = receiver }
            return state.isShutDown
        }
        if isShutDown { throw Self.isShutDown }
        let task = client.execute(request: message, delegate: receiver)
        receiver.attach(task)
        return try await withTaskCancellationHandler {
            let head = try await receiver.head()
            return TransportResponse(head: HTTPResponse(head), body: receiver)
        } onCancel: {
            receiver.cancel(with: CancellationError())
        }
    }

    private static let isShutDown = TransportError(.invalidRequest, "The transport has been shut down.")

    private static func message(for request: HTTPRequest) throws -> HTTPClient.Request {
        guard let scheme = request.scheme, let authority = request.authority, let path = request.path else {
            throw TransportError(.invalidRequest, "The request has no URL.")
        }
        var fields = HTTPHeaders()
        for field in request.headerFields { fields.add(name: field.name.rawName, value: field.value) }
        do {
            return try HTTPClient.Request(
                url: "\(scheme)://\(authority)\(path)", method: HTTPMethod(rawValue: request.method.rawValue),
                headers: fields)
        } catch {
            throw TransportError(.invalidRequest, "The request cannot be sent: \(error).")
        }
    }
}

extension HTTPClient.Configuration {
    fileprivate init(for configuration: AsyncHTTPTransport.Configuration) {
        self.init()
        redirectConfiguration = .disallow
        decompression = .disabled
        httpVersion = .http1Only
        if let path = configuration.trustedCertificates {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(path)
            tlsConfiguration = tls
        }
        let seconds = configuration.connectTimeout.isNaN ? 30 : max(min(configuration.connectTimeout, 86_400), 0.001)
        let milliseconds = Int64(seconds * 1000)
        // The engine watches for stalls by itself, and knows whose fault they are.
        timeout = .init(connect: .milliseconds(milliseconds), read: nil)
        // The engine decides on retries; a refused connection is told at once.
        connectionPool.retryConnectionEstablishment = false
        // Fewer, larger reads: a quarter of the system calls of the default at full speed. NIO makes up to four of them in
        // a turn of the loop, which stay within a processor's cache until they are written.
        http1_1ConnectionDebugInitializer = { channel in
            channel.setOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 65536, maximum: 262_144)
            )
        }
    }
}

extension HTTPResponse {
    fileprivate init(_ head: HTTPResponseHead) {
        let code = Int(head.status.code)
        let isCode = (100...999).contains(code)
        self.init(status: .init(code: isCode ? code : 999, reasonPhrase: head.status.reasonPhrase.filter(\.isASCII)))
        for (name, value) in head.headers {
            guard let name = HTTPField.Name(name) else { continue }
            headerFields.append(HTTPField(name: name, value: value))
        }
    }
}
