internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import ResumeDownload

/// Sends requests with a client of the application, whose settings cannot be read.
///
/// A client that follows redirects or decodes bodies is recognized at the first response for which it does so.
struct SharedClient: Transport {
    let client: HTTPClient

    func send(_ request: HTTPRequest) async throws -> TransportResponse {
        let url = try DownloadURL(of: request)
        var message = HTTPClientRequest(url: url.absoluteString)
        message.method = HTTPMethod(rawValue: request.method.rawValue)
        for field in request.headerFields { message.headers.add(name: field.name.rawName, value: field.value) }
        let response: HTTPClientResponse
        do {
            response = try await client.execute(message, deadline: .distantFuture)
        } catch {
            throw error is CancellationError ? error : TransportError(wrapping: error, to: url.authority)
        }
        guard response.history.count <= 1 else {
            throw TransportError(
                .invalidRequest,
                "the shared HTTPClient follows redirects; create it with redirectConfiguration = .disallow")
        }
        let status = response.status
        let head = HTTPResponse(
            code: Int(status.code), phrase: status.reasonPhrase,
            fields: response.headers.lazy.map { ($0.name, $0.value) })
        // A part from the middle does not begin with what identifies the format.
        var isFromBeginning = response.status != .partialContent
        if case .bytes(first: 0, _, _) = ContentRange(in: head.headerFields) { isFromBeginning = true }
        let coding = isFromBeginning ? head.headerFields[.contentEncoding]?.lowercased() : nil
        return TransportResponse(
            head: head, body: SharedBody(body: response.body, coding: coding, authority: url.authority))
    }
}

extension AsyncHTTPTransport {
    /// Returns the request for async-http-client.
    static func message(
        for request: HTTPRequest, to url: DownloadURL, by way: Way
    ) throws -> HTTPClient.Request {
        var fields = HTTPHeaders()
        var address = url.absoluteString
        if way.origin != nil || way.route.isForward {
            address = "http://\(way.route.authority(for: url))\(url.requestTarget)"
            fields.add(name: "Host", value: url.authority)
        }
        for field in request.headerFields {
            // The certificate is compared with this field, so it must be the host that is connected to.
            if way.isSecure, field.name == HTTPField.Name("Host") {
                guard field.value == url.authority else {
                    throw TransportError(.invalidRequest, "the field Host is not the host of the URL, \(url.authority)")
                }
                continue
            }
            fields.add(name: field.name.rawName, value: field.value)
        }
        do {
            return try HTTPClient.Request(
                url: address, method: HTTPMethod(rawValue: request.method.rawValue),
                headers: fields)
        } catch {
            throw TransportError(.invalidRequest, "cannot send the request to \(url.authority): \(error)")
        }
    }
}

/// The body of a response of a shared client.
private struct SharedBody: AsyncSequence, Sendable {
    typealias Element = ByteBufferView

    let body: HTTPClientResponse.Body
    let coding: String?
    let authority: String

    func makeAsyncIterator() -> Iterator {
        Iterator(parts: body.makeAsyncIterator(), coding: coding, authority: authority)
    }

    struct Iterator: AsyncIteratorProtocol {
        var parts: HTTPClientResponse.Body.AsyncIterator
        /// The content coding until the first bytes were checked.
        var coding: String?
        let authority: String

        @concurrent
        mutating func next() async throws -> ByteBufferView? {
            let part: ByteBufferView?
            do {
                part = try await parts.next()?.readableBytesView
            } catch {
                throw error is CancellationError ? error : TransportError(wrapping: error, to: authority)
            }
            guard let first = part?.first, let coding = coding.take() else { return part }
            // The first bytes of each format: RFC 1952, 2.3.1, and RFC 1950, 2.2 (compression method 8).
            let isGzip = first == 0x1f && part?.dropFirst().first ?? 0x8b == 0x8b
            let isDecoded = coding == "gzip" ? !isGzip : coding == "deflate" && first & 0x0f != 8
            guard !isDecoded else {
                throw TransportError(
                    .invalidRequest, "the shared HTTPClient decodes bodies; create it with decompression = .disabled")
            }
            return part
        }
    }
}
