public import HTTPTypes
package import ResumeHTTP
import Synchronization

/// The HTTP client that the engine uses: it sends a request and returns a head and a stream of bytes.
///
/// It must not follow redirects, decode bodies or retry: the engine decides on all three.
public protocol Transport: Sendable {
    /// Sends a request without a body and waits for the final response's head.
    ///
    /// - Parameter request: Method, scheme, authority, path and all fields.
    /// - Returns: The head, and the body that follows it.
    /// - Throws: ``TransportError``; `CancellationError` if the task is cancelled.
    func send(_ request: HTTPRequest) async throws -> TransportResponse

    /// Sends a request like ``send(_:)``, and fails if the response head is not received in time.
    ///
    /// The default implementation cancels a task that runs ``send(_:)``. A transport that can stop a request without a
    /// separate task can implement this method to avoid that cost.
    ///
    /// - Parameters:
    ///   - request: Method, scheme, authority, path and all fields.
    ///   - timeout: The maximum time without a sign of life before the head is received. A transport that sees interim
    ///     responses (1xx) measures it from the last of them.
    /// - Returns: The head, and the body that follows it.
    /// - Throws: ``TransportError``, with `stalled` after the timeout; `CancellationError` if the task is cancelled.
    func send(_ request: HTTPRequest, timeout: Duration) async throws -> TransportResponse

    /// Whether it refuses to connect to some addresses. Then the engine also asks the server about complete files,
    /// since it is unknown which address they came from. The default is false.
    var permitsSomeAddressesOnly: Bool { get }
}

extension Transport {
    /// False: it connects to every address.
    public var permitsSomeAddressesOnly: Bool { false }

    /// Cancels a task that runs ``send(_:)`` if the head is not received in time.
    public func send(_ request: HTTPRequest, timeout: Duration) async throws -> TransportResponse {
        let task = Task { try await send(request) }
        let isLate = Atomic(false)
        let stop = Ticker.shared.every(timeout) {
            isLate.store(true, ordering: .relaxed)
            task.cancel()
        }
        defer { stop() }
        do {
            let response = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
            if !task.isCancelled { return response }
            // The response arrived together with the cancellation.
            response.body.cancel()
            throw CancellationError()
        } catch {
            guard isLate.load(ordering: .relaxed), !Task.isCancelled else { throw error }
            throw TransportError.late(request.authority ?? "the server", timeout)
        }
    }
}

extension TransportError {
    /// The error for a head that is not received in time.
    package static func late(_ authority: String, _ timeout: Duration) -> TransportError {
        TransportError(.stalled, "\(authority) did not respond within \(timeout / .seconds(1)) seconds")
    }

    /// The error for a response that ends early.
    package static func cut(_ authority: String, before end: String = "before the response was complete") -> Self {
        TransportError(.connectionClosed, "the connection to \(authority) closed \(end)")
    }

    /// The error for a response that is not HTTP.
    package static func invalid(_ problem: String, from authority: String) -> Self {
        TransportError(.invalidResponse, "invalid HTTP response from \(authority): \(problem)")
    }

    /// The error for a request after the end of the transport.
    package static let isShutDown = TransportError(.invalidRequest, "the transport has been shut down")
}

extension DownloadURL {
    /// Reads the URL of a request.
    package init(of request: HTTPRequest) throws {
        guard let scheme = request.scheme, let authority = request.authority, let path = request.path,
            let url = try? DownloadURL("\(scheme)://\(authority)\(path)")
        else { throw TransportError(.invalidRequest, "the request has no valid URL") }
        self = url
    }
}

/// A response whose body has not been read yet.
public struct TransportResponse: Sendable {
    /// The status and header fields.
    public var head: HTTPResponse
    /// The body.
    ///
    /// Read it to its end, or cancel it.
    var body: any ResponseBody
    /// What the connection proves about the server; nil if only the scheme of the URL tells.
    var trust: ServerTrust?

    package init(head: HTTPResponse, body: any ResponseBody, trust: ServerTrust? = nil) {
        self.head = head
        self.body = body
        self.trust = trust
    }
}

/// The body of a response, received while it is read.
///
/// Memory is bounded: while the body is not read, nothing is read from the connection either.
package protocol ResponseBody: AnyObject, Sendable {
    /// Passes the body to a reader, in parts of at most 256 KiB and in order, until the reader stops or the body ends.
    ///
    /// Each part is passed on the transport's own thread, without a copy or a thread switch. The reader may block
    /// there; nothing else is received during that time. Parts received before the call are passed first.
    ///
    /// - Parameter reader: Receives a part, which is never empty, and returns whether more may be passed at once. An
    ///   error that it throws ends the body.
    /// - Returns: Whether there is more to read: false at the end announced by the framing, true if the reader stopped.
    ///   The reader is not called after this returns or throws.
    /// - Throws: ``TransportError`` if the body was cut short; the reader's error; the error given to
    ///   ``cancel(with:)``.
    func read(_ reader: @escaping @Sendable (RawSpan) throws -> Bool) async throws -> Bool

    /// Ends the current ``read(_:)`` as if its reader had stopped; what follows is passed to the next one.
    func pause()

    /// Stops the transfer: ``read(_:)`` throws the given error, and parts that were not passed on are dropped.
    func cancel(with error: any Error)
}

extension ResponseBody {
    /// Stops the transfer, since no more is needed.
    func cancel() { cancel(with: CancellationError()) }
}

/// A failure between this machine and the server.
public struct TransportError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// New codes may be added.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The code's name, stable from release to release.
        public let rawValue: String

        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The code of a reason that gives this failure.
        package var reason: Reason.Code { Reason.Code(rawValue: rawValue) }

        /// The host name could not be resolved.
        public static let nameNotResolved = Code(rawValue: "name-not-resolved")
        /// There is no connection: it was refused, the host is unreachable, or it timed out.
        public static let notConnected = Code(rawValue: "not-connected")
        /// The TLS handshake failed, or the certificate is not trusted.
        public static let tls = Code(rawValue: "tls")
        /// The connection ended before the response did.
        public static let connectionClosed = Code(rawValue: "connection-closed")
        /// Too few bytes, or none, were received for too long.
        public static let stalled = Code(rawValue: "stalled")
        /// The server violated HTTP.
        public static let invalidResponse = Code(rawValue: "invalid-response")
        /// The proxy refused the request, for lack of credentials or another reason.
        public static let proxyRefused = Code(rawValue: "proxy-refused")
        /// The caller's policy does not permit the address.
        public static let addressNotPermitted = Code(rawValue: "address-not-permitted")
        /// The request cannot be sent.
        public static let invalidRequest = Code(rawValue: "invalid-request")
        /// Anything else.
        public static let other = Code(rawValue: "other")
    }

    /// The kind of failure.
    public var code: Code
    /// What happened, in one sentence.
    public var message: String
    /// Whether the authority of a certificate is not trusted.
    package var isUntrusted = false
    /// Whether the system's resolver says that there is no such host.
    package var isUnknownHost = false
    /// The origin of the request if there was no secure connection to it, until the engine has judged that.
    var untrustedOrigin: String?

    /// Makes an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }

    /// Whether trying again later may help.
    public var isTransient: Bool {
        switch code {
        case .tls, .invalidRequest, .proxyRefused, .addressNotPermitted: false
        case .nameNotResolved: !isUnknownHost
        default: true
        }
    }

    /// Compares the codes.
    public static func == (left: TransportError, right: TransportError) -> Bool {
        left.code == right.code
    }
}
