package import HTTPTypes
package import ResumeHTTP

/// Does the I/O of a ``RequestLoop``: reads bodies, moves them into the transfer, and reports what happens.
///
/// A method that reads from the network throws a ``RequestOutcome`` if the request failed. Any other error ends the
/// download.
package protocol RequestClient {
    associatedtype Body

    /// Receives the bytes.
    var transfer: Transfer { get }
    /// Whether the complete file is compared with the digest that the server sends.
    var comparesDigest: Bool { get }

    /// Reads the first `count` bytes of a body; fewer if it ends sooner, possibly more.
    mutating func read(_ count: Int, from body: Body) async throws -> [UInt8]

    /// Moves a body into the transfer and ends it there; `start` is the number of stored bytes before it.
    ///
    /// A client that makes further requests beside this one takes their retries from `budget`.
    mutating func move(
        _ body: Body, of head: HTTPResponse, _ verdict: Verdict, from start: Int64, budget: inout RetryBudget
    ) async throws -> RequestOutcome

    /// Ends the request of a body that is not read.
    func cancel(_ body: Body)

    /// The file that was delivered earlier; nil if there is none.
    var deliveredRepresentation: Representation? { get }

    /// Prepares the transfer for a verdict on a response.
    func prepare(for verdict: Verdict, of head: HTTPResponse) async throws

    /// Called before the body that a verdict uses is received, or when nothing is missing; `held` is the state before it.
    mutating func willReceive(_ verdict: Verdict, after held: HeldPartial) async

    /// Obtains another URL or other header fields after a response that refuses a range, if there are any.
    mutating func renew(after head: HTTPResponse) async throws -> Bool

    /// Handles a response that refuses the download: throws, or obtains another URL or other header fields.
    ///
    /// `body` is nil if it was not kept; the caller ends its request.
    mutating func refused(by head: HTTPResponse, _ body: Body?, because reason: Reason) async throws -> RequestOutcome

    /// Called after the stored bytes were discarded.
    mutating func discarded(because reason: Reason)

    /// Called when the download goes on with other stored bytes, of an older version.
    mutating func wentBack()

    /// Called after some of the stored bytes were given up.
    mutating func gaveUp(because reason: Reason)

    /// Called before a delay and the next request.
    func retries(after delay: Duration, because failure: any Error)

    /// Performs a wait of a second or more, during which the download needs no place among the running ones.
    func pausing(_ wait: () async throws -> Void) async throws

    /// Returns what a failure without a response says about the server; nil if nothing.
    func noResponse(_ failure: any Error) -> NoResponse?

    /// The turn of the first request, if its response has arrived already.
    var firstTurn: OriginPace.Turn? { get }

    /// Whether a response that refuses the download may lead to another URL or other header fields.
    var renews: Bool { get }

    /// Returns the error to throw after the last retry, which is no ``RequestOutcome``.
    func exhausted(because failure: any Error) async -> any Error
}

extension RequestClient {
    func cancel(_ body: Body) {}

    var deliveredRepresentation: Representation? { nil }

    func prepare(for verdict: Verdict, of head: HTTPResponse) async throws {
        try await transfer.prepare(for: verdict, of: head)
    }

    mutating func renew(after head: HTTPResponse) async throws -> Bool { false }

    mutating func discarded(because reason: Reason) {}

    mutating func wentBack() {}

    mutating func gaveUp(because reason: Reason) {}

    func retries(after delay: Duration, because failure: any Error) {}

    func pausing(_ wait: () async throws -> Void) async throws { try await wait() }

    func noResponse(_ failure: any Error) -> NoResponse? { nil }

    var renews: Bool { false }
}

/// What a request without a response says about the server.
package enum NoResponse: Sendable {
    case unreachable
    /// The connection was closed, or nothing was received.
    case silent
}

extension RequestOutcome {
    /// Calls a client, whose errors are temporary failures unless they end the download.
    static func of<Success>(_ call: () async throws -> Success) async throws -> Success {
        do {
            return try await call()
        } catch {
            throw error is DownloadError ? error : RequestOutcome.body(received: 0, failure: error)
        }
    }
}

extension Result where Failure == any Error {
    /// Takes the result of an operation.
    package init(_ operation: () async throws -> Success) async {
        do { self = .success(try await operation()) } catch { self = .failure(error) }
    }
}
