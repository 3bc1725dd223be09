import HTTPTypes
import ResumeFiles
import ResumeHTTP

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
