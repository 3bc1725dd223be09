public import HTTPTypes
import ResumeFiles
public import ResumeHTTP

/// The response of a program's own HTTP client to a request of a fetch.
public struct FetchResponse<Body> {
    /// The status and the header fields, after redirects.
    package var head: HTTPResponse
    package var body: Body
    /// The URL that the response came from, after redirects; nil for the requested one.
    ///
    /// A validator is unique to one resource only. If the client follows redirects and this is nil, the store cannot
    /// notice that a later response comes from another host or path, and trusts an equal strong validator there.
    package var url: DownloadURL?
    /// What the connections to the server prove; nil if only the scheme of the URLs tells.
    package var trust: ServerTrust?
}

extension FetchResponse {
    /// Makes a response.
    ///
    /// - Parameters:
    ///   - head: The status and the header fields, after redirects.
    ///   - body: The parts of the body.
    ///   - url: The URL that the response came from, after redirects; nil for the requested one.
    public init(head: HTTPResponse, body: Body, url: DownloadURL? = nil) {
        self.init(head: head, body: body, url: url, trust: nil)
    }
}

extension FetchResponse: Sendable where Body: Sendable {}

/// What a fetch has delivered.
public struct FetchResult: Sendable, Hashable {
    /// The length of the file in bytes.
    public var totalBytes: Int64
    /// How many of its bytes were stored before the fetch.
    public var reusedBytes: Int64
    /// The digest of the file, if the digest of the `ResumePolicy` names one; it was compared before the delivery.
    public var digest: HTTPDigest?
    /// The bytes; none if they were delivered to a file.
    public var bytes: [UInt8] = []
}

/// The body of a response to a fetch, of which the first bytes may have been received before.
final class FetchBody<Parts: AsyncSequence> where Parts.Element: Sequence<UInt8> {
    private var parts: Parts.AsyncIterator
    /// What was received, the offset of the next byte of it, and why nothing follows.
    private var begun: (file: SmallFile, position: Int64, failure: (any Error)?)?

    init(_ parts: Parts) { self.parts = parts.makeAsyncIterator() }

    /// Returns the next part; nil at the end.
    func next() async throws -> [UInt8]? {
        if let (file, start, failure) = begun {
            var part: [UInt8] = []
            let (end, isOver) = try file.read(from: start) { bytes in
                part.append(bytes)
                return false
            }
            begun = isOver ? nil : (file, end, failure)
            if !isOver { return part }
            if let failure { throw failure }
        }
        try Task.checkCancellation()
        return try await parts.next(isolation: #isolation).map { Array($0) }
    }

    /// Begins again with what was received.
    func begin(with file: SmallFile, failing failure: (any Error)?) { begun = (file, 0, failure) }
}

extension FetchResponse where Body: AsyncSequence, Body.Element: Sequence<UInt8> {
    /// The same response with a body that a fetch reads.
    var begun: FetchResponse<FetchBody<Body>> {
        FetchResponse<FetchBody<Body>>(head: head, body: FetchBody(body), url: url, trust: trust)
    }
}
