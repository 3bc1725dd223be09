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

    /// Whether there are addresses that it does not connect to: then the engine asks the server also for what is complete,
    /// since nobody knows which address it came from. False where nothing is said.
    var permitsSomeAddressesOnly: Bool { get }
}

extension Transport {
    /// It connects to every address.
    public var permitsSomeAddressesOnly: Bool { false }
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

/// The body of a response, which comes while somebody reads it.
///
/// Memory is bounded: while nobody reads, the connection is not read either.
public protocol ResponseBody: AnyObject, Sendable {
    /// Hands over what comes, part by part and in order, until the reader says stop or the body ends.
    ///
    /// Each part is handed over on the transport's own thread, without a copy and without a hop, and the reader may
    /// block there: nothing else comes meanwhile. What came while nobody read is handed over first.
    ///
    /// - Parameter reader: Takes a part, which is never empty. Returns whether more
    ///   may come at once. What it throws ends the body.
    /// - Returns: Whether there is more to read: false at the end that the framing announced, true where the reader
    ///   said stop. The reader is not called any more when this returns or throws.
    /// - Throws: ``TransportError`` where the body was cut; what the reader threw; what ``cancel(with:)`` was given.
    func read(_ reader: @escaping @Sendable (RawSpan) throws -> Bool) async throws -> Bool

    /// Stops the transfer: ``read(_:)`` throws what is given, and what was not handed over yet is dropped.
    func cancel(with error: any Error)
}

/// A failure between this machine and the server.
public struct TransportError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it is.
    ///
    /// New ones may be added.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The code's name, stable from release to release.
        public let rawValue: String

        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the host could not be resolved.
        public static let nameNotResolved = Code(rawValue: "name-not-resolved")
        /// No connection: refused, unreachable, or not in time.
        public static let notConnected = Code(rawValue: "not-connected")
        /// The TLS handshake failed, or the certificate is not trusted.
        public static let tls = Code(rawValue: "tls")
        /// The connection ended before the response did.
        public static let connectionClosed = Code(rawValue: "connection-closed")
        /// No byte, or too few, came for too long.
        public static let stalled = Code(rawValue: "stalled")
        /// The server broke the rules of HTTP.
        public static let invalidResponse = Code(rawValue: "invalid-response")
        /// The proxy refuses, for want of credentials or otherwise.
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
        default: true
        }
    }

    /// Equality on the code.
    public static func == (left: TransportError, right: TransportError) -> Bool {
        left.code == right.code
    }
}
