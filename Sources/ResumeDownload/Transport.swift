public import HTTPTypes

/// An HTTP client as the engine needs one: a request out, a head and a stream of bytes in.
///
/// It does not follow redirects, does not decode bodies, and does not retry: the engine decides on all three.
public protocol Transport: Sendable {
    /// Sends a request without a body and waits for the final response's head.
    ///
    /// - Parameter request: Method, scheme, authority, path and all fields.
    /// - Returns: The head, and the body that follows it.
    /// - Throws: ``TransportError``; `CancellationError` where the task is cancelled.
    func send(_ request: HTTPRequest) async throws -> TransportResponse
}

/// A response whose body is still to come.
public struct TransportResponse: Sendable {
    /// Status and fields.
    public var head: HTTPResponse
    /// The body.
    ///
    /// Read it to its end, or cancel it.
    public var body: any ResponseBody

    /// Makes a response.
    public init(head: HTTPResponse, body: any ResponseBody) {
        self.head = head
        self.body = body
    }
}

/// The body of a response, as a source that waits for whoever reads it.
///
/// Memory is bounded: while nobody reads, the connection is not read either.
public protocol ResponseBody: AnyObject, Sendable {
    /// Waits for more of the body.
    ///
    /// - Returns: The next buffers in order, never empty; nil at the end that the framing announced.
    /// - Throws: ``TransportError`` where the body was cut; `CancellationError`.
    func next() async throws -> [any BodyBuffer]?

    /// Stops the transfer. A waiting ``next()`` throws what is given.
    func cancel(with error: any Error)
}

/// Bytes of a body in memory that the transport owns.
public protocol BodyBuffer: Sendable {
    /// How many bytes there are.
    var count: Int { get }
    /// Lends the bytes without copying them.
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

/// A failure between this machine and the server.
public struct TransportError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it is.
    ///
    /// New ones may be added.
    public enum Code: String, Sendable, Hashable {
        /// The name of the host could not be resolved.
        case nameNotResolved = "name-not-resolved"
        /// No connection: refused, unreachable, or not in time.
        case notConnected = "not-connected"
        /// The TLS handshake failed, or the certificate is not trusted.
        case tls
        /// The connection ended before the response did.
        case connectionClosed = "connection-closed"
        /// No byte, or too few, came for too long.
        case stalled
        /// The server broke the rules of HTTP.
        case invalidResponse = "invalid-response"
        /// The request cannot be sent.
        case invalidRequest = "invalid-request"
        /// Anything else.
        case other
    }

    /// The kind of failure.
    public var code: Code
    /// What happened, in one sentence.
    public var message: String

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
        case .tls, .invalidRequest: false
        default: true
        }
    }

    /// Equality on the code.
    public static func == (left: TransportError, right: TransportError) -> Bool {
        left.code == right.code
    }
}
