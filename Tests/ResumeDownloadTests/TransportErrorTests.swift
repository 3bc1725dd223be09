import Foundation
import HTTPTypes
import ResumeDownload
import Synchronization
import TestSupport
import Testing

@testable import ResumeURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// How the errors of HTTP clients are reported, and which of them are retried.
@Suite(.timeLimit(.minutes(5)))
struct TransportErrorTests {
    /// A client's error, and the error that the caller gets for it.
    struct Case: Sendable, CustomTestStringConvertible {
        let error: any Error
        let code: TransportError.Code
        let text: String

        init(_ error: any Error, _ code: TransportError.Code, _ text: String) {
            (self.error, self.code, self.text) = (error, code, text)
        }

        var testDescription: String { "\(error)" }
    }

    private static let cut = "the connection to h:1 closed before the response was complete"

    private static func urlError(_ code: URLError.Code, _ text: String = "libcurl's words.") -> URLError {
        URLError(code, userInfo: [NSLocalizedDescriptionKey: text])
    }

    @Test(
        "I15: URLSession's errors have a code, the host, and the message without the URL",
        arguments: [
            Case(urlError(.secureConnectionFailed), .tls, "the TLS connection to h:1 failed: libcurl's words"),
            Case(urlError(.serverCertificateUntrusted), .tls, "the TLS connection to h:1 failed: libcurl's words"),
            Case(
                urlError(.unknown, "SSL certificate problem"), .tls, "the TLS connection to h:1 failed: SSL certificate"
            ),
            Case(urlError(.cannotFindHost), .nameNotResolved, "could not resolve the host of h:1"),
            Case(urlError(.timedOut), .notConnected, "could not connect to h:1: libcurl's words"),
            Case(urlError(.networkConnectionLost), .connectionClosed, cut),
            Case(
                urlError(.cannotParseResponse), .invalidResponse,
                "invalid HTTP response from h:1: libcurl's words"),
            Case(
                urlError(.unsupportedURL, "Received HTTP/0.9 when not allowed"), .invalidResponse,
                "invalid HTTP response from h:1: Received HTTP/0.9"),
            Case(
                urlError(.unsupportedURL, "Unsupported protocol"), .invalidRequest,
                "cannot send the request to h:1: Unsupported protocol"),
            Case(urlError(.unknown), .other, "the request to h:1 failed: libcurl's words"),
            Case(CancellationError(), .other, "the request to h:1 failed: "),
        ])
    func urlSession(example: Case) {
        let error = TransportError(wrapping: example.error, from: "h:1", afterHead: false)
        #expect(error.code == example.code)
        #expect(error.message.hasPrefix(example.text) && !error.message.hasSuffix("."), "\(error.message)")
        // After the head, everything except a TLS failure is a cut body.
        let late = TransportError(wrapping: example.error, from: "h:1", afterHead: true)
        let isCode = example.code == .tls && (example.error as? URLError)?.code != .unknown
        #expect(late.code == (isCode ? .tls : .connectionClosed))
    }

    // MARK: What URLSession may tell a body

    private static func request() throws -> URLRequest {
        URLRequest(url: try #require(URL(string: "http://h:1/")))
    }

    private static func answer(_ status: Int, _ fields: [String: String] = [:]) throws -> HTTPURLResponse {
        let url = try #require(URL(string: "http://h:1/"))
        return try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
    }

    @Test("F18: unexpected or endless interim responses end the request", arguments: [101, 103])
    func interim(status: Int) async throws {
        let body = SessionBody(try Self.request()) { _ in }
        for _ in 0..<(status == 101 ? 1 : 101) { body.receive(try Self.answer(status)) }
        let error = await #expect(throws: TransportError.self) { _ = try await body.head() }
        #expect(error?.message == "invalid HTTP response from h:1: unexpected interim responses (1xx)")
    }

    @Test("A few interim responses are ignored; fields with invalid names are left out")
    func head() async throws {
        let body = SessionBody(try Self.request()) { _ in }
        for _ in 0..<100 { body.receive(try Self.answer(103)) }
        body.receive(try Self.answer(200, ["ETag": "\"a\"", "not a name": "x"]))
        let head = try await body.head()
        #expect(head.status.code == 200)
        #expect(head.headerFields == [.eTag: "\"a\""])
    }

    @Test("An end without a response, or with one that is not HTTP, is a closed connection")
    func noResponse() async throws {
        let url = try #require(URL(string: "http://h:1/"))
        let other = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
        for response in [nil, other] {
            let isOver = Flag()
            let body = SessionBody(try Self.request()) { _ in isOver.set() }
            body.receive(Data())
            body.complete(response, nil)
            let error = await #expect(throws: TransportError.self) { _ = try await body.head() }
            #expect(error?.message == "the connection to h:1 closed without a response")
            #expect(isOver.isSet)
        }
    }

    @Test("A request that is cancelled before it starts is not sent")
    func cancelledBefore() async throws {
        let (isOver, isMade) = (Flag(), Flag())
        let body = SessionBody(try Self.request()) { _ in isOver.set() }
        body.cancel(with: CancellationError())
        body.start {
            isMade.set()
            return URLSession.shared.dataTask(with: URLRequest(url: URL(fileURLWithPath: "/")))
        }
        try await wait { isOver.isSet }
        #expect(!isMade.isSet)
        await #expect(throws: CancellationError.self) { _ = try await body.head() }
    }
}
