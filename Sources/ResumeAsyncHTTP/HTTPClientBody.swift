#if AsyncHTTP
import AsyncHTTPClient
import HTTPTypes
public import NIOCore
import ResumeHTTP
import ResumeStore

/// The body of an `HTTPClient`'s response, in the parts in which it is received.
///
/// Nothing more is received than the reader takes. A body that the client has decoded fails with `DownloadError`: its
/// bytes have other positions than those on the server.
public struct HTTPClientBody: AsyncSequence, Sendable {
    /// A part of the body.
    public typealias Element = ByteBufferView

    private let body: HTTPClientResponse.Body
    /// The content coding of a body whose first bytes identify it; nil for none.
    private let coding: String?
    private let translate: @Sendable (any Error) -> any Error

    init(
        _ response: HTTPClientResponse, _ head: HTTPResponse,
        _ translate: @escaping @Sendable (any Error) -> any Error = { $0 }
    ) {
        body = response.body
        self.translate = translate
        // A part from the middle does not begin with what identifies the format.
        var isFromBeginning = head.status.code != 206
        if case .bytes(first: 0, _, _) = ContentRange(in: head.headerFields) { isFromBeginning = true }
        coding = isFromBeginning ? head.headerFields[.contentEncoding]?.lowercased() : nil
    }

    /// Makes an iterator; a body can be read once.
    public func makeAsyncIterator() -> Iterator {
        Iterator(parts: body.makeAsyncIterator(), coding: coding, translate: translate)
    }

    /// Reads a body.
    public struct Iterator: AsyncIteratorProtocol {
        var parts: HTTPClientResponse.Body.AsyncIterator
        /// The content coding until the first bytes were checked.
        var coding: String?
        let translate: @Sendable (any Error) -> any Error

        /// Waits for the next part.
        ///
        /// - Returns: The part; nil at the end.
        /// - Throws: The errors of the client; `DownloadError` if it decodes bodies.
        @concurrent
        public mutating func next() async throws -> ByteBufferView? {
            do {
                let part = try await parts.next()?.readableBytesView
                if let first = part?.first, let coding = coding.take() {
                    // The first bytes of each format: RFC 1952, 2.3.1, and RFC 1950, 2.2 (compression method 8).
                    let isGzip = first == 0x1f && part?.dropFirst().first ?? 0x8b == 0x8b
                    let isDecoded = coding == "gzip" ? !isGzip : coding == "deflate" && first & 0x0f != 8
                    if isDecoded { throw DownloadError(.refused, Reason(.clientDecodes)) }
                }
                return part
            } catch {
                throw translate(error)
            }
        }
    }
}
#endif
